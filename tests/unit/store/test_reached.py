"""Lists of who directs or drives single vehicles: by these vehicles while they are few, else along the company's."""

import pytest
from sqlalchemy import insert
from tests.support import fleet_rows, rows

from tripline.domain.access import RULES, Action, Authority, Scope
from tripline.domain.ids import CompanyId, UserId
from tripline.store import reached
from tripline.store.fleet import sensors, vehicles
from tripline.store.lists import Window
from tripline.store.tables import account, company, sensor, vehicle, vehicle_user

DIRECTOR = Scope("test", RULES[Action.VEHICLE_READ][Authority.DIRECTOR], UserId("d"), CompanyId("o"))
SENSORS = Scope("test", RULES[Action.SENSOR_READ][Authority.DIRECTOR], UserId("d"), CompanyId("o"))
HERE = {"created_ms": 1, "company_id": "o"}
MANAGED, RIGHT = 5, 3


def fill(tx, managed):
    """A company whose director manages some vehicles, has a right on others and neither on 20."""
    row = {"id": "o", "created_ms": 1, "name": "o", "service_type": "o", "token_prefix": "o"}
    tx.run(insert(company), {**row, "master": True, "master_id": "o"})
    person = {**HERE, "authority": "DIRECTOR", "name": "d", "email": "d", "login": "d", "password_hash": ""}
    tx.run(insert(account), {"id": "d", **person, "password_updated_ms": 1, "enabled": True})
    numbers = range(managed + RIGHT + 20)
    tx.run(
        insert(vehicle),
        [
            fleet_rows.vehicle(f"v{n}", "o", vehicle_no=f"{n:05d}", director_id="d" if n < managed else None)
            for n in numbers
        ],
    )
    tx.run(insert(sensor), [fleet_rows.sensor(f"s{n}", "o", serial_no=f"{n:05d}", vehicle_id=f"v{n}") for n in numbers])
    tx.run(insert(sensor), fleet_rows.sensor("free", "o"))
    right = {**HERE, "user_id": "d", "user_role": "DELEGATED_DIRECTOR"}
    tx.run(
        insert(vehicle_user),
        [
            {"id": f"r{n}", **right, "vehicle_id": f"v{n}", "vehicle_no": f"{n:05d}"}
            for n in range(managed - 1, managed + RIGHT)
        ],
    )


def listed(tx, mounted=None):
    window = Window(limit=9, text_offset="00002", id_offset="v2")
    own = [found.id for found in vehicles.of_company(tx, DIRECTOR, CompanyId("o"), window)]
    window = Window(limit=9, text_offset="00002", id_offset="s2")
    return own, [
        found.id for found in sensors.of_company(tx, SENSORS, CompanyId("o"), window, mounted=mounted, tokens=SENSORS)
    ]


@pytest.mark.parametrize("many", [1_000, MANAGED + RIGHT, 1])
def test_directors_lists_are_the_same_found_both_ways(many, monkeypatch):
    monkeypatch.setattr(reached, "MANY", many)
    reached._past_many.cache_clear()
    with rows.memory() as tx:
        fill(tx, MANAGED)

        found = [listed(tx, mounted) for mounted in (None, True, False)]

    reached._past_many.cache_clear()
    on = [f"{n}" for n in range(3, MANAGED + RIGHT)]
    assert found == [
        ([f"v{n}" for n in on], [f"s{n}" for n in on]),
        ([f"v{n}" for n in on], [f"s{n}" for n in on]),
        ([f"v{n}" for n in on], []),
    ]


# A vehicle that is managed and has a right counts twice: RIGHT + 1 rights.
@pytest.mark.parametrize(("managed", "few"), [(995, True), (996, True), (997, False)])
def test_few_are_up_to_a_thousand(managed, few):
    with rows.memory() as tx:
        fill(tx, managed)

        assert reached.few(tx, DIRECTOR) is few
        assert len(vehicles.of_company(tx, DIRECTOR, CompanyId("o"), Window(limit=2_000))) == managed + RIGHT


@pytest.mark.parametrize("role", [Authority.COMPANY_ADMIN])
def test_few_is_not_who_has_a_whole_company(role):
    with rows.memory() as tx:
        assert not reached.few(tx, Scope("test", RULES[Action.VEHICLE_READ][role], UserId("a"), CompanyId("o")))


@pytest.mark.sqlite("how SQLite finds rows")
def test_few_vehicles_are_found_without_the_companys_others():
    with rows.memory() as tx, rows.statements(tx) as seen:
        listed(tx)
        plans = [[step for *_, step in rows.plan(tx, statement)] for statement in seen if " ORDER BY " in statement]

    assert [plan[0] for plan in plans] == [
        "SEARCH vehicle USING INDEX sqlite_autoindex_vehicle_1 (id=?)",
        "SEARCH sensor USING INDEX ix_sensor_vehicle_id (vehicle_id=?)",
    ]
