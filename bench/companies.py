"""Companies with vehicles, sensors and people in numbers, written straight into a database: for rows 10 and 11.

A service type has an operator and partners. The first partner, `big`, has a share of everything, half of it unless
something else is said, so that its lists are long; the others have the rest. Every partner's vehicle is delegated to
the operator, as on registration.

Not here: the fleet of the device rows (`fleet.py`), scores by the million (`make_scores.py`).
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, insert
from tests.support import fleet_rows, reaching

from tripline.domain import ids
from tripline.domain.access import Authority
from tripline.domain.delegations import UserRole
from tripline.store import tables

FIRST_MS: Final = 1_700_000_000_000
RECEIVED: Final = 2_000
"""Vehicles that `big` delegates to another partner, and on which its first driver has a right, at most."""
MAKER: Final = ids.TimeIds(node=0xF1EE7)
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """How much of everything a service type has."""

    service_type: str
    companies: int
    vehicles: int
    """As many sensors; every tenth is on no vehicle."""
    people: int
    """Of each ten two are directors."""
    candidates: int = 50
    """Companies that `big` may delegate to."""
    share: int = 2
    """Every so manieth of everything is `big`'s."""
    long: int = 0
    """Trips, microtrips and device events of one vehicle."""


@dataclass(slots=True)
class Made:
    """Ids of what was made: of a company, its administrator, and things of `big` to ask for."""

    operator: str
    operator_admin: str
    big: str
    big_admin: str
    director: str = ""
    """Manages a tenth of `big`'s vehicles."""
    driver: str = ""
    """May drive `RECEIVED` of them."""
    vehicle: str = ""
    """Has the long lists."""
    trip: str = ""
    borrower: str = ""
    numbers: list[str] = field(default_factory=list)


def write(connection: Connection, fleet: Fleet) -> Made:
    """The rows of a service type, in the transaction that is open."""
    company_ids = MAKER.run(fleet.companies, now_ms=FIRST_MS)
    connection.execute(insert(tables.company), [_company(fleet, company_ids, n) for n in range(fleet.companies)])
    admins = [_person(fleet, each, Authority.COMPANY_ADMIN, n) for n, each in enumerate(company_ids)]
    people = [
        _person(fleet, _owner(fleet, company_ids, n), Authority.DIRECTOR if n % 10 in (4, 5) else Authority.DRIVER, n)
        for n in range(fleet.people)
    ]
    connection.execute(insert(tables.account), [*admins, *people])
    big = company_ids[min(1, fleet.companies - 1)]
    own = [person for person in people if person["company_id"] == big]
    made = Made(company_ids[0], admins[0]["id"], big, admins[min(1, fleet.companies - 1)]["id"])
    made.borrower = company_ids[-1]
    made.director = next(each["id"] for each in own if each["authority"] == Authority.DIRECTOR.value)
    made.driver = next(each["id"] for each in own if each["authority"] == Authority.DRIVER.value)
    vehicles = _vehicles(connection, fleet, company_ids, made)
    _sensors(connection, fleet, vehicles)
    _relations(connection, fleet, company_ids, vehicles, made)
    if fleet.long:
        _long(connection, fleet, made)
    reaching.recount_on(connection)
    return made


def _owner(fleet: Fleet, company_ids: Any, number: int) -> str:
    """One in `share` is `big`'s; the others go round."""
    if number % fleet.share == 0 or len(company_ids) < 3:
        return str(company_ids[min(1, len(company_ids) - 1)])
    others = [company_ids[0], *company_ids[2:]]
    return str(others[(number - number // fleet.share) % len(others)])


def _company(fleet: Fleet, company_ids: Any, number: int) -> Row:
    return {
        "id": company_ids[number],
        "created_ms": FIRST_MS,
        "name": f"{fleet.service_type} company {number:05d}",
        "service_type": fleet.service_type,
        "master": number == 0,
        "master_id": company_ids[0],
        "token_prefix": _prefix(company_ids[number]),
    }


def _prefix(company_id: str) -> str:
    number, letters = ids.no_of(company_id), ""
    for _ in range(5):
        number, digit = divmod(number, 36)
        letters += "0123456789abcdefghijklmnopqrstuvwxyz"[digit]
    return letters


def _person(fleet: Fleet, company_id: str, authority: Authority, number: int) -> Row:
    login = f"{authority.lower()}{number}@{fleet.service_type}.example"
    return {
        "id": MAKER.next(now_ms=FIRST_MS),
        "created_ms": FIRST_MS,
        "company_id": company_id,
        "authority": authority.value,
        "name": f"{authority.capitalize()} {number:06d}",
        "email": login,
        "login": login,
        "phone": "010",
        "password_hash": "",
        "password_updated_ms": FIRST_MS,
        "enabled": True,
    }


def _vehicles(connection: Connection, fleet: Fleet, company_ids: Any, made: Made) -> list[Row]:
    order = list(range(fleet.vehicles))
    random.Random(fleet.service_type).shuffle(order)
    order.sort(key=lambda number: _owner(fleet, company_ids, number))  # each company registers its own at one go
    rows: list[Row] = []
    for number in order:
        owner = _owner(fleet, company_ids, number)
        rows.append(
            fleet_rows.vehicle(
                MAKER.next(now_ms=FIRST_MS),
                owner,
                created_ms=FIRST_MS,
                service_type=fleet.service_type,
                director_id=made.director if owner == made.big and number // 2 % 10 == 0 else None,
                vehicle_no=f"VN{number:06d}",
            )
        )
    connection.execute(insert(tables.vehicle), rows)
    own = sorted((row for row in rows if row["company_id"] == made.big), key=lambda row: str(row["vehicle_no"]))
    made.vehicle, made.numbers = own[0]["id"], [row["vehicle_no"] for row in own]
    return rows


def _sensors(connection: Connection, fleet: Fleet, vehicles: list[Row]) -> None:
    connection.execute(
        insert(tables.sensor),
        [
            fleet_rows.sensor(
                MAKER.next(now_ms=FIRST_MS),
                vehicle["company_id"],
                created_ms=FIRST_MS,
                service_type=fleet.service_type,
                vehicle_id=vehicle["id"] if number % 10 else None,
                serial_no=f"SN-{vehicle['vehicle_no']}",
                credentials_id=f"{fleet.service_type[:11]:x<11}{number:09d}",
            )
            for number, vehicle in enumerate(vehicles)
        ],
    )


def _relations(connection: Connection, fleet: Fleet, company_ids: Any, vehicles: list[Row], made: Made) -> None:
    own = [row["id"] for row in vehicles if row["company_id"] == made.big]
    pairs = [(row["id"], row["company_id"], made.operator, True) for row in vehicles]
    pairs += [(vehicle_id, made.big, made.borrower, False) for vehicle_id in own[:RECEIVED]]
    delegations = [
        {
            "id": MAKER.next(now_ms=FIRST_MS),
            "created_ms": FIRST_MS,
            "vehicle_id": vehicle_id,
            "from_company_id": owner,
            "to_company_id": receiver,
            "automatic": automatic,
        }
        for vehicle_id, owner, receiver, automatic in pairs
        if owner != receiver
    ]
    if delegations:
        connection.execute(insert(tables.vehicle_company), delegations)
    candidates = [
        {
            "id": MAKER.next(now_ms=FIRST_MS),
            "created_ms": FIRST_MS,
            "from_company_id": made.big,
            "to_company_id": each,
        }
        for each in company_ids[: fleet.candidates]
        if each != made.big
    ]
    if candidates:
        connection.execute(insert(tables.company_relation), candidates)
    connection.execute(
        insert(tables.vehicle_user),
        [
            {
                "id": MAKER.next(now_ms=FIRST_MS),
                "created_ms": FIRST_MS,
                "vehicle_id": vehicle_id,
                "company_id": made.big,
                "user_id": user_id,
                "user_role": role.value,
            }
            for vehicle_id in own[:RECEIVED]
            for user_id, role in ((made.driver, UserRole.DRIVER), (made.director, UserRole.DELEGATED_DIRECTOR))
        ],
    )


def _long(connection: Connection, fleet: Fleet, made: Made) -> None:
    trips = list(_trips(fleet, made))
    connection.execute(insert(tables.trip), trips)
    made.trip = trips[-1]["id"]
    first = MAKER.take(2 * fleet.long, now_ms=FIRST_MS)
    connection.execute(
        insert(tables.microtrip),
        [
            {
                "no": first + n,
                "trip_no": trips[-1]["no"],
                "id": MAKER.text(first + n),
                "ts": FIRST_MS,
                "ty": 2,
                "payload": b'{"tid":1}',
                "samples": b"",
            }
            for n in range(fleet.long)
        ],
    )
    connection.execute(
        insert(tables.device_event),
        [
            {
                "no": first + n,
                "id": MAKER.text(first + n),
                "company_id": made.big,
                "vehicle_id": made.vehicle,
                "user_id": made.driver,
                "device_type": "GPS",
                "ty": 11,
                "event_ms": FIRST_MS,
                "payload": b"{}",
            }
            for n in range(fleet.long, 2 * fleet.long)
        ],
    )


def _trips(fleet: Fleet, made: Made) -> Iterator[Row]:
    first = MAKER.take(fleet.long, now_ms=FIRST_MS)
    for no in range(first, first + fleet.long):
        yield {
            "no": no,
            "id": MAKER.text(no),
            "created_ms": ids.ms_of_no(no),
            "company_id": made.big,
            "vehicle_id": made.vehicle,
            "user_id": made.driver,
            "service_type": fleet.service_type,
            "device_type": "GPS",
            "parking": False,
            "state": "CLOSED",
            "start_ms": FIRST_MS,
            "end_ms": FIRST_MS + 60_000,
            "closed_ms": FIRST_MS,
        }
