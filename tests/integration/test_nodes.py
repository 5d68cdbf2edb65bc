"""Processes that share a PostgreSQL: slots, heartbeats, burying, whose session counts, and messages to devices that
another process is connected with, with every hint lost."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import structlog
from sqlalchemy import insert, select, update
from tests.support import databases, ingest_rig, postgres
from tests.support.ingest_rig import COMPANY, SENSOR

from tripline import observe
from tripline.adapters.signals.local import LocalSignals
from tripline.domain import ids as time_ids
from tripline.domain.ids import SLOTS, RowNo, SensorId, TimeIds
from tripline.ports.devices import TAKEN_OVER, Delivery
from tripline.services import barrier, nodes, notifications, session_check
from tripline.services.barrier import GATEWAYS, Answering, Barrier
from tripline.services.nodes import DEAD_MS, PATIENCE_S, Node, Undertaker
from tripline.services.presence import PresenceKeeper
from tripline.services.rpc import dispatch
from tripline.services.rpc.dispatch import Deliverer, EveryDevice
from tripline.services.session_check import CREDENTIAL_ENDED, SessionCheck
from tripline.store import tables
from tripline.store.database import nodes as rows
from tripline.store.database.nodes import QUARANTINE_MS, SlotsTaken
from tripline.store.database.postgres import PostgresStore
from tripline.store.devices import connections
from tripline.store.rpc import sends
from tripline.store.transactions import Hot

NOW = 1_780_000_000_000
SESSIONS = Hot(
    select(
        tables.device_connection.c.connected,
        tables.device_connection.c.node_id,
        tables.device_connection.c.session_no,
        tables.device_connection.c.reason,
    ).where(tables.device_connection.c.sensor_id == SENSOR)
)


class Quiet:
    """Hints that never reach anybody, noted."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def notify(self, subject: str, detail: str = "") -> None:
        self.told.append((subject, detail))

    def subscribe(self, subject: str, listener: Callable[[str], None]) -> None:
        """Nobody will be told."""


@dataclass
class Process:
    """What one process has of the shared store."""

    url: str
    roles: str = "gateway"
    signals: Any = field(default_factory=Quiet)
    now_ms: int = NOW
    callable_now: list[int] = field(default_factory=list)
    """Sessions that were said to be within reach of every process, by number."""

    async def __aenter__(self) -> "Process":
        self.store = PostgresStore(self.url, readers=1, writers=1)
        self.ids = TimeIds(node=1)
        self.node = Node(store=self.store, ids=self.ids, name="here:1", roles=self.roles)
        await self.node.enter()
        self.presence = PresenceKeeper(
            store=self.store,
            ids=self.ids,
            signals=self.signals,
            clock=lambda: self.now_ms,
            absent_s=30,
            node=self.node,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.close()

    @property
    def slot(self) -> int:
        return self.ids.take(1, now_ms=self.now_ms) % SLOTS

    def begins(self, no: int) -> None:
        self.presence.connected(SENSOR, RowNo(no), self.now_ms, lambda: self.callable_now.append(no))

    def ends(self, no: int, reason: str = "lost") -> None:
        self.presence.lost(SENSOR, RowNo(no), self.now_ms, seen_ms=self.now_ms, reason=reason)

    async def write(self, statement: Any) -> int:
        return await self.store.write(lambda tx: tx.run(statement), locked=True)

    async def session(self) -> tuple[Any, ...]:
        """Whether the device is connected, through whom, the session, and why the one before it ended."""
        return (await self.store.read(lambda tx: tx.hot(SESSIONS)))[0]


@pytest.fixture
def url() -> Iterator[str]:
    postgres.need("several processes on one store")
    with databases.fresh("nodes") as database:
        yield database.url


@pytest.fixture
async def pair(url) -> AsyncIterator[tuple[Process, Process]]:
    """Two processes on one store."""
    async with Process(url) as one, Process(url) as other:
        await one.store.write(ingest_rig.seed_rows)
        yield one, other


def silent_for(ms: int, node_id: str) -> Any:
    """Let it be so long since the node was seen."""
    return update(tables.node).where(tables.node.c.id == node_id).values(seen_ms=rows.NOW_MS - ms)


# Slots


async def test_processes_that_start_together_take_slots_of_their_own(pair, url):
    _ = pair
    async with asyncio.TaskGroup() as tasks:
        started = [tasks.create_task(Process(url).__aenter__()) for _ in range(6)]
    processes = [task.result() for task in started]
    slots = {process.slot for process in processes}
    for process in processes:
        await process.__aexit__()

    assert slots == {2, 3, 4, 5, 6, 7}


async def test_slot_of_one_that_left_is_not_taken_while_one_was_never_used(pair, url):
    one, other = pair
    await one.node.leave()
    async with Process(url) as third:
        found = one.slot, other.slot, third.slot

    assert found == (0, 1, 2)


async def _full(one: Process) -> None:
    """Let every other slot be taken by somebody who is there."""
    values = {"name": "", "roles": "api", "started_ms": 0, "seen_ms": rows.NOW_MS}
    for slot in range(2, SLOTS):
        await one.write(insert(tables.node).values(slot=slot, id=f"{slot:036d}", **values))


@pytest.mark.parametrize(("silent_ms", "taken"), [(QUARANTINE_MS - 5_000, False), (QUARANTINE_MS + 1, True)])
async def test_used_slot_is_taken_again_when_nobody_was_seen_in_it_for_a_minute(url, pair, silent_ms, taken):
    one, other = pair
    await _full(one)
    await other.node.leave()
    await one.write(silent_for(silent_ms, other.node.id))

    if taken:
        async with Process(url) as third:
            assert third.slot == 1
    else:
        with pytest.raises(SlotsTaken, match=r"^256 processes use this database"):
            await Process(url).__aenter__()


async def test_slot_of_one_that_is_silent_but_not_buried_is_not_taken(url, pair):
    one, other = pair
    await _full(one)
    await one.write(silent_for(3_600_000, other.node.id))

    with pytest.raises(SlotsTaken):
        await Process(url).__aenter__()


# Burying


@pytest.mark.parametrize(("silent_ms", "dead"), [(DEAD_MS - 3_000, 0), (DEAD_MS + 1, 1)])
async def test_node_is_buried_when_it_was_silent_for_ten_seconds(pair, silent_ms, dead):
    one, other = pair
    other.begins(7)
    await other.presence.round()
    await one.write(silent_for(silent_ms, other.node.id))
    undertaker = Undertaker(store=one.store)
    found = [await undertaker.look(0.0), await undertaker.look(PATIENCE_S - 0.1), await undertaker.look(PATIENCE_S)]
    (connected, _, session_no, reason) = await one.session()

    assert found == [0, 0, dead], "nobody is buried just after an outage"
    assert (connected, session_no, reason) == ((False, 7, rows.GATEWAY_LOST) if dead else (True, 7, None))


async def test_what_a_dead_node_had_claimed_is_free(pair):
    one, other = pair
    claim = {"company_id": COMPANY, "channel": "push", "until_ms": 0}
    await one.write(insert(tables.push_claim).values(node_id=other.node.id, **claim))
    await one.write(silent_for(DEAD_MS + 1, other.node.id))
    undertaker = Undertaker(store=one.store)
    await undertaker.look(0.0)
    await undertaker.look(PATIENCE_S)

    assert await one.store.read(lambda tx: tx.all(select(tables.push_claim))) == []


async def test_node_that_was_buried_goes_on_in_another_slot_and_says_its_sessions_again(pair):
    one, other = pair
    other.begins(7)
    await other.presence.round()
    before = other.node.id
    await one.write(silent_for(DEAD_MS + 1, before))
    await one.store.write(lambda tx: rows.bury(tx, for_ms=DEAD_MS), locked=True)
    await other.node.beat()
    await other.presence.round()
    connected, node_id, session_no, _ = await one.session()

    assert other.slot == 2
    assert (connected, node_id, session_no) == (True, other.node.id, 7)
    assert other.node.id != before


async def test_session_of_a_buried_node_is_written_under_its_next_id(pair):
    one, other = pair
    await one.write(silent_for(DEAD_MS + 1, other.node.id))
    await one.store.write(lambda tx: rows.bury(tx, for_ms=DEAD_MS), locked=True)
    other.begins(7)
    refused = await other.presence._tried()
    written = await other.presence._tried()

    assert (refused, written, (await one.session())[1] == other.node.id) == (False, True, True)


# Whose session counts


async def test_later_session_on_another_gateway_counts_and_the_older_gateway_is_told(pair):
    one, other = pair
    one.begins(5)
    await one.presence.round()
    other.begins(8)
    await other.presence.round()
    hint = [detail for subject, detail in other.signals.told if subject == observe.SIGNAL_SESSION_BEGAN]
    one.ends(5, TAKEN_OVER)
    await one.presence.round()

    assert (hint, (await one.session())[:3] == (True, other.node.id, 8)) == ([f"{SENSOR} 8"], True)


async def test_end_of_a_session_that_was_taken_over_elsewhere_counts_for_nothing(pair):
    one, other = pair
    one.begins(5)
    await one.presence.round()
    other.begins(8)
    await other.presence.round()
    one.ends(5)
    await one.presence.round()
    connected, _, session_no, reason = await one.session()

    assert (connected, session_no, reason) == (True, 8, None)


async def test_older_session_that_is_written_late_does_not_count_and_its_gateway_is_told(pair):
    one, other = pair
    one.begins(5)
    other.begins(8)
    await other.presence.round()
    await one.presence.round()
    hint = [detail for subject, detail in one.signals.told if subject == observe.SIGNAL_SESSION_BEGAN]

    assert (hint, (await one.session())[:3] == (True, other.node.id, 8)) == ([f"{SENSOR} 8"], True)


async def test_session_number_from_the_future_gives_way_to_what_is_written_last(pair):
    ahead = time_ids.first_no(NOW + 1)
    behind = time_ids.first_no(NOW)

    one, other = pair
    one.begins(ahead)
    await one.presence.round()
    other.begins(behind)
    await other.presence.round()

    assert ((await one.session())[:3] == (True, other.node.id, behind)) is True


async def test_session_can_be_called_once_its_row_is_committed(pair):
    _, other = pair
    other.begins(5)
    before = list(other.callable_now)
    await other.presence.round()
    first = list(other.callable_now)
    other.presence.unknown(SENSOR, RowNo(5))
    other.ends(5, TAKEN_OVER)
    other.begins(8)
    await other.presence.round()

    assert (before, first, other.callable_now) == ([], [5], [5, 8])


async def test_session_that_ended_or_is_not_the_newest_is_never_said_to_be_within_reach(pair):
    one, other = pair
    other.begins(8)
    await other.presence.round()
    one.begins(5)
    await one.presence.round()
    other.ends(8)
    other.begins(9)
    other.ends(9)
    await other.presence.round()

    assert (one.callable_now, other.callable_now, other.presence._callable) == ([], [8], {})


async def test_session_of_a_buried_node_can_be_called_once_its_next_id_is_written(pair):
    one, other = pair
    await one.write(silent_for(DEAD_MS + 1, other.node.id))
    await one.store.write(lambda tx: rows.bury(tx, for_ms=DEAD_MS), locked=True)
    other.begins(7)
    await other.presence._tried()
    refused = list(other.callable_now)
    await other.presence._tried()

    assert (refused, other.callable_now) == ([], [7])


@dataclass
class Held:
    """The sessions of a gateway."""

    held: list[tuple[SensorId, str, RowNo]]
    ended: list[tuple[SensorId, int, str]] = field(default_factory=list)

    def sessions(self) -> list[tuple[SensorId, str, RowNo]]:
        return self.held

    def drop(self, sensor_id: SensorId, reason: str) -> None:
        self.ended.append((sensor_id, 0, reason))

    def end_older(self, sensor_id: SensorId, session_no: RowNo, reason: str) -> None:
        self.ended.append((sensor_id, session_no, reason))


async def compared(
    pair: tuple[Process, Process], credential: str, no: int, *, then: Callable[[Process, Process], Any]
) -> Any:
    """What a gateway ends, and what it says again, of a session that it holds, without any hint."""
    one, other = pair
    await one.write(update(tables.sensor).where(tables.sensor.c.id == SENSOR).values(credentials_id="token"))
    one.begins(no)
    await one.presence.round()
    await then(one, other)
    held = Held([(SENSOR, credential, RowNo(no))])
    check = SessionCheck(store=one.store, node=one.node, live=held, presence=one.presence, signals=one.signals)
    await check.compare()
    await one.presence.round()
    return held.ended, (await one.session())[:3] == (True, one.node.id, no)


async def _nothing(*_: Process) -> None:
    """All is as it was."""


async def _elsewhere(_: Process, other: Process) -> None:
    other.begins(9)
    await other.presence.round()


async def _forgotten(one: Process, _: Process) -> None:
    await one.store.write(lambda tx: connections.end_all(tx, reason="a mistake"), locked=True)


async def test_session_that_is_as_the_rows_say_goes_on(pair):
    assert await compared(pair, "token", 5, then=_nothing) == ([], True)


async def test_session_with_another_credential_ends_without_a_hint(pair):
    assert await compared(pair, "former", 5, then=_nothing) == ([(SENSOR, 6, CREDENTIAL_ENDED)], True)


async def test_session_with_a_later_one_elsewhere_ends_without_a_hint(pair):
    assert await compared(pair, "token", 5, then=_elsewhere) == ([(SENSOR, 6, TAKEN_OVER)], False)


async def test_session_that_the_rows_forgot_is_said_again(pair):
    assert await compared(pair, "token", 5, then=_forgotten) == ([], True)


# What a process has acknowledged is true for all


def settled_by(asker: Process, gateway: Process, signals: LocalSignals) -> tuple[Barrier, SessionCheck, Held]:
    """Who asks, and the gateway that answers."""
    held = Held([])
    check = SessionCheck(store=gateway.store, node=gateway.node, live=held, presence=gateway.presence, signals=signals)
    Answering(node=gateway.node, signals=signals, is_behind=lambda: check.is_behind)
    return Barrier(store=asker.store, node=asker.node, signals=signals), check, held


async def test_token_is_ended_once_every_gateway_has_acted_on_the_hint(pair, url, monkeypatch):
    monkeypatch.setattr(barrier, "LOOK_S", 0.2)
    monkeypatch.setattr(barrier, "WITHIN_S", 0.4)

    asker, gateway = pair
    signals = LocalSignals()
    await asker.write(update(tables.node).where(tables.node.c.id == asker.node.id).values(roles="api"))
    everyone, _, held = settled_by(asker, gateway, signals)
    notifications.send(signals, notifications.credential_ended(SENSOR))
    with structlog.testing.capture_logs() as said:
        await everyone.settled(GATEWAYS)
    async with Process(url):  # a gateway that never answers
        with structlog.testing.capture_logs() as said_of_another:
            await everyone.settled(GATEWAYS)

    assert held.ended == [(SENSOR, 0, CREDENTIAL_ENDED)]
    assert [each["event"] for each in said] == []
    assert [each["event"] for each in said_of_another] == ["node.unsettled"]


async def test_gateway_that_lost_hints_answers_once_it_has_compared_its_sessions(pair, monkeypatch):
    monkeypatch.setattr(barrier, "LOOK_S", 0.1)

    asker, gateway = pair
    signals = LocalSignals()
    await asker.write(update(tables.node).where(tables.node.c.id == asker.node.id).values(roles="api"))
    everyone, check, held = settled_by(asker, gateway, signals)
    held.held = [(SENSOR, "former", RowNo(5))]
    signals.notify(observe.SIGNAL_RESYNC)
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(everyone.settled(GATEWAYS))
        done, _ = await asyncio.wait([asking], timeout=0.3)
        await check.compare()

    assert (bool(done), held.ended) == (False, [(SENSOR, 6, CREDENTIAL_ENDED)])


# Messages to devices elsewhere


@dataclass
class Connected:
    """A gateway's devices: who gets what, and the number of the session that each has."""

    delivery: Delivery = Delivery.SENT
    got: list[tuple[str, str, bytes]] = field(default_factory=list)
    session_no: RowNo | None = None

    def session_of(self, sensor_id: SensorId) -> RowNo | None:
        return self.session_no

    async def send(self, sensor_id: SensorId, topic: str, body: bytes) -> Delivery:
        self.got.append((sensor_id, topic, body))
        return self.delivery


def everywhere(process: Process, signals: Any, here: Connected | None = None) -> EveryDevice:
    return EveryDevice(
        here=here, node=process.node, store=process.store, ids=process.ids, signals=signals, clock=lambda: NOW
    )


@pytest.mark.parametrize(
    ("here_no", "elsewhere_no", "goes"),
    [(5, 8, "elsewhere"), (8, 5, "here"), (None, 5, "elsewhere"), (5, None, "here")],
)
async def test_message_goes_to_the_newest_session_also_while_the_older_one_is_still_open_here(
    pair, here_no, elsewhere_no, goes
):
    api, gateway = pair
    signals = LocalSignals()
    if elsewhere_no is not None:
        gateway.begins(elsewhere_no)
        await gateway.presence.round()
    here, elsewhere = Connected(session_no=here_no), Connected()
    deliverer = Deliverer(here=elsewhere, node=gateway.node, store=gateway.store, signals=signals)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(deliverer.run())
        told = await everywhere(api, signals, here).send(SENSOR, "t", b"x")
        running.cancel()

    assert (told, len(here.got), len(elsewhere.got)) == (Delivery.SENT, goes == "here", goes == "elsewhere")


@pytest.mark.parametrize("delivery", Delivery)
async def test_message_to_a_device_elsewhere_is_answered_with_what_became_of_it(pair, delivery):
    api, gateway = pair
    signals = LocalSignals()
    gateway.begins(5)
    await gateway.presence.round()
    devices = Connected(delivery)
    deliverer = Deliverer(here=devices, node=gateway.node, store=gateway.store, signals=signals)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(deliverer.run())
        told = await everywhere(api, signals).send(SENSOR, "t", b"x")
        running.cancel()

    assert (told, devices.got) == (delivery, [(SENSOR, "t", b"x")])


async def test_message_is_sent_and_answered_although_every_hint_is_lost(pair, monkeypatch):
    monkeypatch.setattr(dispatch, "LOOK_S", 0.1)

    api, gateway = pair
    gateway.begins(5)
    await gateway.presence.round()
    devices = Connected()
    deliverer = Deliverer(here=devices, node=gateway.node, store=gateway.store, signals=Quiet())
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(deliverer.run())
        told = await everywhere(api, Quiet()).send(SENSOR, "t", b"x")
        running.cancel()

    assert (told, len(devices.got)) == (Delivery.SENT, 1)


async def test_message_that_no_gateway_takes_is_answered_in_time_and_never_sent(pair, monkeypatch):
    monkeypatch.setattr(dispatch, "LOOK_S", 0.1)
    monkeypatch.setattr(dispatch, "WITHIN_S", 0.5)

    api, gateway = pair
    gateway.begins(5)
    await gateway.presence.round()
    told = await everywhere(api, Quiet()).send(SENSOR, "t", b"x")
    devices = Connected()
    await Deliverer(here=devices, node=gateway.node, store=gateway.store, signals=Quiet()).deliver()

    assert (told, devices.got) == (Delivery.NOT_CONNECTED, [])


async def test_message_whose_time_is_over_is_taken_and_not_sent(pair):
    api, gateway = pair
    gateway.begins(5)
    await gateway.presence.round()
    waiting = sends.Waiting(RowNo(1), api.node.id, SENSOR, "t", b"x", in_time=True)
    await api.store.write(lambda tx: sends.put(tx, waiting, within_ms=0), locked=True)
    devices = Connected()
    deliverer = Deliverer(here=devices, node=gateway.node, store=gateway.store, signals=Quiet())

    assert (await deliverer.deliver(), devices.got, await deliverer.deliver()) == (1, [], 0)


async def test_message_of_one_who_stopped_waiting_is_not_sent(pair):
    api, gateway = pair
    gateway.begins(5)
    await gateway.presence.round()
    try:
        async with asyncio.timeout(0.3):
            await everywhere(api, Quiet()).send(SENSOR, "t", b"x")
    except TimeoutError:
        pass
    devices = Connected()

    assert await Deliverer(here=devices, node=gateway.node, store=gateway.store, signals=Quiet()).deliver() == 0


async def test_message_to_a_device_that_nobody_is_connected_with_is_answered_at_once(pair):
    api, _ = pair

    assert await everywhere(api, Quiet()).send(SENSOR, "t", b"x") is Delivery.NOT_CONNECTED


@pytest.mark.parametrize(
    ("gateways_since_ms", "told_away"),
    [(NOW - 3_600_000, True), (NOW + 1_000, True), (NOW + 1_001, False), (None, False)],
)
async def test_device_is_told_to_be_away_when_it_had_its_time_to_come_back_to_a_gateway(
    pair, gateways_since_ms, told_away
):
    told = select(tables.device_connection.c.told)

    gateway, worker = pair
    await worker.write(update(tables.node).values(roles="worker"))
    gateway.begins(5)
    gateway.ends(5)
    gateway.begins(6)
    await gateway.presence.round()
    gateway.ends(6)
    await gateway.presence.round()
    if gateways_since_ms is not None:
        one = {"slot": 9, "id": "x", "name": "", "roles": "gateway", "seen_ms": rows.NOW_MS}
        await worker.write(insert(tables.node).values(started_ms=gateways_since_ms, **one))
    worker.now_ms = NOW + 31_000
    await worker.presence.round()

    assert (await worker.store.read(lambda tx: tx.all(told)))[0][0] is not told_away


async def test_device_that_went_elsewhere_and_is_lost_there_is_told_to_be_away_by_the_process_that_it_left(pair):
    """Two processes of all roles; the one that the device was with last is gone."""
    told = select(tables.device_connection.c.told)

    one, other = pair
    await one.write(update(tables.node).values(started_ms=NOW))
    one.begins(5)
    await one.presence.round()
    other.begins(8)
    await other.presence.round()
    one.ends(5, TAKEN_OVER)
    other.ends(8)
    await other.presence.round()
    one.now_ms = NOW + 31_000
    await one.presence.round()

    assert (await one.store.read(lambda tx: tx.all(told)))[0][0] is False


def test_periods_leave_time_for_more_than_one_heartbeat_and_look():
    assert nodes.BEAT_S * 1_000 * 4 < DEAD_MS < QUARANTINE_MS / 2
    assert session_check.EVERY_S <= 5
