"""The row of a call: stored before anything is sent to the device, and ended if the device does not answer;
calls and answers as they are read (spec/rpc 7).

A call is committed before it is sent to the device (docs/decisions/560), so that an answer always finds it.
"""

from collections.abc import Sequence

from tripline.domain import access, rpc
from tripline.domain.access import Action, Actor
from tripline.domain.ids import CompanyId, RequestId, SensorId, TimeIds, UserId, VehicleId
from tripline.domain.refusals import NotFound
from tripline.domain.rpc import Call, CallEvent, State, StoredCall
from tripline.services import notifications
from tripline.services.notifications import Notification
from tripline.services.push.notices import Post
from tripline.store.lists import Span
from tripline.store.rpc import activations as rpc_activations
from tripline.store.rpc import calls as rpc_calls
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.rpc import CallRequest


def begin(
    tx: WriteTx, *, actor: Actor, sensor_id: SensorId, asked: CallRequest, ack_ms: int, ids: TimeIds, now_ms: int
) -> Call:
    """Store a call before it is sent. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.RPC_CALL)
    placed = access.admitted(rpc_calls.owner_and_vehicle_inside(tx, scope, sensor_id), access.Thing.SENSOR)
    return insert(
        tx,
        sensor_id=sensor_id,
        placed=placed,
        user_id=actor.user_id,
        method=asked.method,
        params=asked.params,
        ack_ms=ack_ms,
        ids=ids,
        now_ms=now_ms,
    )


def insert(
    tx: WriteTx,
    *,
    sensor_id: SensorId,
    user_id: UserId,
    method: str,
    params: bytes,
    ack_ms: int,
    ids: TimeIds,
    now_ms: int,
    placed: tuple[CompanyId, VehicleId | None] | None = None,
    activation_on: VehicleId | None = None,
) -> Call:
    """Store a call to an existing sensor; for an activation, with its vehicle.

    `placed`: the sensor's owner and vehicle, if loaded.
    """
    placed = placed or rpc_calls.owner_and_vehicle(tx, sensor_id)
    if placed is None:
        raise NotFound("id", thing=access.Thing.SENSOR)
    company_id, mounted_on = placed
    if not tx.shared:
        # Another program on this file, or this one before its clock was set back, may be ahead of our numbers. On a
        # shared database every process has numbers of its own.
        ids.skip_to(rpc_calls.newest_no(tx))
    no = ids.take(1, now_ms=now_ms)
    call = Call(
        no=no,
        id=RequestId(ids.text(no)),
        sensor_id=sensor_id,
        company_id=company_id,
        vehicle_id=activation_on or mounted_on,
        user_id=user_id,
        activation=activation_on is not None,
        method=method,
        state=State.REQUESTED,
        deadline_ms=now_ms + ack_ms,
    )
    rpc_calls.insert_new(tx, call, params)
    return call


def end(tx: WriteTx, *, request_id: RequestId, event: CallEvent, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """End an unanswered call and push its end; return the notifications for after the commit.

    An answer that arrived meanwhile takes precedence.
    """
    call = rpc_calls.find(tx, request_id)
    return () if call is None else end_all(tx, [call], event=event, ids=ids, now_ms=now_ms)


def end_all(tx: WriteTx, calls: list[Call], *, event: CallEvent, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """End the calls that can still end this way; return the notifications for after the commit.

    An undeliverable or cancelled activation is no longer pending; an unacknowledged one still is, since its result may
    follow (spec/rpc 6.3).
    """
    post = Post(tx)
    ended = [after for call in calls if (after := rpc.ended(call, event)) is not None]
    rpc_calls.end(tx, ended)
    for call in ended:
        if call.activation and event is not CallEvent.NO_ACK:
            rpc_activations.withdraw(tx, call)
        found = rpc_calls.owner_and_vehicle(tx, call.sensor_id)
        post.tell(call, None if found is None else found[1], at_ms=now_ms)
    pending = post.send(ids=ids, now_ms=now_ms)
    return (*pending, *notifications.rpc_answered(call.id for call in ended))


def read(tx: ReadTx, *, actor: Actor, sensor_id: SensorId, request_id: RequestId) -> StoredCall:
    """Return a call, after admission. Raises `NotFound`, or `Forbidden` for one made outside the actor's reach."""
    scope = access.scope_of(actor, Action.RPC_READ)
    return access.admitted(rpc_calls.find_stored(tx, scope, sensor_id, request_id), access.Thing.CALL)


def latest(tx: ReadTx, *, actor: Actor, sensor_id: SensorId) -> StoredCall:
    """Return the newest call within the actor's reach, after admission. Raises `NotFound` if there is none."""
    found = rpc_calls.latest_stored(tx, access.scope_of(actor, Action.RPC_READ), sensor_id)
    if found is None:
        raise NotFound("call")
    return found


def of_sensor(tx: ReadTx, *, actor: Actor, sensor_id: SensorId, span: Span) -> Sequence[StoredCall]:
    """Calls made within the actor's reach, after admission. Raises `UnknownOffset`."""
    return rpc_calls.stored_of_sensor(tx, access.scope_of(actor, Action.RPC_READ), sensor_id, span)
