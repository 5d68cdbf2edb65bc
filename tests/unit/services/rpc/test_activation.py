"""The progress of an activation, and mounting that does not wait for the device."""

import pytest
from tests.support import delegating, ingest_rig, rest
from tests.support.refused import refused

from tripline import config
from tripline.domain import rpc
from tripline.domain.activations import Step
from tripline.domain.ids import SensorId, VehicleId
from tripline.domain.refusals import Forbidden, NotFound
from tripline.ports.devices import Delivery
from tripline.services import notifications
from tripline.services.rpc import activation, answers
from tripline.services.rpc.calls import MARGIN_MS, Overdue
from tripline.wire.readings import RpcAnswer


class Box:
    """Implements `ports.devices.Devices`: takes every request, and says something when the test wants it to."""

    def __init__(self, delivery=Delivery.SENT):
        self.delivery = delivery
        self.asked = []

    async def send(self, sensor_id, topic, body):
        """Take it."""
        self.asked.append((sensor_id, topic.rpartition("/")[2]))
        return self.delivery

    async def says(self, app, body, *, is_result):
        """What the device answers to the latest request."""
        sensor_id, request_id = self.asked[-1]
        said = RpcAnswer(is_result=is_result, request_id=request_id, body=body)
        taken = await app.store.write(
            lambda tx: answers.take_in(
                tx, [ingest_rig.answered(sensor_id, said, app.now_ms, "t")], ids=app.ids, now_ms=app.now_ms
            )
        )
        notifications.send(app.signals, taken.notifications)


@pytest.fixture
async def vehicle(app, of):
    return VehicleId(await delegating.new_vehicle(app, of.owner))


@pytest.fixture
async def sensor(app, of, vehicle):
    """One that needs activation."""
    return SensorId(await delegating.new_sensor(app, of.owner, type="OBD", activationRequired=True))


async def start(app, login, sensor, vehicle):
    _, call = await app.contexts.rpc.mounter.start(actor=login.actor, sensor_id=sensor, vehicle_id=vehicle)
    assert call is not None
    return call


async def progress(app, login, sensor, call):
    return await app.store.read(lambda tx: activation.read(tx, actor=login.actor, sensor_id=sensor, request_id=call.id))


async def awaited(app, login, sensor):
    return await app.store.read(lambda tx: activation.awaited(tx, actor=login.actor, sensor_id=sensor))


@pytest.fixture
def box():
    return Box()


@pytest.fixture
async def app(tmp_path, box):
    async with rest.opened(tmp_path, devices=box) as made:
        yield made


async def test_activation_goes_from_requested_over_acknowledged_to_done_and_mounted(app, of, sensor, vehicle, box):
    call = await start(app, of.owner, sensor, vehicle)
    found = [await progress(app, of.owner, sensor, call), await awaited(app, of.owner, sensor)]
    await box.says(app, b'{"result":2000}', is_result=False)
    found.append(await progress(app, of.owner, sensor, call))
    await box.says(app, b'{"result":2001,"addInfo":{"fw":"1.2"}}', is_result=True)
    found += [await progress(app, of.owner, sensor, call), await awaited(app, of.owner, sensor)]
    (asked, waits, acknowledged, done, nothing) = found

    assert [each.step for each in (asked, acknowledged, done)] == [Step.REQUESTED, Step.ACKNOWLEDGED, Step.DONE]
    assert [each.is_over for each in (asked, acknowledged, done)] == [False, False, True]
    assert [each.is_mounted for each in (asked, acknowledged, done)] == [False, False, True]
    assert (waits, nothing) == (call.id, None)
    assert (done.vehicle_id, done.vehicle_no, done.code, done.info) == (vehicle, "12가3456", 2001, '{"fw":"1.2"}')
    assert (asked.asked_ms, asked.acknowledged_ms, asked.ended_ms) == (rest.NOW_MS, None, None)
    assert (done.acknowledged_ms, done.ended_ms) == (rest.NOW_MS, rest.NOW_MS)


@pytest.mark.parametrize("is_result", [False, True])
async def test_device_that_refuses_is_shown_with_its_code_and_reason(app, of, sensor, vehicle, box, is_result):
    call = await start(app, of.owner, sensor, vehicle)
    await box.says(app, b'{"results":4003,"additionalInfo":"ignition is off"}', is_result=is_result)
    found = await progress(app, of.owner, sensor, call)

    assert (found.step, found.is_over, found.is_mounted) == (Step.REFUSED, True, False)
    assert (found.code, found.info) == (4003, "ignition is off")


async def test_device_that_is_not_there_is_refused_at_once_and_shown_so(app, of, sensor, vehicle, box):
    box.delivery = Delivery.NOT_CONNECTED
    with refused(rpc.NotConnected, match="not connected"):
        await start(app, of.owner, sensor, vehicle)
    request_id = box.asked[0][1]
    found = await app.store.read(
        lambda tx: activation.read(tx, actor=of.owner.actor, sensor_id=sensor, request_id=request_id)
    )

    assert (found.step, found.is_over) == (Step.UNDELIVERED, True)


async def test_device_that_says_nothing_is_silent_after_its_time_and_may_still_succeed(app, of, sensor, vehicle, box):
    call = await start(app, of.owner, sensor, vehicle)
    app.now_ms += 20_000 + MARGIN_MS + 1
    overdue = Overdue(
        store=app.store, settings=config.Rpc(), ids=app.ids, signals=app.signals, clock=lambda: app.now_ms
    )
    await overdue.sweep()
    silent = await progress(app, of.owner, sensor, call)
    await box.says(app, b'{"result":2000}', is_result=True)
    done = await progress(app, of.owner, sensor, call)

    assert (silent.step, silent.is_over) == (Step.SILENT, False)
    assert (done.step, done.is_mounted) == (Step.DONE, True)


async def test_later_request_takes_the_place_of_the_one_before_and_taking_off_cancels(app, of, sensor, vehicle):
    first = await start(app, of.owner, sensor, vehicle)
    second = await start(app, of.owner, sensor, vehicle)
    steps = [(await progress(app, of.owner, sensor, call)).step for call in (first, second)]
    await app.delete(of.owner, f"/sensor/{sensor}/vehicle/{vehicle}")

    assert [*steps, (await progress(app, of.owner, sensor, second)).step] == [
        Step.SUPERSEDED,
        Step.REQUESTED,
        Step.CANCELLED,
    ]


async def test_sensor_without_need_of_activation_is_mounted_at_once(app, of, sensor, vehicle, box):
    sensor = await delegating.new_sensor(app, of.owner, "T")
    mounted, call = await app.contexts.rpc.mounter.start(actor=of.owner.actor, sensor_id=sensor, vehicle_id=vehicle)

    assert (mounted.vehicle_id == vehicle, call, box.asked) == (True, None, [])


async def test_activation_is_for_who_may_read_calls_of_the_sensor(app, of, sensor, vehicle):
    call = await start(app, of.owner, sensor, vehicle)
    for login in (of.borrower, of.other, await delegating.driver(app, of.owner, "driver")):
        with pytest.raises(Forbidden):
            await progress(app, login, sensor, call)
        with pytest.raises(Forbidden):
            await awaited(app, login, sensor)
        with pytest.raises(Forbidden):
            await start(app, login, sensor, vehicle)

    assert (await progress(app, of.operator, sensor, call)).step is Step.REQUESTED


async def test_other_calls_are_no_activations(app, of, sensor, box):
    box.delivery = Delivery.NOT_CONNECTED
    await app.call(of.owner, "POST", f"/api/plugins/rpc/twoway/{sensor}", {"method": "reset", "timeout": 1000})
    request_id = (await app.get(of.owner, f"/sensor/{sensor}/rpc/latest"))["id"]["id"]
    with pytest.raises(NotFound):
        await app.store.read(
            lambda tx: activation.read(tx, actor=of.owner.actor, sensor_id=sensor, request_id=request_id)
        )
