"""Deleting a sensor: what goes with it at once, and what the eraser does afterwards.

At once go the record with its access token and mounting, its carrier line and what became of it, its latest values, and
the position of the vehicle that it was on alone; calls to its device are cancelled; its open trip ends and is scored
from its samples. Trips and events of vehicles stay; from that moment they show the placeholder for their sensor. What
it drove without a vehicle goes, and so does what was asked of its device. Messages that wait to be pushed and the
rejected-message log stay.

What the pipeline still had under way for the sensor may be written after the deletion: the eraser waits for that and
does the same to it (`services/eraser.py`).
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

    The notifications end its session and tell pipeline, scorer and eraser, and whoever waits for its device.
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
    """Some of what names the deleted sensor: up to about `limit` rows; how many. 0: nothing is left."""
    trip_ends.end_open(tx, sensor_id, now_ms=erasures.deleted_ms(tx, sensor_id))
    latest_values.forget(tx, sensor_id)
    watches.forget(tx, sensor_id)
    connections.forget(tx, sensor_id)
    called = rpc_calls.erase_of_sensor(tx, sensor_id, limit=limit)
    return called or sensor_remains.erase_some(tx, sensor_id, limit=limit)
