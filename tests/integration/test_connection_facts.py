"""Sessions over real sockets and what the store and customers know of them afterwards."""

import asyncio
import contextlib
import json

import pytest
from sqlalchemy import insert, select
from tests.support import fleet_rows, ingest_rig, waits
from tests.support.gateways import NOW_MS, OTHER_USER, SENSORS, USER, Client, MemoryIntake, listening
from tests.support.ingest_rig import Rig

from tripline.mqtt import packets
from tripline.services.presence import PresenceKeeper
from tripline.store import tables
from tripline.store.devices import connections
from tripline.store.transactions import Hot

SENSOR = SENSORS[USER]
TOLD = Hot(select(tables.push_outbox.c.body).order_by(tables.push_outbox.c.no))


@pytest.fixture
def rig(tmp_path):
    """A store that knows the sensors of the test's listener, whose company asked for class 500."""
    with Rig.fresh(tmp_path) as made:
        for user in (USER, OTHER_USER):
            row = fleet_rows.sensor(SENSORS[user], ingest_rig.COMPANY, service_type="harbour", serial_no=user)
            made.run(made.store.write(lambda tx, row=row: tx.run(insert(tables.sensor).values(**row))))
        made.want("500")
        yield made


def played(rig, script):
    """The sensor's facts and what was pushed after a script with a listener and its address."""

    async def scenario():
        keeper = PresenceKeeper(store=rig.store, ids=rig.ids, signals=rig.signals, clock=lambda: NOW_MS, absent_s=30)
        async with listening(MemoryIntake(), presence=keeper) as listener:
            address = await listener.start_plain("127.0.0.1", 0)
            async with contextlib.AsyncExitStack() as clients:

                async def connected(**more):
                    client = await Client.connected(address, **more)
                    clients.push_async_callback(client.close)
                    return client

                await script(listener, connected, keeper)
                await keeper.round()
                facts = await rig.store.read(lambda tx: connections.of_sensor(tx, SENSOR))
                told = await rig.store.read(lambda tx: tx.hot(TOLD))
                return facts, [json.loads(body)["pld"]["connected"] for (body,) in told], listener.roster.heard()

    return rig.run(asyncio.wait_for(scenario(), 30))


def test_half_open_connection_is_found_and_kept_as_silent(rig):
    async def script(listener, connected, keeper):
        await connected(keep_alive_s=20)
        await keeper.round()
        await listener.sweep(100.0)
        await listener.sweep(130.1)
        await waits.until(lambda: listener.connections == 0)

    facts, told, heard = played(rig, script)

    assert (facts.connected, facts.reason, facts.lost_ms, facts.seen_ms) == (False, "silent", NOW_MS, NOW_MS)
    assert (told, heard) == ([True], [])


def test_take_over_leaves_the_newer_session_and_no_end(rig):
    async def script(listener, connected, keeper):
        older = await connected()
        await keeper.round()
        await connected()
        assert await older.next() is None

    facts, told, heard = played(rig, script)

    assert (facts.connected, facts.reason, told, heard) == (True, None, [True], [(SENSOR, NOW_MS)])


def test_device_that_says_goodbye_and_comes_back_is_connected(rig):
    async def script(listener, connected, keeper):
        client = await connected()
        client.send(packets.Disconnect())
        await waits.until(lambda: len(listener.roster) == 0)
        await keeper.round()
        await connected()

    facts, told, _ = played(rig, script)

    assert (facts.connected, facts.reason, told) == (True, "disconnected", [True])


def test_orderly_stop_is_the_reason(rig):
    async def script(listener, connected, keeper):
        await connected()
        await keeper.round()
        await listener.drain(1)

    facts, told, heard = played(rig, script)

    assert (facts.connected, facts.reason, told, heard) == (False, "server_stopping", [True], [])
