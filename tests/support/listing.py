"""A small service type with everything that lists tell apart, and who looks at it."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from sqlalchemy import insert, update

from tests.support import fleet_rows, reaching
from tripline.domain.access import RULES, Action, Authority, Scope
from tripline.domain.ids import CompanyId, UserId
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.tables import (
    account,
    carrier_line,
    company,
    device_connection,
    sensor,
    trip,
    vehicle,
    vehicle_company,
    vehicle_position,
    vehicle_user,
)
from tripline.store.transactions import WriteTx

COMPANIES = {"ace": "ace", "p": "ace", "q": "ace", "other": "other"}
"""Company -> its operator."""
VEHICLES = 48
NUMBERS = [f"{'abAB'[n % 4]}{n * 7 % VEHICLES:03d}" for n in range(VEHICLES)]
LOOKERS: dict[str, tuple[Authority, str, str]] = {
    "operator": (Authority.COMPANY_ADMIN, "admin-ace", "ace"),
    "partner": (Authority.COMPANY_ADMIN, "admin-p", "p"),
    "borrower": (Authority.COMPANY_ADMIN, "admin-q", "q"),
    "stranger": (Authority.COMPANY_ADMIN, "admin-other", "other"),
    "director": (Authority.DIRECTOR, "director-p", "p"),
    "driver": (Authority.DRIVER, "driver-p", "p"),
}
"""Who looks -> role, account, company."""
SCANNED = {"SCAN page", "SCAN few", "SCAN found"}
"""Steps of SQLite's plans that read all of what another step selected."""


def scope(looker: str, action: Action) -> Scope | None:
    """Whose rows somebody may see; None: not even the list."""
    authority, user_id, company_id = LOOKERS[looker]
    reaches = RULES[action].get(authority)
    return None if reaches is None else Scope("test", reaches, UserId(user_id), CompanyId(company_id))


def assert_in_each_order(
    page: Callable[[PageRequest], Page[Any]],
    expected: Sequence[Any],
    orders: Mapping[str, str],
    *,
    limits: tuple[int, int],
) -> None:
    """The pages have the expected rows in each order, up and down. `orders`: order -> column; `limits`: rows of a page
    in the first order, and in the others."""
    for (at, (by, column)), descending in product(enumerate(orders.items()), (False, True)):
        ordered = sorted(expected, key=lambda row: (getattr(row, column), row.id), reverse=descending)
        found = walked(page, by, descending=descending, limit=limits[at > 0])
        assert found == [row.id for row in ordered]


def walked(page: Callable[[PageRequest], Page[Any]], by: str, *, descending: bool, limit: int) -> list[str]:
    """Every id of the list, from its first page to its last, and back again from the last to the first."""
    there, back = [], []
    found = page(PageRequest(limit=limit, by=by, descending=descending))
    assert not found.more_before
    there += found.rows
    while found.more_behind:
        found = page(PageRequest(limit=limit, by=by, descending=descending, place=found.last))
        assert found.more_before
        there += found.rows
    back = list(found.rows)
    while found.rows and found.more_before and len(back) < len(there) + 1:
        found = page(PageRequest(limit=limit, by=by, descending=descending, place=found.first, back=True))
        back = [*found.rows, *back]
    assert [row.id for row in back] == [row.id for row in there]
    return [row.id for row in there]


def fill(tx: WriteTx) -> None:
    """The rows: vehicle `vN` belongs to each company in turn; its sensor `sN` is missing from every sixth."""
    _companies(tx)
    owners = list(COMPANIES)
    tx.run(insert(vehicle), [_vehicle(n, owners[n % 4]) for n in range(VEHICLES)])
    tx.run(insert(sensor), [_sensor(n, owners[n % 4]) for n in range(VEHICLES)])
    tx.run(insert(carrier_line), [_line(n) for n in range(0, VEHICLES, 5)])
    _relations(tx, owners)
    _live(tx, owners)
    reaching.recount(tx)


def _companies(tx: WriteTx) -> None:
    for at, (name, master) in enumerate(COMPANIES.items()):
        row = {"id": name, "created_ms": 9 - at, "name": f"Company {name}", "service_type": master}
        tx.run(
            insert(company),
            {**row, "token_prefix": name, "master": name == master, "master_id": master, "pic_name": "Kim"},
        )
    people = [(user_id, authority, of) for authority, user_id, of in LOOKERS.values()]
    people += [(f"more-{n}", Authority.DRIVER, "p") for n in range(9)]
    for at, (user_id, authority, of) in enumerate(people):
        person = {"id": user_id, "created_ms": 100 - at, "company_id": of, "authority": authority.value}
        names = {"name": f"{'Kk'[at % 2]}im {at:02d}", "email": f"{user_id}@x.example", "login": f"{user_id}@x.example"}
        rest = {"phone": f"010-1234-{at:04d}", "password_hash": "", "password_updated_ms": 1, "enabled": at % 5 != 0}
        tx.run(insert(account), {**person, **names, **rest})


def _vehicle(n: int, owner: str) -> dict[str, Any]:
    return fleet_rows.vehicle(
        f"v{n}",
        owner,
        created_ms=1_000 - n % 10,
        service_type=COMPANIES[owner],
        director_id="director-p" if owner == "p" and n % 3 == 0 else None,
        current_driver_id="driver-p" if n == 1 else None,
        vehicle_no=NUMBERS[n],
        status="ACTIVATED" if n % 5 else "DEACTIVATED",
    )


def _sensor(n: int, owner: str) -> dict[str, Any]:
    return fleet_rows.sensor(
        f"s{n}",
        owner,
        created_ms=1_000 - n % 7,
        service_type=COMPANIES[owner],
        vehicle_id=f"v{n}" if n % 6 else None,
        serial_no=f"SN-{NUMBERS[n]}",
        type="GPS" if n % 2 else "DTG",
    )


def _line(n: int) -> dict[str, Any]:
    return {
        "sensor_id": f"s{n}",
        "mdn": f"0101234{n:04d}",
        "iccid": f"8982{n:04d}",
        "imsi": f"45008{n:04d}",
        "nw_status": ("01", "02", "06")[n // 5 % 3],
        "updated_ms": 1,
    }


def _relations(tx: WriteTx, owners: list[str]) -> None:
    automatic = [(f"v{n}", "p", "ace", True) for n in range(VEHICLES) if owners[n % 4] == "p"]
    automatic += [(f"v{n}", "q", "ace", True) for n in range(VEHICLES) if owners[n % 4] == "q"]
    chosen = [(f"v{n}", "p", "q", False) for n in range(1, 30, 4)]
    for at, (vehicle_id, of, to, by_itself) in enumerate([*automatic, *chosen]):
        row = {"id": f"d{at}", "created_ms": 1, "vehicle_id": vehicle_id, "from_company_id": of, "to_company_id": to}
        tx.run(insert(vehicle_company), {**row, "automatic": by_itself})
    for at, (n, user_id, role) in enumerate(
        [
            (5, "director-p", "DELEGATED_DIRECTOR"),
            (5, "director-p", "DRIVER"),
            (9, "director-p", "DRIVER"),
            (17, "director-p", "DRIVER"),
            (9, "driver-p", "DRIVER"),
            (13, "driver-p", "DRIVER"),
        ]
    ):
        row = {"id": f"r{at}", "created_ms": 1, "vehicle_id": f"v{n}", "company_id": "p", "user_id": user_id}
        tx.run(insert(vehicle_user), {**row, "user_role": role})


def _live(tx: WriteTx, owners: list[str]) -> None:
    for at, n in enumerate(range(0, VEHICLES, 7)):
        row = {"no": at + 1, "id": f"t{n}", "created_ms": 1, "company_id": owners[n % 4], "vehicle_id": f"v{n}"}
        tx.run(
            insert(trip),
            {
                **row,
                "service_type": "ace",
                "device_type": "GPS",
                "parking": n == 7,
                "state": "COMPLETE" if n == 14 else "OPEN",
            },
        )
        tx.run(update(vehicle).where(vehicle.c.id == f"v{n}").values(latest_trip_id=f"t{n}"))
        tx.run(
            insert(vehicle_position),
            {
                "vehicle_id": f"v{n}",
                "company_id": owners[n % 4],
                "change_no": 1,
                "time_ms": n,
                "lat": 37,
                "lon": 127,
                "speed_kmh": 50,
                "parking": False,
                "driving": True if n else None,
            },
        )
    for n in range(0, VEHICLES, 3):
        heard = {"connected": n % 2 == 0, "changed_ms": 1, "seen_ms": n, "told": False}
        tx.run(insert(device_connection), {"sensor_id": f"s{n}", **heard, "lost_ms": None if n % 9 else 1})
