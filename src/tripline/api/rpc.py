"""Calls to devices (spec/rpc 5 and 7)."""

from litestar.types import ASGIApp

from tripline.domain import rpc
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import RequestId, SensorId
from tripline.domain.rpc import StoredCall
from tripline.http import answers, authentication, pages, parameters, permission, reads
from tripline.http.context import Call, context_of, rpc_of
from tripline.http.operations import operation
from tripline.services import admission
from tripline.services.rpc import requests
from tripline.store.transactions import ReadTx
from tripline.wire import rpc as wire
from tripline.wire.rest import rpc as rest_rpc
from tripline.wire.rest.base import Page


@operation(
    "POST",
    "/api/plugins/rpc/twoway/{sensorId}",
    access=Action.RPC_CALL,
    request=rest_rpc.CallRequest,
    required=("method",),
    answer=rest_rpc.CallAnswer,
    refuses=(rpc.NotConnected, rpc.NotSubscribed, rpc.Congested, rpc.Cancelled, rpc.NoAck, rpc.TooManyCalls),
)
async def call(request: Call) -> ASGIApp:
    """Send a command to the sensor's device, and wait until the device acknowledges it.

    200 whatever the code in the acknowledgement: it is forwarded, not interpreted. 409 at once when the device is not
    connected, 408 when it does not acknowledge within 20 seconds. Its later report is added to the record of the call,
    and sent to the customer's server.
    """
    actor, sensor_id = await context_of(request).store.read_short(lambda tx: _admitted(tx, request), consistent=False)
    content = await parameters.body(request)
    asked = wire.asked(parameters.object_in(content), content)

    def still_admitted(tx: ReadTx) -> None:
        """Check again after waiting: the account, delegation or right may have ended meanwhile."""
        authentication.require_still_in(tx, request)
        admission.admit(tx, actor, Action.RPC_CALL, Thing.SENSOR, sensor_id)

    answered = await rpc_of(request).calls.call(actor=actor, sensor_id=sensor_id, asked=asked, admit=still_admitted)
    return answers.ok(
        await answers.made(lambda: rest_rpc.call_answer(answered.call.id, answered.body), of=[answered.body])
    )


@operation("GET", "/api/tre/v1/sensor/{sensorId}/rpcs", access=Action.RPC_READ, answer=pages.timed(rest_rpc.CallRecord))
async def list_calls(request: Call) -> ASGIApp:
    """Calls to the sensor's device and their answers, newest first by default.

    The list has the calls of the caller's own sensors, and those made while the sensor was on a vehicle that the caller
    may see, also from before the caller could see it. A page of very long calls is shorter than requested; `hasNext`
    shows if more follow.
    """

    def work(tx: ReadTx) -> Page:
        actor, sensor_id = _admitted(tx, request)
        return reads.by_time(
            request,
            lambda span: requests.of_sensor(tx, actor=actor, sensor_id=sensor_id, span=span),
            record=rest_rpc.call_record,
            id_of=lambda stored: stored.id,
            weight=lambda stored: len(stored.params) + len(stored.response or b"") + len(stored.result or b""),
        )

    return answers.ok(await reads.page(request, work, laborious=True))


@operation("GET", "/api/tre/v1/sensor/{sensorId}/rpc/latest", access=Action.RPC_READ, answer=rest_rpc.CallRecord)
async def read_latest(request: Call) -> ASGIApp:
    """The newest call to the sensor's device."""

    def work(tx: ReadTx) -> StoredCall:
        actor, sensor_id = _admitted(tx, request)
        return requests.latest(tx, actor=actor, sensor_id=sensor_id)

    return answers.ok(await _record(await context_of(request).store.read_short(work)))


@operation("GET", "/api/tre/v1/sensor/{sensorId}/rpc/{requestId}", access=Action.RPC_READ, answer=rest_rpc.CallRecord)
async def read(request: Call) -> ASGIApp:
    """A call to the sensor's device."""

    def work(tx: ReadTx) -> StoredCall:
        actor = permission.permitted_in(tx, request)
        sensor_id = parameters.sensor_id(request)
        request_id = RequestId(parameters.path_id(request, "requestId"))
        admission.admit(tx, actor, Action.RPC_READ, Thing.SENSOR, sensor_id)
        return requests.read(tx, actor=actor, sensor_id=sensor_id, request_id=request_id)

    return answers.ok(await _record(await context_of(request).store.read_short(work)))


async def _record(call: StoredCall) -> rest_rpc.CallRecord:
    return await answers.made(lambda: rest_rpc.call_record(call), of=[call.response, call.result])


def _admitted(tx: ReadTx, request: Call) -> tuple[Actor, SensorId]:
    """The caller, and the sensor."""
    return permission.admitted_in(tx, request, Thing.SENSOR, parameters.sensor_id)
