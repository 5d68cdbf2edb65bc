"""Show a company the line changes of a device.

Not here: the list of lines (`services/fleet/lists.py`), lifting a pause (`pauses.py`), carrier actions (`batches.py`).
"""

from collections.abc import Sequence

import msgspec

from tripline.domain.access import Actor
from tripline.domain.ids import RowNo, SensorId
from tripline.domain.lines import Change
from tripline.domain.sensors import Sensor
from tripline.services.fleet import sensors
from tripline.store.lines import lines
from tripline.store.transactions import ReadTx


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A device, its line changes, and if a call to the carrier about it is running."""

    sensor: Sensor
    changes: Sequence[Change]
    """The newest first."""
    busy: bool


def read(tx: ReadTx, *, actor: Actor, sensor_id: SensorId, before: RowNo | None, limit: int, now_ms: int) -> Known:
    """Return the device with its line changes before this number. Raises `NotFound` or `Forbidden`."""
    sensor = sensors.read(tx, actor=actor, sensor_id=sensor_id)
    claim = lines.claim_of(tx, sensor_id)
    return Known(
        sensor=sensor,
        changes=lines.of_sensor(tx, sensor_id, before=before, limit=limit),
        busy=claim is not None and claim.holds(now_ms),
    )
