"""Record the messages of watched devices for `tripline device check`, in the transaction of their batch.

Nothing happens here while no device is watched. The list of watches is reloaded after every commit of another process,
such as the watching command; on a shared store, where other commits are not visible, every second. A trace is bounded
by age, number and bytes.

Not here: explaining messages (`wire/explanation/messages.py`), reading the trace (`services/device_check.py`).
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from tripline.domain.ids import SensorId, TimeIds
from tripline.services.device_frames import Frame, Refusal
from tripline.services.ingest.batch import Batch
from tripline.services.ingest.tracks import SCOPE
from tripline.store.devices import watches
from tripline.store.devices.watches import Trace
from tripline.store.transactions import Store, WriteTx

KEPT: Final = "kept"
REDELIVERED: Final = "redelivered"
EMPTY: Final = "empty"
"""An aggregate without samples."""
ANSWER: Final = "answer"
"""An acknowledgement or result of a call."""
NOT_TRACED: Final = "not_traced"
"""Later messages are missing from the trace, because it is full."""
KEPT_MS: Final = 60_000
"""Lifetime of a trace: the watching command polls several times a second."""
MOST: Final = 10_000
"""Most messages of one device traced in that time."""
MOST_BYTES: Final = 16 * 2**20
KNOWN_MS: Final = 1_000
"""How long a cached list of watches is used on a shared store."""
OUTCOME_LIMIT: Final = 64
TOPIC_LIMIT: Final = 255


class _Room(msgspec.Struct):
    """Size of one device's trace since the instant."""

    since_ms: int
    rows: int = 0
    size: int = 0
    full: bool = False


class Watches:
    """The watched devices, as cached by the pipeline."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._until: dict[SensorId, int] | None = None
        self._read_ms = 0
        self._rooms: dict[SensorId, _Room] = {}

    def forget(self) -> None:
        """Reload the watches, because another process has committed."""
        self._until = None

    async def traces(self, batch: Batch) -> list[Trace]:
        """Traces to store for a checked batch. Raises `Outage`."""
        now_ms = batch.now_ms
        if self._until is None or (self._store.shared and abs(now_ms - self._read_ms) > KNOWN_MS):
            self._read_ms = now_ms
            self._until = await self._store.read_short(lambda tx: watches.watched(tx, SCOPE, now_ms=now_ms))
            self._rooms = {sensor_id: room for sensor_id, room in self._rooms.items() if sensor_id in self._until}
        if not self._until:
            return []
        until = self._until
        watched = [frame for frame in batch.frames if until.get(frame.source.sensor_id, 0) > now_ms]
        if not watched:
            return []
        outcomes = _outcomes(batch)
        return [trace for frame in watched for trace in self._noted(frame, outcomes.get(frame, EMPTY), now_ms)]

    def _noted(self, frame: Frame, outcome: str, now_ms: int) -> Iterator[Trace]:
        """The trace of the message, if there is room."""
        sensor_id = frame.source.sensor_id
        room = self._rooms.get(sensor_id)
        if room is None or now_ms - room.since_ms > KEPT_MS:
            room = self._rooms[sensor_id] = _Room(now_ms)
        room.rows += 1
        room.size += len(frame.body)
        if room.full:
            return
        room.full = room.rows > MOST or room.size > MOST_BYTES
        if room.full:
            yield Trace(sensor_id, "", NOT_TRACED, b"")
        else:
            yield Trace(sensor_id, frame.topic[:TOPIC_LIMIT], outcome[:OUTCOME_LIMIT], frame.body)


def _outcomes(batch: Batch) -> dict[Frame, str]:
    """The outcome of each message; messages without one are missing. Later outcomes take precedence."""
    outcomes = {refusal.frame: refusal.rejected.reason for refusal in reversed(batch.refusals)}
    outcomes |= {answered.frame: ANSWER for answered in batch.answers}
    outcomes |= {item.frame: REDELIVERED for item in batch.items}
    outcomes |= {item.frame: KEPT for item in batch.new}
    return outcomes


def keep(tx: WriteTx, traces: Sequence[Trace], refused: Sequence[Refusal], *, ids: TimeIds, now_ms: int) -> None:
    """Write the traces; an answer that belongs to no call gets the reason of its refusal."""
    unknown = {(each.frame.source.sensor_id, each.frame.topic): each.rejected.reason for each in refused}
    told: list[Trace] = []
    for trace in traces:
        reason = unknown.get((trace.sensor_id, trace.topic)) if trace.outcome == ANSWER else None
        told.append(trace if reason is None else trace._replace(outcome=reason))
    watches.TRACES.insert(tx, watches.rows_of(told, ids.numbers(len(told), now_ms=now_ms)))


async def purge(store: Store, *, now_ms: int) -> bool:
    """Delete expired watches and old traces; true if more may remain."""
    if not await store.read_short(lambda tx: watches.to_purge(tx, SCOPE, now_ms=now_ms, kept_ms=KEPT_MS)):
        return False
    return await store.write(lambda tx: watches.purge(tx, SCOPE, now_ms=now_ms, kept_ms=KEPT_MS), locked=True)
