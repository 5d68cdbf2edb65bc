"""Deleting a sensor: what goes with it at once, and what the eraser does afterwards.

At once go the record with its access token and mounting, its carrier line and its latest values; its open trip ends and
is scored from its samples. Trips and events of vehicles stay; from that moment they show the placeholder for their
sensor. What it drove without a vehicle goes. Messages that wait to be pushed and the rejected-message log stay.

What the pipeline still had under way for the sensor may be written after the deletion: the eraser waits for that and
does the same to it (`services/erasing.py`).
"""

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.ids import SensorId
from tripline.services.ingest import ending
from tripline.store import connections, device_watch, erasures, latest_values, lines, sensor_remains
from tripline.store import sensors as rows
from tripline.store.transactions import WriteTx


def remove(tx: WriteTx, *, actor: Actor, sensor_id: SensorId, now_ms: int) -> None:
    """Delete the sensor. Raises `NotFound` or `Forbidden`.

    After the commit the caller ends its session (`SIGNAL_CREDENTIAL_ENDED`) and tells pipeline, scorer and eraser
    (`SIGNAL_SENSOR_CHANGED`, `SIGNAL_SCORING_DUE`, `SIGNAL_ERASURE_DUE`).
    """
    access.admit(rows.inside(tx, access.scope_of(actor, Action.SENSOR_DELETE), sensor_id), "sensor")
    forget(tx, sensor_id, now_ms=now_ms)


def forget(tx: WriteTx, sensor_id: SensorId, *, now_ms: int) -> None:
    """As `remove`, for a caller that was let pass."""
    ending.end_open(tx, sensor_id, now_ms=now_ms)
    latest_values.forget(tx, sensor_id)
    device_watch.forget(tx, sensor_id)
    lines.forget(tx, sensor_id)
    connections.forget(tx, sensor_id)
    rows.remove(tx, sensor_id)
    erasures.begin_sensor(tx, sensor_id, now_ms=now_ms)


def erase_some(tx: WriteTx, sensor_id: SensorId, *, limit: int) -> int:
    """Some of what names the deleted sensor: up to about `limit` rows; how many. 0: nothing is left."""
    ending.end_open(tx, sensor_id, now_ms=erasures.deleted_ms(tx, sensor_id))
    latest_values.forget(tx, sensor_id)
    device_watch.forget(tx, sensor_id)
    return sensor_remains.erase_some(tx, sensor_id, limit=limit)
