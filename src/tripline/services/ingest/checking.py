"""Checking: which readings were taken in before (O3, I3), so that a redelivery changes nothing.

A microtrip is surely new when its header time, or its last sample's own time, is larger than every one stored of the
sensor lately; nearly all are, and cost two comparisons. The others, trip messages and events are looked for among the
rows of the last minutes and in the batch itself.

A message that carries no time at all, neither in the header nor its own, is never taken for a redelivery: two equal
ones may be two facts.

Not here: what makes a body unusable (`wire/device.py`).
"""

from collections.abc import Hashable, Sequence
from typing import Final

from tripline.config import Ingest
from tripline.domain.ids import SensorId
from tripline.services.ingest.placing import Item, message_key
from tripline.services.ingest.tracks import SCOPE
from tripline.store import tracks as rows
from tripline.store.transactions import ReadTx, Store
from tripline.wire.readings import Event, Microtrip, Trip

_MINUTE_MS: Final = 60_000
_INLINE: Final = 8
"""Look-ups done on the event loop itself; more are done in a thread."""

Mark = tuple[SensorId, Hashable]
"""What two deliveries of one message share."""


async def without_redelivered(items: Sequence[Item], *, store: Store, settings: Ingest, now_ms: int) -> Sequence[Item]:
    """The items that are new, in their order. Raises `Outage`."""
    doubtful = _doubtful(items)
    if not doubtful:
        return items
    since_ms = int(now_ms - settings.redelivery_minutes * _MINUTE_MS)

    def look(tx: ReadTx) -> set[int]:
        return {index for index in doubtful if _stored(tx, items[index], since_ms)}

    stored = await (store.read_short if len(doubtful) <= _INLINE else store.read)(look)
    seen: set[Mark] = set()
    new: list[Item] = []
    for index, item in enumerate(items):
        mark = _mark(item)
        if index in stored or (mark is not None and index in doubtful and mark in seen):
            continue
        if mark is not None:
            seen.add(mark)
        new.append(item)
    return new


def _doubtful(items: Sequence[Item]) -> set[int]:
    """Positions of the readings that may have come before."""
    doubtful = set()
    for index, (track, reading, received_ms) in enumerate(items):
        if type(reading) is Microtrip:
            ts = reading.ts
            last_ms = reading.last_ms
            # A last sample at the very instant of receipt has no time of its own (T3), unless by chance.
            if ts is not None and ts > track.newest_ts:
                track.newest_ts = ts
                if last_ms > track.newest_ms:
                    track.newest_ms = last_ms
            elif last_ms > track.newest_ms and last_ms != received_ms:
                track.newest_ms = last_ms
            elif ts is not None or last_ms != received_ms:
                doubtful.add(index)
        elif _mark((track, reading, received_ms)) is not None:
            doubtful.add(index)
    return doubtful


def _mark(item: Item) -> Mark | None:
    """What two deliveries of this message share; None when it carries no time and is always new."""
    track, reading, received_ms = item
    if type(reading) is Microtrip:
        timed = reading.ts is not None or reading.last_ms != received_ms
        return (track.sensor_id, (reading.ts, reading.payload)) if timed else None
    if type(reading) is Event:
        timed = reading.ts is not None or reading.event_ms != received_ms
        return (track.sensor_id, (reading.ty, reading.ts, reading.payload)) if timed else None
    if type(reading) is Trip:
        return track.sensor_id, message_key(reading)
    return None


def _stored(tx: ReadTx, item: Item, since_ms: int) -> bool:
    track, reading, _ = item
    sensor_id = track.sensor_id
    if type(reading) is Microtrip:
        return rows.microtrip_stored(tx, SCOPE, sensor_id, ts=reading.ts, payload=reading.payload, since_ms=since_ms)
    if type(reading) is Event:
        return rows.event_stored(
            tx, SCOPE, sensor_id, ty=reading.ty, ts=reading.ts, payload=reading.payload, since_ms=since_ms
        )
    assert type(reading) is Trip
    key, for_ever = message_key(reading)
    return rows.message_stored(tx, SCOPE, sensor_id, message_key=key, since_ms=0 if for_ever else since_ms)
