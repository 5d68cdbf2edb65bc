"""Read a watched device's traced messages, connection, trips and calls, one snapshot after the other.

Everything here only reads; `reports.py` compares a snapshot with the previous one.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from tripline.domain.access import Scope
from tripline.domain.ids import SensorId
from tripline.domain.refusals import NotFound
from tripline.store.devices import watches
from tripline.store.devices.watches import CallState, Session, Traced, TripState
from tripline.store.fleet import sensors
from tripline.store.ingest import tracks
from tripline.store.transactions import ReadTx

__all__ = ["CallState", "Look", "Session", "Traced", "TripState", "Watched", "begin", "find", "look"]

SCOPE: Final = Scope.everything("explain what a device sends to who runs the installation")
AT_ONCE: Final = 200
"""Most messages in one snapshot; the rest follow in the next."""
_NEWEST: Final = 5
"""Number of trips and calls to follow."""


class Watched(msgspec.Struct, frozen=True):
    """The watched sensor."""

    sensor_id: SensorId
    sensor_type: str
    is_mapped: bool


class Look(msgspec.Struct, frozen=True):
    """A snapshot at one instant."""

    messages: Sequence[Traced]
    session: Session | None
    trips: Sequence[TripState]
    calls: Sequence[CallState]
    last_no: int
    """Row number of the last traced message."""


def find(tx: ReadTx, token: str, *, now_ms: int) -> Watched:
    """Find the sensor with this access token. Raises `NotFound`, without the token in its text."""
    sensor_id = sensors.holder_of(tx, token)
    known = None if sensor_id is None else tracks.load(tx, SCOPE, sensor_id, since_ms=now_ms)
    if sensor_id is None or known is None:
        raise NotFound("token")
    return Watched(sensor_id, known.sensor_type, known.vehicle_id is not None)


def still_there(tx: ReadTx, sensor_id: SensorId, *, now_ms: int) -> None:
    """Raise `NotFound` if the sensor was deleted."""
    if tracks.load(tx, SCOPE, sensor_id, since_ms=now_ms) is None:
        raise NotFound("sensor_deleted")


def begin(tx: ReadTx, watched: Watched) -> Look:
    """Take the snapshot before the first report."""
    return _look(tx, watched, (), watches.newest(tx, SCOPE, watched.sensor_id))


def look(tx: ReadTx, watched: Watched, before: Look) -> Look:
    """Take a snapshot with the messages since the previous one."""
    messages = watches.since(tx, SCOPE, watched.sensor_id, after=before.last_no, limit=AT_ONCE)
    return _look(tx, watched, messages, messages[-1].no if messages else before.last_no)


def _look(tx: ReadTx, watched: Watched, messages: Sequence[Traced], last_no: int) -> Look:
    sensor_id = watched.sensor_id
    return Look(
        messages,
        watches.session(tx, SCOPE, sensor_id),
        watches.trips(tx, SCOPE, sensor_id, limit=_NEWEST),
        watches.calls(tx, SCOPE, sensor_id, limit=_NEWEST),
        last_no,
    )
