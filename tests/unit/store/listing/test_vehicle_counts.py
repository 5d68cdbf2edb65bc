"""Numbers of vehicles within one reach or a role's: those of the predicate, found by index."""

import pytest
from msgspec.structs import replace
from sqlalchemy import func, insert, select, update
from tests.support import fleet_rows, reaching, rows
from tests.support.listing import SCANNED

from tripline.domain.access import RULES, Action, Reach, Scope
from tripline.domain.ids import CompanyId, UserId
from tripline.store import scopes
from tripline.store.listing import vehicles
from tripline.store.listing.vehicles import Filters
from tripline.store.tables import (
    account,
    company,
    sensor,
    trip,
    vehicle,
    vehicle_company,
    vehicle_position,
    vehicle_user,
)

REACHES = list(RULES[Action.VEHICLE_READ].values())
ALONE = [frozenset({reach}) for reach in Reach if any(reach in reaches for reaches in REACHES)]
EVERY_WHICH = [
    Filters(with_sensor=mounted, driving=driving) for mounted in (None, True, False) for driving in (None, True)
]


def fill(tx):
    """Two operators with a partner each; vehicles owned, delegated, managed, with rights of people, and others."""
    for key, master in (("o", "o"), ("p", "o"), ("x", "x"), ("y", "x")):
        row = {"created_ms": 1, "name": key, "service_type": master, "master": key == master, "master_id": master}
        tx.run(insert(company), {"id": key, **row, "token_prefix": key})
    person = {"created_ms": 1, "company_id": "o", "authority": "DIRECTOR", "name": "d", "email": "d", "login": "d"}
    tx.run(insert(account), {"id": "d", **person, "password_hash": "", "password_updated_ms": 1, "enabled": True})
    for number in range(40):
        owner = "opxy"[number % 4]
        director = "d" if number % 5 == 0 else None
        tx.run(insert(vehicle), fleet_rows.vehicle(f"v{number}", owner, vehicle_no=str(number), director_id=director))
        here = {"created_ms": 1, "vehicle_id": f"v{number}"}
        if number % 3 == 0:
            delegated = {"from_company_id": owner, "to_company_id": "o", "automatic": False}
            tx.run(insert(vehicle_company), {"id": f"l{number}", **here, **delegated})
        if number % 7 < 2:
            role = ("DELEGATED_DIRECTOR", "DRIVER")[number % 7]
            right = {"company_id": "o", "user_id": "d", "user_role": role}
            tx.run(insert(vehicle_user), {"id": f"r{number}", **here, **right})
        if number % 2:
            tx.run(insert(sensor), fleet_rows.sensor(f"s{number}", owner, vehicle_id=f"v{number}"))
        if number % 4 < 3:
            driven = {"company_id": owner, "service_type": "o", "device_type": "GPS", "parking": number % 4 == 1}
            tx.run(insert(trip), {"no": number, "id": f"t{number}", **here, **driven, "state": "OPEN"})
            tx.run(update(vehicle).where(vehicle.c.id == f"v{number}").values(latest_trip_id=f"t{number}"))
            place = {
                "vehicle_id": f"v{number}",
                "company_id": owner,
                "change_no": 1,
                "time_ms": 1,
                "lat": 37,
                "lon": 127,
            }
            tx.run(insert(vehicle_position), {**place, "parking": False, "driving": True if number % 11 else None})
    reaching.recount(tx)


def asked(tx, scope, which, company_id=None):
    """The same number by the predicate of `scopes`, asked of every vehicle."""
    statement = select(func.count()).select_from(vehicle).where(scopes.vehicles(scope.reaches))
    if company_id is not None:
        statement = statement.where(vehicle.c.company_id == company_id)
    on_it = select(sensor.c.id).where(sensor.c.vehicle_id == vehicle.c.id).exists()
    driven = (
        select(trip.c.no)
        .join(vehicle_position, vehicle_position.c.vehicle_id == trip.c.vehicle_id)
        .where(trip.c.id == vehicle.c.latest_trip_id, ~trip.c.parking, vehicle_position.c.driving.is_(True))
        .exists()
    )
    for wanted, test in ((which.with_sensor, on_it), (which.driving, driven)):
        if wanted is not None:
            statement = statement.where(test if wanted else ~test)
    return tx.all(statement, scopes.values(scope))[0][0]


@pytest.fixture(scope="module")
def tx():
    with rows.memory() as transaction:
        fill(transaction)
        yield transaction


@pytest.mark.parametrize("reaches", [*REACHES, *ALONE])
def test_number_within_reach_is_what_the_predicate_lets_through(tx, reaches):
    scope = Scope("test", reaches, UserId("d"), CompanyId("o"))

    counted = [vehicles.LIST.count(tx, scope, which) for which in EVERY_WHICH]

    assert counted == [asked(tx, scope, which) for which in EVERY_WHICH]
    assert counted[0] > 0


@pytest.mark.parametrize("reaches", [*REACHES, *ALONE])
@pytest.mark.parametrize("company_id", "opxy")
def test_number_of_each_company_is_what_the_predicate_lets_through(tx, reaches, company_id):
    scope = Scope("test", reaches, UserId("d"), CompanyId("o"))

    counted = [
        vehicles.LIST.count(tx, scope, replace(which, company_id=CompanyId(company_id))) for which in EVERY_WHICH
    ]

    assert counted == [asked(tx, scope, which, company_id) for which in EVERY_WHICH]


def test_number_of_a_company_is_what_the_predicate_lets_through(tx):
    scope = Scope("test", frozenset({Reach.DELEGATED_COMPANY}), UserId("d"), CompanyId("o"))

    # Of the ten vehicles of x, numbers 2, 6, ..., 38, those that 3 divides are delegated.
    assert vehicles.LIST.count(tx, scope, Filters(company_id=CompanyId("x"))) == 3


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.parametrize("reaches", REACHES)
def test_number_within_reach_is_found_by_index(reaches):
    with rows.memory() as tx, rows.statements(tx) as seen:
        vehicles.LIST.count(tx, Scope("test", reaches, UserId("d"), CompanyId("o")), Filters())
        (statement,) = seen

        steps = [step for *_, step in rows.plan(tx, statement)]

    assert [step for step in steps if step.startswith("SCAN") and step not in SCANNED] == []
