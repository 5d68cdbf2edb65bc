"""Deleting a sensor: the immediate changes, and those of the eraser afterwards.

The deletion removes the record with its access token and mounting, its carrier line with its changes, its latest
values, and the position of its vehicle if it was the only sensor there; it cancels calls to its device, and ends the
open trip, which is scored from its samples. Trips and events of vehicles stay; from that moment they display the
placeholder for their sensor. Its trips without a vehicle and the calls to its device are erased. Messages waiting to be
pushed and the rejected-message log stay.

Data of the sensor that was still in the pipeline may be written after the deletion: the eraser waits for it and treats
it the same way (`services/eraser.py`).
"""

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.history import Change, Event
from tripline.domain.ids import SensorId, TimeIds
from tripline.services import notifications
from tripline.services.fleet import history
from tripline.services.ingest import trip_ends
from tripline.services.notifications import Notification
from tripline.services.rpc import cancellations
from tripline.store import positions
from tripline.store.devices import connections, latest_values, watches
from tripline.store.erasure import erasures, sensor_remains
from tripline.store.fleet import sensors as rows
from tripline.store.lines import changes as line_changes
from tripline.store.lines import lines
from tripline.store.rpc import calls as rpc_calls
from tripline.store.transactions import WriteTx


def remove(tx: WriteTx, *, actor: Actor, sensor_id: SensorId, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """Delete the sensor; return the notifications for after the commit. Raises `NotFound` or `Forbidden`.

    The notifications end its session and inform pipeline, scorer, eraser, and callers waiting for its device.
    """
    scope = access.scope_of(actor, Action.SENSOR_DELETE)
    sensor = access.admitted(rows.find(tx, scope, sensor_id, tokens=scope), access.Thing.SENSOR)
    history.note(
        tx,
        actor,
        Event.DELETED,
        company_id=sensor.company_id,
        sensor_id=sensor_id,
        vehicle_id=sensor.vehicle_id,
        changes=(Change("serialNo", before=sensor.serial_no),),
        ids=ids,
        now_ms=now_ms,
    )
    return forget(tx, sensor_id, ids=ids, now_ms=now_ms)


def forget(tx: WriteTx, sensor_id: SensorId, *, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """As `remove`, for a caller that was let pass."""
    cancelled = cancellations.of_sensor(tx, sensor_id, ids=ids, now_ms=now_ms)
    trip_ends.end_open(tx, sensor_id, now_ms=now_ms)
    latest_values.forget(tx, sensor_id)
    watches.forget(tx, sensor_id)
    lines.forget(tx, sensor_id)
    line_changes.forget(tx, sensor_id)
    connections.forget(tx, sensor_id)
    positions.forget_of_sensor(tx, sensor_id)
    rows.remove(tx, sensor_id)
    erasures.begin_sensor(tx, sensor_id, now_ms=now_ms)
    return (*cancelled, *notifications.sensor_deleted(sensor_id))


def erase_some(tx: WriteTx, sensor_id: SensorId, *, limit: int) -> int:
    """Erase up to about `limit` remaining rows of the deleted sensor; return how many. 0: finished."""
    trip_ends.end_open(tx, sensor_id, now_ms=erasures.deleted_ms(tx, sensor_id))
    latest_values.forget(tx, sensor_id)
    watches.forget(tx, sensor_id)
    connections.forget(tx, sensor_id)
    called = rpc_calls.erase_of_sensor(tx, sensor_id, limit=limit)
    return called or sensor_remains.erase_some(tx, sensor_id, limit=limit)
