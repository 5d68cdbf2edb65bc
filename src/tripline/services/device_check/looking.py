"""What is read of a watched device, one look after the other: its traced messages, its connection, trips and calls.

Everything here only reads; what a look says compared with the one before is told by `listening.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tripline.domain.access import Scope
from tripline.domain.ids import SensorId
from tripline.domain.refusals import NotFound
from tripline.store import device_watch, sensors, tracks
from tripline.store.device_watch import CallState, Session, Traced, TripState
from tripline.store.transactions import ReadTx

__all__ = ["CallState", "Look", "Session", "Traced", "TripState", "Watched", "begin", "find", "look"]

SCOPE: Final = Scope.everything("explain what a device sends to who runs the installation")
AT_ONCE: Final = 200
"""Messages of one look; the rest follow in the next."""
_NEWEST: Final = 5
"""Trips and calls that are followed."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The sensor that is listened to."""

    sensor_id: SensorId
    sensor_type: str
    is_mapped: bool


@dataclass(frozen=True, slots=True)
class Look:
    """Everything as it was at one instant."""

    messages: Sequence[Traced]
    session: Session | None
    trips: Sequence[TripState]
    calls: Sequence[CallState]
    last_no: int
    """Row number of the last traced message seen."""


def find(tx: ReadTx, token: str, *, now_ms: int) -> Watched:
    """The sensor with this access token. Raises `NotFound`; the token is not in its text."""
    sensor_id = sensors.holder_of(tx, token)
    known = None if sensor_id is None else tracks.load(tx, SCOPE, sensor_id, since_ms=now_ms)
    if sensor_id is None or known is None:
        raise NotFound("No sensor of this installation has the access token that was given.")
    return Watched(sensor_id, known.sensor_type, known.vehicle_id is not None)


def still_there(tx: ReadTx, sensor_id: SensorId, *, now_ms: int) -> None:
    """Raise `NotFound` when the sensor was deleted."""
    if tracks.load(tx, SCOPE, sensor_id, since_ms=now_ms) is None:
        raise NotFound("The sensor was deleted.")


def begin(tx: ReadTx, watched: Watched) -> Look:
    """What is there before anything is told."""
    return _look(tx, watched, (), device_watch.newest(tx, SCOPE, watched.sensor_id))


def look(tx: ReadTx, watched: Watched, before: Look) -> Look:
    """What is there now, with the messages that have come since."""
    messages = device_watch.since(tx, SCOPE, watched.sensor_id, after=before.last_no, limit=AT_ONCE)
    return _look(tx, watched, messages, messages[-1].no if messages else before.last_no)


def _look(tx: ReadTx, watched: Watched, messages: Sequence[Traced], last_no: int) -> Look:
    sensor_id = watched.sensor_id
    return Look(
        messages,
        device_watch.session(tx, SCOPE, sensor_id),
        device_watch.trips(tx, SCOPE, sensor_id, limit=_NEWEST),
        device_watch.calls(tx, SCOPE, sensor_id, limit=_NEWEST),
        last_no,
    )
