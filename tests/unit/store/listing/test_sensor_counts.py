"""Numbers of sensors are those of the predicate, found by index."""

import itertools

import pytest
from sqlalchemy import func, select
from tests.support import delegating, rest
from tests.support.rows import memory, plan, statements

from tripline.domain import access
from tripline.domain.access import RULES, Action
from tripline.domain.ids import CompanyId, UserId
from tripline.store import scopes, tables
from tripline.store.listing import sensors
from tripline.store.listing.sensors import Filters

MOUNTED = (None, True, False)


async def readers(app):
    """Everybody who reaches sensors in a way of their own, by name."""
    c = await delegating.companies(app)
    managing = await delegating.director(app, c.owner, "managing")
    delegated = await delegating.director(app, c.borrower, "delegated")
    logins = {"operator": c.operator, "owner": c.owner, "borrower": c.borrower, "below": c.below, "other": c.other}
    for number, login in enumerate(logins.values()):
        vehicle_id = await delegating.new_vehicle(app, login, f"{number}")
        for mounted in (True, False):
            body = {
                "serialNo": f"{number} {mounted}",
                "type": "GPS",
                "credentialsId": f"{number}{mounted}".ljust(20, "-"),
            }
            sensor = await app.post(login, "/sensor", body)
            if mounted:
                await app.post(login, f"/sensor/{sensor['id']['id']}/vehicle/{vehicle_id}")
        if login is c.owner:
            await app.post(c.owner, f"/vehicle/{vehicle_id}/director/{managing.user_id}")
            await delegating.register(app, c.owner, c.borrower)
            await delegating.delegate(app, c.owner, c.borrower, vehicle_id)
            body = {"vehicleId": {"id": vehicle_id}}
            await app.post(c.borrower, f"/director/{delegated.user_id}/relation/vehicle", body)
    return {**logins, "managing director": managing, "delegated director": delegated}


def one_by_one(tx, scope, mounted, company_id=None):
    statement = select(func.count()).select_from(tables.sensor).where(scopes.sensors(scope.reaches))
    if company_id is not None:
        statement = statement.where(tables.sensor.c.company_id == company_id)
    if mounted is not None:
        statement = statement.where(tables.sensor.c.vehicle_id.is_not(None) == mounted)
    return tx.all(statement, scopes.values(scope))[0][0]


async def test_count_of_each_company_is_what_the_scope_holds(app: rest.Rest):
    logins = await app.staged(readers)
    companies = {login.company_id for login in logins.values()}

    def both(tx):
        found = []
        for company_id, login, mounted in itertools.product(companies, logins.values(), MOUNTED):
            scope = access.scope_of(login.actor, Action.SENSOR_READ)
            counted = sensors.LIST.count(tx, scope, Filters(company_id=company_id, mounted=mounted))
            found.append((counted, one_by_one(tx, scope, mounted, company_id)))
        return found

    found = await app.store.read_short(both)

    assert [counted for counted, _ in found] == [expected for _, expected in found]
    assert {counted for counted, _ in found} == {0, 1, 2}


async def test_count_within_reach_is_what_the_scope_holds(app: rest.Rest):
    counted, expected = {}, {}
    for name, login in (await app.staged(readers)).items():
        scope = access.scope_of(login.actor, Action.SENSOR_READ)

        def both(tx, scope=scope):
            found = [sensors.LIST.count(tx, scope, Filters(mounted=mounted)) for mounted in MOUNTED]
            return found, [one_by_one(tx, scope, mounted) for mounted in MOUNTED]

        counted[name], expected[name] = await app.store.read_short(both)

    assert counted == expected
    assert counted == {
        "operator": [8, 4, 4],
        "owner": [2, 1, 1],
        "borrower": [3, 2, 1],
        "below": [2, 1, 1],
        "other": [2, 1, 1],
        "managing director": [1, 1, 0],
        "delegated director": [1, 1, 0],
    }


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.parametrize("role", RULES[Action.SENSOR_READ])
def test_count_within_reach_looks_at_nobody_elses_sensors(role):
    scope = access.Scope("test", RULES[Action.SENSOR_READ][role], UserId("d"), CompanyId("o"))

    with memory() as tx, statements(tx) as seen:
        sensors.LIST.count(tx, scope, Filters())
        steps = [step for *_, step in plan(tx, seen[0])]

    assert [step for step in steps if step.startswith("SCAN")] == []
