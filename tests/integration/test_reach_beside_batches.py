"""A device's activation beside a delegation of its vehicle, on PostgreSQL: neither misses what the other one writes."""

from contextlib import ExitStack, contextmanager

import pytest
from psycopg import errors
from sqlalchemy import select
from tests.properties import test_access_scopes as worlds
from tests.support import databases, reaching

from tripline.domain.sensors import Status
from tripline.store.database import postgres
from tripline.store.database.postgres_statements import PostgresTx
from tripline.store.fleet import delegations
from tripline.store.fleet.vehicles import OwnedVehicle
from tripline.store.rpc import activations
from tripline.store.tables import reach

WORLD = {
    "masters": {"c1": "c0", "c2": "c0"},
    "owners": dict.fromkeys((*worlds.USERS, *worlds.VEHICLES, "s0", "t0"), "c1"),
    "director": dict.fromkeys(worlds.VEHICLES),
    "delegations": set(),
    "rights": set(),
    "mounted": None,
    "driven": None,
    "drove": None,
}


@contextmanager
def transactions():
    """Give a function that begins a transaction, on a database with the world."""
    with databases.fresh() as database, ExitStack() as opened:

        def begun(isolation):
            tx = PostgresTx(opened.enter_context(postgres.open_engine(database.url).connect()))
            tx.run_sql(f"BEGIN ISOLATION LEVEL {isolation}", ())
            tx.run_sql("SET LOCAL lock_timeout = 300", ())
            tx.all(select(reach.c.thing_id))  # from here on a SERIALIZABLE one sees no change of others
            return tx

        tx = begun("SERIALIZABLE")
        worlds.write(tx, WORLD)
        reaching.recount(tx)
        tx.run_sql("COMMIT", ())
        yield begun


def delegate(tx):
    delegations.insert_new(tx, "d", OwnedVehicle("v0", "c1"), "c2", automatic=False, now_ms=1)


def seen(tx):
    return {row.thing_id for row in tx.all(select(reach.c.thing_id).where(reach.c.principal == "c2"))}


@pytest.mark.parametrize("committed", [False, True])
def test_delegation_that_misses_an_activation_runs_again(committed):
    with transactions() as begun:
        ordinary, batch = begun("SERIALIZABLE"), begun("READ COMMITTED")
        assert activations.mount(batch, "s0", "v0", Status.ACTIVATED)
        if committed:
            batch.run_sql("COMMIT", ())

        with pytest.raises(errors.SerializationFailure if committed else errors.LockNotAvailable):
            delegate(ordinary)

        ordinary.run_sql("ROLLBACK", ())
        if not committed:
            batch.run_sql("COMMIT", ())
        again = begun("SERIALIZABLE")
        delegate(again)
        assert seen(again) == {"v0", "s0"}
        again.run_sql("ROLLBACK", ())


def test_activation_waits_for_a_delegation_of_its_vehicle():
    with transactions() as begun:
        ordinary, batch = begun("SERIALIZABLE"), begun("READ COMMITTED")
        delegate(ordinary)

        with pytest.raises(errors.LockNotAvailable):
            activations.mount(batch, "s0", "v0", Status.ACTIVATED)

        batch.run_sql("ROLLBACK", ())
        ordinary.run_sql("COMMIT", ())
        again = begun("READ COMMITTED")
        activations.mount(again, "s0", "v0", Status.ACTIVATED)
        assert seen(again) == {"v0", "s0"}
        again.run_sql("ROLLBACK", ())
