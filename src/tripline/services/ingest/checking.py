"""Checking: which readings were taken in before (O3, I3), so that a redelivery changes nothing.

A microtrip is surely new when its header time, or its last sample's own time, is larger than every one stored of the
sensor lately; nearly all are, and cost two comparisons. Every other message with a time is looked for by its entry
(`store/deliveries.py`), all of a batch together, and in the batch itself. So late data and redelivered data cost the
same in a trip of any length.

A message that carries no time at all, neither in the header nor its own, is never taken for a redelivery: two equal
ones may be two facts.

Not here: what makes a body unusable (`wire/device.py`).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from tripline.config import Ingest
from tripline.domain import deliveries
from tripline.domain.ids import SensorId
from tripline.services.ingest.placing import Checked, Entry, Item, message_key
from tripline.services.ingest.tracks import SCOPE
from tripline.store import deliveries as entries
from tripline.store import tracks as rows
from tripline.store.deliveries import Sent
from tripline.store.transactions import ReadTx, Store
from tripline.wire.readings import Event, Microtrip, Trip

_MINUTE_MS: Final = 60_000
_INLINE: Final = 8
"""Look-ups done on the event loop itself; more are done in a thread."""

Mark = tuple[SensorId, Hashable]
"""What two deliveries of one message share."""


@dataclass(slots=True)
class _Sorted:
    """A batch's readings, told apart by whether they may have come before."""

    entries: list[Entry | None]
    """Of each reading, how it is found again; None: not by an entry."""
    doubtful: set[int]
    """Positions of those that may have come before."""


async def without_redelivered(items: Sequence[Item], *, store: Store, settings: Ingest, now_ms: int) -> Checked:
    """The items that are new, in their order. Raises `Outage`."""
    told = _sorted(items)
    doubtful = told.doubtful
    if not doubtful:
        return Checked(items, told.entries)
    since_ms = int(now_ms - settings.redelivery_minutes * _MINUTE_MS)

    def look(tx: ReadTx) -> set[int]:
        return _stored(tx, items, told, since_ms)

    stored = await (store.read_short if len(doubtful) <= _INLINE else store.read)(look)
    seen: set[Mark] = set()
    new: list[int] = []
    for index, item in enumerate(items):
        mark = _mark(item)
        if index in stored or (mark is not None and index in doubtful and mark in seen):
            continue
        if mark is not None:
            seen.add(mark)
        new.append(index)
    return Checked([items[index] for index in new], [told.entries[index] for index in new])


def _sorted(items: Sequence[Item]) -> _Sorted:
    """Which may have come before; each entry."""
    told = _Sorted([], set())
    keep, doubt = told.entries.append, told.doubtful.add
    for index, (track, reading, received_ms) in enumerate(items):
        if type(reading) is Microtrip:
            ts = reading.ts
            last_ms = reading.last_ms
            # A last sample at the very instant of receipt has no time of its own (T3), unless by chance.
            if ts is not None and ts > track.newest_ts:
                track.newest_ts = ts
                if last_ms > track.newest_ms:
                    track.newest_ms = last_ms
                keep((ts, track.key))
            elif last_ms > track.newest_ms and last_ms != received_ms:
                track.newest_ms = last_ms
                keep((last_ms, track.key) if ts is None else (ts, deliveries.mark_of(track.key, reading.payload)))
            elif ts is not None or last_ms != received_ms:
                doubt(index)
                keep((last_ms if ts is None else ts, deliveries.mark_of(track.key, reading.payload)))
            else:
                keep((last_ms, deliveries.untimed(track.key)))
        elif type(reading) is Event:
            ts = reading.ts
            if ts is None and reading.event_ms == received_ms:
                keep((received_ms, deliveries.untimed(track.key)))
            else:
                doubt(index)
                mark = deliveries.mark_of(track.key, reading.payload, reading.ty)
                keep((reading.event_ms if ts is None else ts, mark))
        else:
            if type(reading) is Trip:
                doubt(index)
            keep(None)
    return told


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


def _stored(tx: ReadTx, items: Sequence[Item], told: _Sorted, since_ms: int) -> set[int]:
    """Positions of the doubtful readings of which an equal one is stored."""
    stored: set[int] = set()
    places: list[int] = []
    sent: list[Sent] = []
    for index in told.doubtful:
        track, reading, _ = items[index]
        entry = told.entries[index]
        if entry is None:
            assert type(reading) is Trip
            if _message_stored(tx, track.sensor_id, reading, since_ms):
                stored.add(index)
            continue
        assert type(reading) is Microtrip or type(reading) is Event
        instant, mark = entry
        is_event = type(reading) is Event
        marks = (mark,) if is_event else (mark, track.key)
        ty = reading.ty if is_event else None
        places.append(index)
        sent.append(Sent(track.sensor_id, instant, marks, ty, reading.ts, reading.payload))
    stored.update(places[position] for position in entries.stored(tx, SCOPE, sent, since_ms=since_ms))
    return stored


def _message_stored(tx: ReadTx, sensor_id: SensorId, message: Trip, since_ms: int) -> bool:
    key, for_ever = message_key(message)
    return rows.message_stored(tx, SCOPE, sensor_id, message_key=key, since_ms=0 if for_ever else since_ms)
