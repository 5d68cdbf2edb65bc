"""Making calls: what is kept before anything is sent, whoever waits, and how waiting ends."""

import asyncio
import contextlib
import threading
from dataclasses import dataclass, field

import pytest
from sqlalchemy import insert, update
from tests.support import ingest_rig
from tests.support.ingest_rig import COMPANY, DRIVER, NOW, SENSOR, UNMAPPED, VEHICLE, LocalSignals, seeded
from tests.support.stores import filled

from tripline import config, observe
from tripline.domain import rpc
from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, RequestId, SensorId, TimeIds, UserId, VehicleId
from tripline.domain.refusals import Forbidden, NotFound
from tripline.ports.devices import Delivery
from tripline.ports.outages import Outage
from tripline.services import notifications
from tripline.services.rpc import answers, calls, group_commit, requests
from tripline.services.rpc.calls import BATCH, MARGIN_MS, Calls, Overdue
from tripline.services.rpc.group_commit import Gathering
from tripline.store import tables
from tripline.store.lists import Span, UnknownOffset
from tripline.store.rpc import calls as rpc_calls
from tripline.wire.readings import RpcAnswer
from tripline.wire.rpc import CallRequest

ADMIN = Actor(UserId("00000000-0000-11ef-8000-0000000000ff"), Authority.COMPANY_ADMIN, CompanyId(COMPANY))
STRANGER = Actor(UserId("00000000-0000-11ef-8000-0000000000fe"), Authority.COMPANY_ADMIN, CompanyId(DRIVER))
WAIT_S = 10
ASKED = CallRequest("reset", b"{}", b'{"method":"reset","params":{}}', 20_000)


@dataclass
class Scripted:
    """Implements `ports.devices.Devices`: notes what is sent, and answers as told."""

    delivery: Delivery = Delivery.SENT
    sent: list[tuple[SensorId, str, bytes]] = field(default_factory=list)
    then: object = None
    """Awaited with the Request-ID of each message."""

    async def send(self, sensor_id: SensorId, topic: str, body: bytes) -> Delivery:
        self.sent.append((sensor_id, topic, body))
        if self.then is not None:
            await self.then(RequestId(topic.rpartition("/")[2]))
        return self.delivery


class Bench:
    """Calls over a store of their own, on a clock that stands still."""

    def __init__(self, database, **settings) -> None:
        self.now_ms = NOW
        self.store = database.open()
        self.signals = LocalSignals()
        self.ids = TimeIds(node=1)
        self.devices = Scripted()
        self.settings = config.Rpc(**settings)
        parts = {"store": self.store, "settings": self.settings, "ids": self.ids, "signals": self.signals}
        self.calls = Calls(devices=self.devices, clock=lambda: self.now_ms, **parts)
        self.overdue = Overdue(clock=lambda: self.now_ms, **parts)

    async def call(self, *, actor=ADMIN, sensor_id=SENSOR, asked=ASKED):
        async with asyncio.timeout(WAIT_S):
            return await self.calls.call(actor=actor, sensor_id=sensor_id, asked=asked)

    async def answer(self, request_id, body, *, is_result=False, hint=True):
        """What the pipeline does with a device's answer; without the hint, as another process would."""
        said = RpcAnswer(is_result=is_result, request_id=request_id, body=body)
        taken = await self.store.write(
            lambda tx: answers.take_in(
                tx, [ingest_rig.answered(SENSOR, said, self.now_ms)], ids=self.ids, now_ms=self.now_ms
            )
        )
        if hint:
            notifications.send(self.signals, taken.notifications)

    async def states(self):
        statement = tables.rpc_call.select().order_by(tables.rpc_call.c.no)
        return [(row.state, row.result_code) for row in await self.store.read(lambda tx: tx.all(statement))]


@pytest.fixture(scope="module")
def template():
    return seeded()


@contextlib.asynccontextmanager
async def opened(folder, template, **settings):
    """A bench; `settings` are those of `config.Rpc`."""
    made = Bench(filled(folder, template), **settings)
    try:
        yield made
    finally:
        await made.store.close()


@pytest.fixture
async def bench(tmp_path, template):
    async with opened(tmp_path, template) as made:
        yield made


async def test_call_is_committed_before_it_is_sent(bench):
    seen = []

    async def look(request_id):
        seen.append(await bench.store.read(lambda tx: rpc_calls.find(tx, request_id).state))
        await bench.answer(request_id, b'{"result":2000}')

    bench.devices.then = look
    answered = await bench.call()

    assert seen == [rpc.State.REQUESTED]
    assert (answered.body, answered.is_result) == (b'{"result":2000}', False)
    assert bench.devices.sent == [(SENSOR, f"v1/sensors/me/rpc/request/{answered.call.id}", ASKED.message)]


async def test_call_is_answered_though_the_hint_was_lost(bench, monkeypatch):
    monkeypatch.setattr(calls, "LOOK_S", 0.05)

    bench.devices.then = lambda request_id: bench.answer(request_id, b"{}", hint=False)

    assert (await bench.call()).body == b"{}"


@pytest.mark.parametrize(
    ("delivery", "refusal"),
    [
        (Delivery.NOT_CONNECTED, rpc.NotConnected),
        (Delivery.NOT_SUBSCRIBED, rpc.NotSubscribed),
        (Delivery.CONGESTED, rpc.Congested),
    ],
)
async def test_call_that_cannot_be_delivered_is_refused_at_once_and_recorded(bench, delivery, refusal):
    bench.devices.delivery = delivery
    with pytest.raises(refusal):
        await bench.call()

    assert await bench.states() == [("FAILED", 5002)]


async def test_call_without_acknowledgement_times_out_and_is_recorded(tmp_path, template):
    async with opened(tmp_path, template, ack_s=0.05) as bench:
        with pytest.raises(rpc.NoAck):
            await bench.call()
        found = await bench.states()

    assert found == [("TIMEOUT", 5001)]


async def test_answer_that_came_in_the_last_moment_stands(tmp_path, template, monkeypatch):
    async with opened(tmp_path, template, ack_s=0.05) as bench:
        await_end = bench.calls._end

        async def late(call, event):
            await bench.answer(call.id, b'{"result":2001}', hint=False)
            return await await_end(call, event)

        monkeypatch.setattr(bench.calls, "_end", late)
        found = (await bench.call()).body, await bench.states()

    assert found == (b'{"result":2001}', [("ACKED", None)])


async def test_call_that_is_ended_by_a_deletion_is_refused(bench):
    async def cancel(request_id):
        call = await bench.store.read(lambda tx: rpc_calls.find(tx, request_id))
        told = await bench.store.write(
            lambda tx: requests.end_all(tx, [call], event=rpc.CallEvent.CANCEL, ids=bench.ids, now_ms=NOW)
        )
        notifications.send(bench.signals, told)

    bench.devices.then = cancel
    with pytest.raises(rpc.Cancelled):
        await bench.call()

    assert await bench.states() == [("FAILED", 5003)]


async def test_caller_without_permission_leaves_nothing_behind(bench):
    with pytest.raises(Forbidden):
        await bench.call(actor=STRANGER)
    with pytest.raises(NotFound):
        await bench.call(sensor_id=SensorId(VEHICLE))

    assert (await bench.states(), bench.devices.sent) == ([], [])


@pytest.mark.parametrize(("limit", "name"), [(3, "WAITING"), (2, "WAITING_OF_SENSOR"), (3, "WAITING_OF_COMPANY")])
async def test_more_calls_than_are_waited_for_are_refused(bench, monkeypatch, limit, name):
    monkeypatch.setattr(calls, name, limit)

    came = asyncio.Event()

    async def hold(request_id):
        if len(bench.devices.sent) == limit:
            came.set()

    bench.devices.then = hold
    async with asyncio.TaskGroup() as group:
        held = [group.create_task(bench.call()) for _ in range(limit)]
        await came.wait()
        with pytest.raises(rpc.TooManyCalls):
            await bench.call()
        for _, topic, _ in list(bench.devices.sent):
            await bench.answer(topic.rpartition("/")[2], b"{}")
    bench.devices.then = lambda request_id: bench.answer(request_id, b"{}")
    again = await bench.call()

    assert ([task.result().body for task in held], again.body) == ([b"{}"] * limit, b"{}")


async def test_company_with_many_silent_devices_leaves_room_for_others(bench, monkeypatch):
    monkeypatch.setattr(calls, "WAITING_OF_COMPANY", 1)

    sent = asyncio.Event()

    async def note(_):
        sent.set()

    bench.devices.then = note
    async with asyncio.TaskGroup() as group:
        held = group.create_task(bench.call())
        await sent.wait()
        with pytest.raises(rpc.TooManyCalls):
            await bench.call()
        with pytest.raises(Forbidden):
            await bench.call(actor=STRANGER)
        await bench.answer(bench.devices.sent[0][1].rpartition("/")[2], b"{}")

    assert (held.result().body, bench.calls._of_company, bench.calls._of_sensor) == (b"{}", {}, {})


async def test_caller_that_goes_away_leaves_no_place_taken(bench, monkeypatch):
    monkeypatch.setattr(calls, "WAITING_OF_SENSOR", 1)

    sent = asyncio.Event()

    async def note(_):
        sent.set()

    bench.devices.then = note
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.call())
        await sent.wait()
        task.cancel()
    bench.devices.then = lambda request_id: bench.answer(request_id, b"{}")
    body = (await bench.call()).body
    waiting = bench.calls._waiting
    places = bench.calls._of_sensor | bench.calls._of_company
    states = await bench.states()

    assert (body, waiting, places) == (b"{}", {}, {})
    assert states == [("REQUESTED", None), ("ACKED", None)]


async def test_stop_lets_nobody_wait(bench):
    async def stop(_):
        bench.calls.stop()

    bench.devices.then = stop
    with pytest.raises(Outage):
        await bench.call()
    with pytest.raises(Outage):
        await bench.call()

    assert await bench.states() == [("REQUESTED", None)]


async def test_call_whose_process_died_ends_after_its_time(bench):
    call = await bench.store.write(
        lambda tx: requests.begin(
            tx, actor=ADMIN, sensor_id=SENSOR, asked=ASKED, ack_ms=1_000, ids=bench.ids, now_ms=NOW
        )
    )
    found = []
    for later_ms in (1_000 + MARGIN_MS, 1_001 + MARGIN_MS):
        bench.now_ms = NOW + later_ms
        found.append((await bench.overdue.sweep(), await bench.states()))

    assert found == [(0, [("REQUESTED", None)]), (1, [("TIMEOUT", 5001)])]
    assert (observe.SIGNAL_RPC_ANSWERED, call.id) in bench.signals.told


async def test_old_calls_go_in_small_steps_and_awaited_activations_stay(tmp_path, template):
    async with opened(tmp_path, template, kept_days=1) as bench:
        await bench.store.write(lambda tx: _many_calls(tx, bench, BATCH + 1))
        bench.now_ms = NOW + 86_400_000 - 1
        steps = [await bench.overdue.sweep()]
        bench.now_ms += 2
        while steps[-1] or len(steps) == 1:
            steps.append(await bench.overdue.sweep())
        found = steps, await bench.states()

    assert found == ([0, BATCH, 1, 0], [("ACKED", None)])


def _many_calls(tx, bench, count):
    for _ in range(count + 1):
        call = requests.begin(tx, actor=ADMIN, sensor_id=SENSOR, asked=ASKED, ack_ms=1, ids=bench.ids, now_ms=NOW)
        rpc_calls.add_later_result(tx, bench.ids, call.no, call.no, None, b"")
    tx.run(update(tables.rpc_call).values(state="ACKED"))
    waits = {"sensor_id": SENSOR, "call_id": call.id, "vehicle_id": VEHICLE, "created_ms": NOW}
    tx.run(insert(tables.activation).values(waits))


async def test_records_are_pages_by_time_of_what_was_in_reach(bench):
    def work(tx):
        made = []
        for n, on in enumerate((VEHICLE, None, VEHICLE)):
            tx.run(update(tables.sensor).where(tables.sensor.c.id == SENSOR).values(vehicle_id=on))
            asked = {"sensor_id": SENSOR, "asked": ASKED, "ack_ms": 1, "ids": bench.ids, "now_ms": NOW + n}
            made.append(requests.begin(tx, actor=ADMIN, **asked).id)
        director = Actor(UserId(DRIVER), Authority.DIRECTOR, CompanyId(COMPANY))
        tx.run(update(tables.vehicle).where(tables.vehicle.c.id == VEHICLE).values(director_id=DRIVER))

        def page(actor, **span):
            found = requests.of_sensor(tx, actor=actor, sensor_id=SENSOR, span=Span(**span))
            return [made.index(each.id) for each in found]

        with pytest.raises(UnknownOffset):
            page(director, limit=5, after=made[1])
        with pytest.raises(Forbidden):
            requests.read(tx, actor=director, sensor_id=SENSOR, request_id=made[1])
        with pytest.raises(NotFound):
            requests.read(tx, actor=director, sensor_id=UNMAPPED, request_id=made[0])
        with pytest.raises(NotFound):
            requests.latest(tx, actor=ADMIN, sensor_id=UNMAPPED)
        assert page(ADMIN, limit=5) == [2, 1, 0]
        assert page(ADMIN, limit=1, after=made[2]) == [1]
        assert page(ADMIN, limit=5, ascending=True, after=made[0]) == [1, 2]
        assert page(ADMIN, limit=5, start_ms=NOW + 1, end_ms=NOW + 1) == [1]
        assert page(director, limit=5) == [2, 0]
        assert made.index(requests.latest(tx, actor=director, sensor_id=SENSOR).id) == 2
        assert requests.read(tx, actor=ADMIN, sensor_id=SENSOR, request_id=made[0]).vehicle_id == VehicleId(VEHICLE)

    await bench.store.write(work)


async def test_gathered_writes_share_a_transaction_and_refusals_are_each_ones_own(bench):
    store = bench.store
    commits = 0

    class Counting:
        async def write(self, work, **how):
            nonlocal commits
            commits += 1
            return await store.write(work, **how)

    gathering_ = Gathering(Counting())

    def refuse(_):
        raise NotFound("no")

    async with asyncio.TaskGroup() as group:
        works = [group.create_task(gathering_.write(lambda tx, n=n: n)) for n in range(20)]
        refused = group.create_task(_refused(gathering_.write(refuse)))

    assert ([task.result() for task in works], refused.result()) == (list(range(20)), True)
    assert commits == 2  # the first does not wait for company


async def test_work_that_breaks_a_gathered_write_spoils_no_other(bench):
    gathering_ = Gathering(bench.store)

    def broken(tx):
        tx.run(insert(tables.rpc_call).values(no=1))

    async with asyncio.TaskGroup() as group:
        good = group.create_task(gathering_.write(lambda tx: "kept"))
        bad = group.create_task(_raised(gathering_.write(broken)))
        also_good = group.create_task(gathering_.write(lambda tx: "kept too"))

    assert (good.result(), bad.result(), also_good.result()) == ("kept", "IntegrityError", "kept too")


async def test_more_writes_than_fit_go_in_several_transactions(bench, monkeypatch):
    monkeypatch.setattr(group_commit, "MOST", 2)

    gathering_ = Gathering(bench.store)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(gathering_.write(lambda tx, n=n: n)) for n in range(7)]

    assert [task.result() for task in tasks] == list(range(7))


async def test_one_who_hangs_up_while_he_writes_for_others_takes_nobody_along(bench):
    gathering_ = Gathering(bench.store)
    slow, slower = _Slow(), _Slow()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(gathering_.write(slow))
        await slow.begun()
        leader = group.create_task(gathering_.write(slower))
        other = group.create_task(gathering_.write(lambda tx: "kept too"))
        await asyncio.sleep(0)
        slow.go_on()
        await slower.begun()
        leader.cancel()
        await asyncio.sleep(0)
        slower.go_on()

    assert (first.result(), leader.cancelled(), other.result()) == ("kept", True, "kept too")


async def test_one_who_hangs_up_before_his_turn_leaves_nothing_to_be_done(bench):
    gathering_ = Gathering(bench.store)
    slow, done = _Slow(), []
    async with asyncio.TaskGroup() as group:
        group.create_task(gathering_.write(slow))
        await slow.begun()
        gone = group.create_task(gathering_.write(lambda tx: done.append("gone")))
        group.create_task(gathering_.write(lambda tx: done.append("stays")))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        slow.go_on()

    assert done == ["stays"]


class _Slow:
    """A work that takes until it is told to go on."""

    def __init__(self):
        self._begun, self._go_on = threading.Event(), threading.Event()

    def __call__(self, tx):
        self._begun.set()
        assert self._go_on.wait(WAIT_S)
        return "kept"

    async def begun(self):
        assert await asyncio.to_thread(self._begun.wait, WAIT_S)

    def go_on(self):
        self._go_on.set()


async def _refused(write):
    try:
        await write
    except NotFound:
        return True
    return False


async def _raised(write):
    try:
        await write
    except Exception as error:
        return type(error).__name__
    return None
