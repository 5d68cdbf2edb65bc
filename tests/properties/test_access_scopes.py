"""The SQL of a scope says the same as a sentence of plain Python, for any owners, masters, delegations and rights."""

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import insert, select
from tests.support import fleet_rows, rows, stores

from tripline.domain.access import Reach, Scope
from tripline.domain.delegations import UserRole
from tripline.store import scopes
from tripline.store.tables import account, company, sensor, trip, vehicle, vehicle_company, vehicle_user

COMPANIES = ("c0", "c1", "c2", "c3")
USERS = ("u0", "u1", "u2")
VEHICLES = ("v0", "v1", "v2")

worlds = st.fixed_dictionaries(
    {
        "masters": st.fixed_dictionaries({name: st.sampled_from(("c0", "c3")) for name in ("c1", "c2")}),
        "owners": st.fixed_dictionaries({name: st.sampled_from(COMPANIES) for name in (*USERS, *VEHICLES, "s0", "t0")}),
        "director": st.fixed_dictionaries({name: st.none() | st.sampled_from(USERS) for name in VEHICLES}),
        "delegations": st.sets(st.tuples(st.sampled_from(VEHICLES), st.sampled_from(COMPANIES))),
        "rights": st.sets(st.tuples(st.sampled_from(VEHICLES), st.sampled_from(USERS), st.sampled_from(UserRole))),
        "mounted": st.none() | st.sampled_from(VEHICLES),
        "driven": st.none() | st.sampled_from(VEHICLES),
        "drove": st.none() | st.sampled_from(USERS),
    }
)
reach_sets = st.frozensets(st.sampled_from(list(Reach)))


@pytest.fixture(scope="module")
def tx():
    with rows.memory() as transaction:
        yield transaction


def write(tx, world):
    masters = {"c0": "c0", "c3": "c3", **world["masters"]}
    for name in COMPANIES:
        row = {"id": name, "created_ms": 1, "name": name, "service_type": masters[name], "token_prefix": name}
        tx.run(insert(company), {**row, "master": masters[name] == name, "master_id": masters[name]})
    for name in USERS:
        row = {"id": name, "created_ms": 1, "name": name, "email": name, "login": name, "authority": "DRIVER"}
        secret = {"password_hash": "", "password_updated_ms": 1, "enabled": True}
        tx.run(insert(account), {**row, **secret, "company_id": world["owners"][name]})
    for name in VEHICLES:
        row = fleet_rows.vehicle(name, world["owners"][name], director_id=world["director"][name])
        tx.run(insert(vehicle), row)
    tx.run(insert(sensor), fleet_rows.sensor("s0", world["owners"]["s0"], vehicle_id=world["mounted"]))
    row = {"no": 1, "id": "t0", "created_ms": 1, "sensor_id": "s0", "service_type": "x", "device_type": "GPS"}
    driven = {"company_id": world["owners"]["t0"], "vehicle_id": world["driven"], "user_id": world["drove"]}
    tx.run(insert(trip), {**row, **driven, "parking": False, "state": "OPEN"})
    for number, (vehicle_id, to) in enumerate(sorted(world["delegations"])):
        delegation = {"id": str(number), "created_ms": 1, "vehicle_id": vehicle_id, "from_company_id": "c0"}
        tx.run(insert(vehicle_company), {**delegation, "to_company_id": to, "automatic": False})
    for number, (vehicle_id, user_id, role) in enumerate(sorted(world["rights"])):
        right = {"id": str(number), "created_ms": 1, "vehicle_id": vehicle_id, "user_id": user_id}
        tx.run(insert(vehicle_user), {**right, "company_id": "c0", "user_role": role.value})
    return masters


def oracle(world, masters, scope):
    """The ids inside the scope, said without SQL."""

    def holds(reach):
        return Reach.ANY in scope.reaches or reach in scope.reaches

    def owned(owner):
        return (
            Reach.ANY in scope.reaches
            or (holds(Reach.OWN_COMPANY) and owner == scope.company_id)
            or (holds(Reach.PARTNERS) and masters[owner] == scope.company_id != owner)
        )

    def near(vehicle_id):
        return vehicle_id is not None and (
            (holds(Reach.DELEGATED_COMPANY) and (vehicle_id, scope.company_id) in world["delegations"])
            or (holds(Reach.MANAGED) and scope.user_id is not None and world["director"][vehicle_id] == scope.user_id)
            or (
                holds(Reach.DIRECTING_RIGHT)
                and (vehicle_id, scope.user_id, UserRole.DELEGATED_DIRECTOR) in world["rights"]
            )
            or (holds(Reach.DRIVING_RIGHT) and (vehicle_id, scope.user_id, UserRole.DRIVER) in world["rights"])
        )

    def oneself(user_id):
        return holds(Reach.SELF) and user_id is not None and user_id == scope.user_id

    def borrows(company_id):
        lent_to = {to for _, to in world["delegations"]}
        return holds(Reach.DELEGATED_COMPANIES) and scope.company_id == "c0" and company_id in lent_to

    owners = world["owners"]
    everything = Reach.ANY in scope.reaches
    return {
        "companies": {
            name
            for name in COMPANIES
            if everything
            or (holds(Reach.OWN_COMPANY) and name == scope.company_id)
            or (holds(Reach.PARTNERS) and masters[name] == scope.company_id != name)
        },
        "accounts": {name for name in USERS if owned(owners[name]) or borrows(owners[name]) or oneself(name)},
        "vehicles": {name for name in VEHICLES if owned(owners[name]) or near(name)},
        "sensors": {"s0"} if owned(owners["s0"]) or near(world["mounted"]) else set(),
        "trips": {"t0"} if owned(owners["t0"]) or near(world["driven"]) or oneself(world["drove"]) else set(),
    }


@settings(
    max_examples=stores.examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(
    world=worlds,
    reaches=reach_sets,
    company_id=st.none() | st.sampled_from(COMPANIES),
    user_id=st.none() | st.sampled_from(USERS),
)
def test_scope_in_sql_says_what_it_says_in_words(tx, world, reaches, company_id, user_id):
    scope = Scope("test", reaches, user_id, company_id)
    tables = {"companies": company, "accounts": account, "vehicles": vehicle, "sensors": sensor, "trips": trip}
    with tx.connection.begin_nested() as undo:
        masters = write(tx, world)

        seen = {
            name: {
                row.id for row in tx.all(select(table.c.id).where(getattr(scopes, name)(reaches)), scopes.values(scope))
            }
            for name, table in tables.items()
        }

        undo.rollback()
    assert seen == oracle(world, masters, scope)
