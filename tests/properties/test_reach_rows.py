"""The rows of `reach` say what the predicates of scopes say, after any changes of a fleet."""

import contextlib
from functools import cache

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, example, given, settings
from sqlalchemy import insert, select, update
from tests.properties import test_access_scopes as worlds
from tests.support import reaching, rows, stores

from tripline.domain import companies
from tripline.domain.access import Actor, Authority, Reach, Scope
from tripline.domain.delegations import Right, UserRole
from tripline.domain.ids import TimeIds
from tripline.domain.sensors import Status
from tripline.services.fleet import removal
from tripline.services.fleet import vehicles as fleet_vehicles
from tripline.services.imports import kinds
from tripline.store import reach, scopes, tables
from tripline.store.fleet import companies as companies_of
from tripline.store.fleet import delegations, rights, sensors, vehicles
from tripline.store.fleet.vehicles import OwnedVehicle
from tripline.store.lines import lines
from tripline.store.rpc import activations
from tripline.store.tables import sensor, vehicle, vehicle_company, vehicle_user

EVERYTHING = Scope.everything("test")
IN_COMPANY = (Reach.OWN_COMPANY, Reach.PARTNERS, Reach.DELEGATED_COMPANY)
AS_PERSON = (Reach.MANAGED, Reach.DIRECTING_RIGHT, Reach.DRIVING_RIGHT)
MASKS = [frozenset(each) for each in (IN_COMPANY, AS_PERSON, *([one] for one in (*IN_COMPANY, *AS_PERSON)))]

a_vehicle, a_company, a_user = (st.sampled_from(each) for each in (worlds.VEHICLES, worlds.COMPANIES, worlds.USERS))
changes = st.lists(
    st.one_of(
        st.tuples(st.just("delegate"), a_vehicle, a_company),
        st.tuples(st.just("take back"), a_vehicle, a_company),
        st.tuples(st.just("give"), a_vehicle, a_user, st.sampled_from(UserRole)),
        st.tuples(st.just("end"), a_vehicle, a_user, st.sampled_from(UserRole)),
        st.tuples(st.just("end of company"), a_vehicle, a_company),
        st.tuples(st.just("direct"), a_vehicle, st.none() | a_user),
        st.tuples(st.just("rename"), a_vehicle, st.sampled_from(("n1", "n2", "n3"))),
        st.tuples(st.just("mount"), st.none() | a_vehicle),
        st.tuples(st.just("activate"), a_vehicle),
        st.tuples(st.just("change of device")),
        st.tuples(st.just("end of line")),
        st.tuples(st.just("unmount all"), a_vehicle),
        st.tuples(st.just("delete vehicle"), a_vehicle),
        st.tuples(st.just("delete person"), a_user),
        st.tuples(st.just("delete company"), a_company),
        st.tuples(st.just("register"), a_user, st.sampled_from((Authority.COMPANY_ADMIN, Authority.DIRECTOR))),
        st.tuples(st.just("import"), st.sampled_from(sorted(kinds.KINDS)), a_company, st.none() | a_user),
    ),
    max_size=8,
)


LENT = {
    "masters": {"c1": "c0", "c2": "c0"},
    "owners": dict.fromkeys((*worlds.USERS, *worlds.VEHICLES, "s0", "t0"), "c1"),
    "director": dict.fromkeys(worlds.VEHICLES),
    "delegations": {("v0", "c2")},
    "rights": set(),
    "mounted": "v0",
    "driven": None,
    "drove": None,
}
"""A partner's fleet, of which another partner has a vehicle with a sensor."""
THINGS = {reach.Kind.VEHICLE: (vehicle, scopes.vehicles), reach.Kind.SENSOR: (sensor, scopes.sensors)}
"""Kind of rows of `reach` -> table and predicate of scopes."""
KNOWN = {*worlds.VEHICLES, *worlds.COMPANIES, *worlds.USERS}
REGISTERED = {
    "vehicles": lambda name: {"vehicle_no": f"new {name}", "mileage": 1.0},
    "sensors": lambda name: {"serial_no": f"new {name}", "type": "GPS", "credentials_id": f"new{name:x>17}"},
}


def admin(company_id, director_id=None):
    """Return an administrator of the company, or the director if there is one."""
    authority = Authority.COMPANY_ADMIN if director_id is None else Authority.DIRECTOR
    return Actor(user_id=director_id or "nobody", authority=authority, company_id=company_id)


def now(number):
    """Return what makes ids and the time of a change, of which no two make the same id."""
    return {"ids": TimeIds(node=number), "now_ms": 1_000 + number}


def sensor_of(tx, sensor_id):
    return sensors.find(tx, EVERYTHING, sensor_id, tokens=EVERYTHING)[0]


@pytest.fixture(scope="module")
def tx():
    with rows.memory(keys_checked=False) as transaction:
        yield transaction


def apply(tx, number, change):
    """Make one change by the functions that the program makes it with, unless it is made already or cannot be."""
    what, *of = change
    has = {(row.vehicle_id, row.to_company_id) for row in tx.all(select(vehicle_company))}
    held = {(row.vehicle_id, row.user_id, row.user_role) for row in tx.all(select(vehicle_user))}
    there = {row[0] for table in (tables.company, tables.account, vehicle) for row in tx.all(select(table.c.id))}
    if not there.issuperset({each for each in of if each in KNOWN}):
        return
    match what:
        case "delegate" if tuple(of) not in has:
            delegations.insert_new(tx, f"new{number}", OwnedVehicle(of[0], "c0"), of[1], automatic=True, now_ms=1)
        case "take back":
            delegations.end(tx, *of)
        case "give" if (of[0], of[1], of[2].value) not in held:
            named = {"company_name": "", "user_name": "", "vehicle_no": ""}
            whose = {"company_id": "c0", "user_id": of[1], "vehicle_id": of[0], "user_role": of[2]}
            rights.insert_new(tx, Right(id=f"new{number}", created_ms=1, **whose, **named))
        case "end":
            rights.end(tx, *of)
        case "end of company":
            rights.end_of_company(tx, *of)
        case "direct":
            vehicles.change(tx, EVERYTHING, of[0], director_id=of[1])
        case "rename":
            vehicles.change(tx, EVERYTHING, of[0], vehicle_no=f"{of[1]} {of[0]}")
        case "mount":
            sensors.mount(tx, EVERYTHING, "s0", of[0], Status.ACTIVATED)
        case "activate":
            activations.mount(tx, "s0", of[0], Status.ACTIVATED)
        case "change of device":
            old = "s0" if sensor_of(tx, "s0").vehicle_id else "s1"
            lines.hand_over(tx, sensor_of(tx, old), "s1" if old == "s0" else "s0")
        case "end of line":
            lines.clear(tx, "s0")
        case "unmount all":
            sensors.unmount_all(tx, of[0])
        case "delete vehicle":
            owner = tx.one(select(vehicle.c.company_id).where(vehicle.c.id == of[0])).company_id
            fleet_vehicles.delete(tx, actor=admin(owner), vehicle_id=of[0], **now(number))
        case "delete person":
            removal.person(tx, of[0], now_ms=1)
        # Delegations come from a vehicle's owner, which cannot be deleted; those of this world come from `c0`.
        case "delete company" if of[0] != "c0" or not has:
            with contextlib.suppress(companies.InUse):
                removal.company(tx, admin("c0"), companies_of.find(tx, EVERYTHING, of[0])[0], **now(number))
        case "register":
            company_id = tx.one(select(tables.account.c.company_id).where(tables.account.c.id == of[0])).company_id
            by = Actor(user_id=of[0], authority=of[1], company_id=company_id)
            registration = kinds.VEHICLES.registration(**REGISTERED["vehicles"](number))
            fleet_vehicles.register(tx, actor=by, registration=registration, **now(number))
        case "import":
            kind, company_id, user_id = kinds.KINDS[of[0]], of[1], of[2]
            some = [kind.registration(**REGISTERED[kind.noun](f"{number}-{each}")) for each in range(3)]
            company = companies_of.find(tx, EVERYTHING, company_id)[0]
            (made,) = kind.prepared(some, actor=admin(company_id, user_id), company=company, **now(number))
            assert all(each.insert(tx) for each in made)


@cache
def selected(kind, reaches):
    """The statements that select what is within the reaches: by the predicates of scopes, and by a probe of each row.
    Made once, for that takes longer than running them."""
    table, predicate = THINGS[kind]
    within = predicate(reaches), reach.predicate(reaches, table.c.id)
    return [select(table.c.id).where(condition) for condition in within]


@settings(
    max_examples=stores.examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(world=worlds.worlds, made=changes)
@example(world=LENT | {"mounted": None}, made=[("activate", "v0")])
@example(world=LENT, made=[("change of device",)])
@example(world=LENT, made=[("delete company", "c2")])
def test_rows_are_what_the_predicates_select_after_each_change(tx, world, made):
    with rows.undone(tx):
        worlds.write(tx, world)
        row = tx.one(select(sensor).where(sensor.c.id == "s0"))._asdict()
        tx.run(insert(sensor), {**row, "id": "s1", "serial_no": "s1", "serial_key": "s1", "vehicle_id": None})
        reaching.recount(tx)
        for number, change in enumerate(made):
            apply(tx, number, change)

        expected, found, inside = {}, {}, {}
        kept = tx.all(select(tables.reach))
        for reaches in MASKS:
            for principal in worlds.COMPANIES if reaches <= MASKS[0] else worlds.USERS:
                scope = Scope("test", reaches, principal, principal)
                mask = reach.within(scope).mask
                for kind in THINGS:
                    key = (tuple(sorted(each.name for each in reaches)), principal, kind)
                    expected[key], inside[key] = (
                        {row.id for row in tx.all(statement, scopes.values(scope))}
                        for statement in selected(kind, reaches)
                    )
                    found[key] = {
                        row.thing_id
                        for row in kept
                        if (row.principal, row.kind) == (principal, kind) and row.why & mask
                    }
        numbers = {row.id: row.vehicle_no for row in tx.all(select(vehicle))}
        keys = {row.thing_id: row.sort_key for row in kept if row.kind == reach.Kind.VEHICLE}
        wrong = reaching.recount(tx)

    assert found == expected
    assert inside == expected
    assert keys == {each: numbers[each] for each in keys}
    assert wrong == 0


def test_recount_repairs_what_was_written_past_the_store(tx):
    with rows.undone(tx):
        worlds.write(tx, LENT | {"delegations": set()})
        reaching.recount(tx)
        given = {"id": "x", "created_ms": 1, "vehicle_id": "v0", "from_company_id": "c1", "to_company_id": "c2"}
        tx.run(insert(vehicle_company), {**given, "automatic": False})
        tx.run(update(vehicle).where(vehicle.c.id == "v1").values(vehicle_no="other"))
        stale = {"thing_id": "gone", "principal": "c2", "kind": 1, "sort_key": "gone", "created_ms": 1, "why": 1}
        tx.run(insert(tables.reach), stale)

        wrong = [reaching.recount(tx), reaching.recount(tx)]

    # The vehicle and its sensor for c2, the number for c1 and c0, the row of nothing.
    assert wrong == [5, 0]
