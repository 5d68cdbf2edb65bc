"""Calls to devices (rpc.md 5 and 7).

Not here: the call that the platform itself makes before it mounts a sensor (`mounting.py`).
"""

from typing import Any, Final

from litestar.types import ASGIApp

from tripline.api import answers, guards, parameters
from tripline.api.operations import operation
from tripline.api.rim import Call, rim_of
from tripline.domain import rpc
from tripline.domain.access import Action, Actor
from tripline.domain.ids import SensorId
from tripline.services.rpc import requests
from tripline.store.transactions import ReadTx
from tripline.wire import rest_rpc
from tripline.wire import rpc as wire


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
    """Have the sensor's device do something, and wait until it acknowledges that it will.

    200 whatever the code in the acknowledgement: it is forwarded, not judged. When the device is not there it is 409 at
    once, when it does not acknowledge within 20 seconds 408. What it reports later is in the record of the call, and
    sent to the customer's server.
    """
    rim = rim_of(request)

    def admitted(tx: ReadTx) -> tuple[Actor, SensorId]:
        actor = guards.permitted_in(tx, request)
        sensor_id = SensorId(parameters.path_id(request, "sensorId"))
        requests.admit(tx, actor=actor, sensor_id=sensor_id)
        return actor, sensor_id

    actor, sensor_id = await rim.store.read_short(admitted)
    content = await parameters.body(request)
    asked = wire.asked(parameters.object_in(content), content)
    answered = await rim.calls.call(actor=actor, sensor_id=sensor_id, asked=asked)
    return answers.ok(rest_rpc.call_answer(answered.call.id, answered.body))


handlers: Final[list[Any]] = [call]
