"""What watched devices send, noted for `tripline device check` in the transaction of its batch.

Nothing happens here while no device is watched. Who is watched is read again after every commit of another process,
for the command that watches is one; on a shared store, where nobody sees others commit, every second. A trace is
bounded by age, by number and by bytes.

Not here: how a message is explained (`wire/device_explain.py`), who reads the trace (`services/device_check`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tripline.domain.ids import SensorId, TimeIds
from tripline.ports import Source
from tripline.services.ingest.placing import Item
from tripline.services.ingest.tracks import SCOPE, Tracks
from tripline.store import device_watch
from tripline.store.transactions import Store, WriteTx
from tripline.wire import device, rpc, topics
from tripline.wire.readings import Rejected

KEPT: Final = "kept"
REDELIVERED: Final = "redelivered"
EMPTY: Final = "empty"
"""An aggregate without samples."""
ANSWER: Final = "answer"
"""An acknowledgement or result of a call."""
NOT_TRACED: Final = "not_traced"
"""From here on messages are missing in the trace, for it is full."""
KEPT_MS: Final = 60_000
"""How long a trace is kept: who listens looks several times a second."""
MOST: Final = 10_000
"""Messages of one device that are traced in that time."""
MOST_BYTES: Final = 16 * 2**20
KNOWN_MS: Final = 1_000
"""How long it is believed on a shared store who is watched."""
OUTCOME_LIMIT: Final = 64
TOPIC_LIMIT: Final = 255

Frame = tuple[Source, str, bytes, int, int, Rejected | None]
Trace = tuple[SensorId, str, str, bytes]
"""Sensor, topic, outcome, body."""


@dataclass(slots=True)
class _Room:
    """What one device's trace has taken since the instant."""

    since_ms: int
    rows: int = 0
    size: int = 0
    full: bool = False


class Watches:
    """Which devices are watched, as the pipeline knows it."""

    def __init__(self, store: Store, *, max_items: int) -> None:
        self._store = store
        self._max_items = max_items
        self._until: dict[SensorId, int] | None = None
        self._read_ms = 0
        self._rooms: dict[SensorId, _Room] = {}

    def forget(self) -> None:
        """Another process has committed: look again who is watched."""
        self._until = None

    async def traces(
        self, frames: Sequence[Frame], readings: Sequence[Item], items: Sequence[Item], tracks: Tracks, *, now_ms: int
    ) -> list[Trace]:
        """What is to be noted of the batch; `items` are those of the `readings` that are new. Raises `Outage`."""
        if self._until is None or (self._store.shared and abs(now_ms - self._read_ms) > KNOWN_MS):
            self._read_ms = now_ms
            self._until = await self._store.read_short(lambda tx: device_watch.watched(tx, SCOPE, now_ms=now_ms))
            self._rooms = {sensor_id: room for sensor_id, room in self._rooms.items() if sensor_id in self._until}
        if not self._until:
            return []
        until = self._until
        watched = [frame for frame in frames if until.get(frame[0].sensor_id, 0) > now_ms]
        if not watched:
            return []
        new = {id(item) for item in items}
        of_sensor: dict[SensorId, list[bool]] = {}
        for item in readings:
            if item[0].sensor_id in until:
                of_sensor.setdefault(item[0].sensor_id, []).append(id(item) in new)
        left = {sensor_id: iter(flags) for sensor_id, flags in of_sensor.items()}
        return [
            trace
            for frame in watched
            for trace in self._noted(frame, left.get(frame[0].sensor_id, iter(())), tracks, now_ms)
        ]

    def _noted(self, frame: Frame, new: Iterator[bool], tracks: Tracks, now_ms: int) -> Iterator[Trace]:
        source, topic, body = frame[:3]
        outcome = self._outcome(frame, new, tracks)
        room = self._rooms.get(source.sensor_id)
        if room is None or now_ms - room.since_ms > KEPT_MS:
            room = self._rooms[source.sensor_id] = _Room(now_ms)
        room.rows += 1
        room.size += len(body)
        if room.full:
            return
        room.full = room.rows > MOST or room.size > MOST_BYTES
        if room.full:
            yield source.sensor_id, "", NOT_TRACED, b""
        else:
            yield source.sensor_id, topic[:TOPIC_LIMIT], outcome[:OUTCOME_LIMIT], body

    def _outcome(self, frame: Frame, new: Iterator[bool], tracks: Tracks) -> str:
        """What became of the message. It is read once more: the pipeline does not keep which reading is whose."""
        source, topic, body, received_ms, _, refused = frame
        track = tracks.get(source.sensor_id)
        if refused is not None or track is None:
            return refused.reason if refused is not None else "unknown_sensor"
        if topic not in topics.DATA and rpc.answer(topic, body) is not None:
            return ANSWER
        readings = device.read(
            topic, body, received_ms=received_ms, sensor_type=track.sensor_type, max_items=self._max_items
        )
        reasons = [reading.reason for reading in readings if isinstance(reading, Rejected)]
        kept = [next(new, False) for _ in range(len(readings) - len(reasons))]
        if any(kept):
            return KEPT
        if kept:
            return REDELIVERED
        return reasons[0] if reasons else EMPTY


def keep(
    tx: WriteTx,
    traces: Sequence[Trace],
    refused: Sequence[tuple[SensorId, str, int, Rejected]],
    *,
    ids: TimeIds,
    now_ms: int,
) -> None:
    """Write the traces; an answer that belongs to no call gets the reason of its refusal."""
    unknown = {(sensor_id, topic): rejection.reason for sensor_id, topic, _, rejection in refused}
    told = [
        (sensor_id, topic, unknown.get((sensor_id, topic), outcome) if outcome == ANSWER else outcome, body)
        for sensor_id, topic, outcome, body in traces
    ]
    device_watch.TRACES.insert(tx, device_watch.rows_of(told, ids.numbers(len(told), now_ms=now_ms)))


async def purge(store: Store, *, now_ms: int) -> bool:
    """Delete watches that have expired and traces that nobody reads any more; whether there may be more."""
    if not await store.read_short(lambda tx: device_watch.to_purge(tx, SCOPE, now_ms=now_ms, kept_ms=KEPT_MS)):
        return False
    return await store.write(lambda tx: device_watch.purge(tx, SCOPE, now_ms=now_ms, kept_ms=KEPT_MS), locked=True)
