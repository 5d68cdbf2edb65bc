"""Store devices' answers to calls, within the transaction of their batch (spec/rpc 4 and 8).

Answers are processed in order of receipt, on calls loaded by one query, and written in a few statements.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tripline.domain import ids as time_ids
from tripline.domain import rpc
from tripline.domain.access import Scope
from tripline.domain.ids import RequestId, SensorId, TimeIds, VehicleId
from tripline.domain.rpc import Call
from tripline.services import notifications
from tripline.services.device_frames import Answered, Refusal
from tripline.services.notifications import Notification
from tripline.services.push.notices import Post
from tripline.services.rpc import activation
from tripline.store.devices import latest_values
from tripline.store.rpc import calls as rpc_calls
from tripline.store.transactions import WriteTx
from tripline.store.trips import batch_rows
from tripline.wire import rpc as wire
from tripline.wire.readings import Rejected

UNKNOWN_CALL = "unknown_call"
"""Reason in the rejected-message log for an answer that matches no call of its sensor (R1, R2)."""
LATER_RESULTS: Final = 16
"""Most results of one call stored beside the first one; a box that repeats itself forever fills nothing."""
_SCOPE: Final = Scope.everything("take in what devices answer")


class Taken(msgspec.Struct):
    """Effects of a batch's answers."""

    notifications: list[Notification] = msgspec.field(default_factory=list)
    """Notifications for after the commit."""
    mounted: list[SensorId] = msgspec.field(default_factory=list)
    """Sensors mounted by results: drop their tracks."""
    refused: list[Refusal] = msgspec.field(default_factory=list)
    """Answers that match no call."""


def take_in(tx: WriteTx, answers: Sequence[Answered], *, ids: TimeIds, now_ms: int) -> Taken:
    """Store every answer with its call, in order of receipt."""
    batch = _Batch(tx, answers, ids, now_ms)
    taken = Taken()
    for answered in answers:
        if not batch.take(answered):
            unknown = Rejected(
                reason=UNKNOWN_CALL, detail="No call of this device has the Request-ID.", body=answered.said.body
            )
            taken.refused.append(Refusal(answered.frame, unknown))
    taken.notifications = batch.write()
    taken.mounted = batch.mounted
    return taken


class _Batch:
    """The calls that a batch answers, and their changes so far."""

    def __init__(self, tx: WriteTx, answers: Sequence[Answered], ids: TimeIds, now_ms: int) -> None:
        self._tx = tx
        self._ids = ids
        self._now_ms = now_ms
        known = {time_ids.canonical(answered.said.request_id) for answered in answers}
        found = rpc_calls.of_requests(tx, _SCOPE, {RequestId(each) for each in known if each is not None})
        self._calls: dict[RequestId, Call] = {request_id: call for request_id, (call, _) in found.items()}
        self._mounted_on: dict[SensorId, VehicleId | None] = {
            call.sensor_id: mounted_on for call, mounted_on in found.values()
        }
        self._acknowledged: list[tuple[Call, bytes]] = []
        self._concluded: dict[RequestId, tuple[Call, bytes]] = {}
        self._attributes: dict[SensorId, tuple[int, bytes]] = {}
        self._post = Post(tx)
        self._notifications: list[Notification] = []
        self.mounted: list[SensorId] = []

    def take(self, answered: Answered) -> bool:
        """Process one answer; true if a call of the sensor has its Request-ID (R1, R2)."""
        frame, said = answered.frame, answered.said
        call = self._calls.get(RequestId(said.request_id.lower()))
        if call is None or call.sensor_id != frame.source.sensor_id:
            return False
        if said.is_result:
            self._result(call, said.body, frame.received_ms)
        else:
            self._acknowledgement(call, said.body, frame.received_ms)
        return True

    def write(self) -> list[Notification]:
        """Write the decisions; return the notifications for after the commit."""
        tx = self._tx
        rpc_calls.acknowledge(tx, self._acknowledged)
        rpc_calls.conclude(tx, self._concluded.values())
        values: list[Any] = []
        for sensor_id, (at_ms, text) in self._attributes.items():
            values += (sensor_id, latest_values.RPC_RESULT, at_ms, text)
        batch_rows.ATTRIBUTES.insert(tx, values)
        return [*self._notifications, *self._post.send(ids=self._ids, now_ms=self._now_ms)]

    def _acknowledgement(self, call: Call, body: bytes, at_ms: int) -> None:
        if call.response_ms is not None:
            return  # R3, without reading it: it may be long, and come again and again
        after = rpc.acknowledged(call, code=wire.said(body).code, at_ms=at_ms)
        assert after is not None
        self._calls[call.id] = after
        self._acknowledged.append((after, body))
        if after.activation:
            activation.acknowledged(self._tx, after)
        self._notifications += notifications.rpc_answered([call.id])

    def _result(self, call: Call, body: bytes, at_ms: int) -> None:
        if call.result_code is not None and call.result_ms is not None and self._is_told_enough(call):
            return  # without reading it, as above
        said = wire.said(body)
        after = rpc.concluded(call, code=said.code, at_ms=at_ms)
        if after is None:
            self._later_result(call, body, said, at_ms)
            return
        replaced = self._concluded.get(call.id)
        if replaced is None and call.result_ms is not None:
            former = rpc_calls.result_bodies(self._tx, call.no)[0]
            self._keep_later(call, former, None)
        elif replaced is not None:
            self._keep_later(call, replaced[1], None)
        self._calls[call.id] = after
        self._concluded[call.id] = (after, body)
        if after.activation and activation.concluded(self._tx, after, ids=self._ids, now_ms=self._now_ms):
            self._mounted_on[after.sensor_id] = after.vehicle_id
            self.mounted.append(after.sensor_id)
            self._notifications += notifications.sensors_changed([after.sensor_id])
        self._tell(after, body, said, at_ms)
        self._notifications += notifications.rpc_answered([call.id])

    def _later_result(self, call: Call, body: bytes, said: wire.Said, at_ms: int) -> None:
        """R4: store a later result as history; push it only if its body is new."""
        if self._is_told_enough(call):
            return
        former = rpc_calls.result_bodies(self._tx, call.no)
        if call.id in self._concluded:
            former = [self._concluded[call.id][1], *former]
        self._keep_later(call, body, said.code)
        if body not in former:
            self._tell(call, body, said, at_ms)

    def _is_told_enough(self, call: Call) -> bool:
        return rpc_calls.later_results(self._tx, call.no) >= LATER_RESULTS

    def _keep_later(self, call: Call, body: bytes, code: int | None) -> None:
        no = self._ids.take(1, now_ms=self._now_ms)
        rpc_calls.add_later_result(self._tx, self._ids, no, call.no, code, body)

    def _tell(self, call: Call, body: bytes, said: wire.Said, at_ms: int) -> None:
        """Update the sensor's latest values with a result (spec/push 4.3), and push it."""
        mounted_on = self._mounted_on[call.sensor_id]
        if call.vehicle_id == mounted_on or call.activation:
            # A box's data about its former vehicle must not appear under another vehicle.
            self._attributes[call.sensor_id] = (at_ms, said.text)
        self._post.tell(call, mounted_on, at_ms=at_ms, text=said.text, body=body)
