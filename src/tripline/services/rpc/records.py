"""Read calls to devices and the devices' answers (spec/rpc 7)."""

from collections.abc import Sequence

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.ids import RequestId, SensorId
from tripline.domain.refusals import NotFound
from tripline.domain.rpc import StoredCall
from tripline.store.fleet import sensors
from tripline.store.lists import Span
from tripline.store.rpc import records as rpc_records
from tripline.store.transactions import ReadTx


def admit(tx: ReadTx, *, actor: Actor, sensor_id: SensorId) -> None:
    """Admit an actor who may read the calls to the sensor's device. Raises `NotFound` or `Forbidden`."""
    access.admit(sensors.inside(tx, access.scope_of(actor, Action.RPC_READ), sensor_id), access.Thing.SENSOR)


def read(tx: ReadTx, *, actor: Actor, sensor_id: SensorId, request_id: RequestId) -> StoredCall:
    """Return a call, after `admit`. Raises `NotFound`, or `Forbidden` for one made outside the actor's reach."""
    scope = access.scope_of(actor, Action.RPC_READ)
    return access.admitted(rpc_records.find(tx, scope, sensor_id, request_id), access.Thing.CALL)


def latest(tx: ReadTx, *, actor: Actor, sensor_id: SensorId) -> StoredCall:
    """Return the newest call within the actor's reach, after `admit`. Raises `NotFound` if there is none."""
    found = rpc_records.latest(tx, access.scope_of(actor, Action.RPC_READ), sensor_id)
    if found is None:
        raise NotFound("call")
    return found


def of_sensor(tx: ReadTx, *, actor: Actor, sensor_id: SensorId, span: Span) -> Sequence[StoredCall]:
    """Calls made within the actor's reach, after `admit`. Raises `UnknownOffset`."""
    return rpc_records.of_sensor(tx, access.scope_of(actor, Action.RPC_READ), sensor_id, span)
