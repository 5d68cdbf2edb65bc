"""Deleting a sensor: what goes with it at once, and what the eraser does afterwards.

At once go the record with its access token and mounting, its carrier line and its latest values; calls to its device
are cancelled; its open trip ends and is scored from its samples. Trips and events of vehicles stay; from that moment
they show the placeholder for their sensor. What it drove without a vehicle goes, and so does what was asked of its
device. Messages that wait to be pushed and the rejected-message log stay.

What the pipeline still had under way for the sensor may be written after the deletion: the eraser waits for that and
does the same to it (`services/erasing.py`).
"""

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.ids import SensorId, TimeIds
from tripline.services import hints
from tripline.services.hints import Hint
from tripline.services.ingest import ending
from tripline.services.rpc import cancelling
from tripline.store import connections, device_watch, erasures, latest_values, lines, rpc_calls, sensor_remains
from tripline.store import sensors as rows
from tripline.store.transactions import WriteTx


def remove(tx: WriteTx, *, actor: Actor, sensor_id: SensorId, ids: TimeIds, now_ms: int) -> tuple[Hint, ...]:
    """Delete the sensor; what is to be told after the commit. Raises `NotFound` or `Forbidden`.

    The hints end its session and tell pipeline, scorer and eraser, and whoever waits for its device.
    """
    access.admit(rows.inside(tx, access.scope_of(actor, Action.SENSOR_DELETE), sensor_id), "sensor")
    return forget(tx, sensor_id, ids=ids, now_ms=now_ms)


def forget(tx: WriteTx, sensor_id: SensorId, *, ids: TimeIds, now_ms: int) -> tuple[Hint, ...]:
    """As `remove`, for a caller that was let pass."""
    cancelled = cancelling.of_sensor(tx, sensor_id, ids=ids, now_ms=now_ms)
    ending.end_open(tx, sensor_id, now_ms=now_ms)
    latest_values.forget(tx, sensor_id)
    device_watch.forget(tx, sensor_id)
    lines.forget(tx, sensor_id)
    connections.forget(tx, sensor_id)
    rows.remove(tx, sensor_id)
    erasures.begin_sensor(tx, sensor_id, now_ms=now_ms)
    return (*cancelled, *hints.sensor_deleted(sensor_id))


def erase_some(tx: WriteTx, sensor_id: SensorId, *, limit: int) -> int:
    """Some of what names the deleted sensor: up to about `limit` rows; how many. 0: nothing is left."""
    ending.end_open(tx, sensor_id, now_ms=erasures.deleted_ms(tx, sensor_id))
    latest_values.forget(tx, sensor_id)
    device_watch.forget(tx, sensor_id)
    connections.forget(tx, sensor_id)
    called = rpc_calls.erase_of_sensor(tx, sensor_id, limit=limit)
    return called or sensor_remains.erase_some(tx, sensor_id, limit=limit)
