"""Checking: which readings were taken in before (O3, I3), so that a redelivery changes nothing.

A microtrip is surely new when its header time, or its last sample's own time, is larger than every one stored of the
sensor lately; nearly all are, and cost two comparisons. Every other message with a time is looked for by its entry
(`store/deliveries.py`), all of a batch together, and in the batch itself. So late data and redelivered data cost the
same in a trip of any length.

A message that carries no time at all, neither in the header nor its own, is never taken for a redelivery: two equal
ones may be two facts.

Not here: what makes a body unusable (`wire/device.py`).
"""

from collections.abc import Collection, Sequence
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


@dataclass(slots=True)
class _Sorted:
    """A batch's readings, told apart by whether they may have come before."""

    entries: list[Entry | None]
    """Of each microtrip and event, how it is found again."""
    microtrips: list[Sent]
    """Those that may have come before, with their positions; likewise the others."""
    events: list[Sent]
    messages: list[int]


async def without_redelivered(items: Sequence[Item], *, store: Store, settings: Ingest, now_ms: int) -> Checked:
    """The items that are new, in their order. Raises `Outage`."""
    told = _sorted(items)
    doubtful = len(told.microtrips) + len(told.events) + len(told.messages)
    if not doubtful:
        return Checked(items, told.entries)
    since_ms = int(now_ms - settings.redelivery_minutes * _MINUTE_MS)

    def look(tx: ReadTx) -> set[int]:
        return _stored(tx, items, told, since_ms, now_ms)

    # What is found is never changed, so nothing is gained by seeing it all at one instant.
    again = await (store.read_short if doubtful <= _INLINE else store.read)(look, consistent=False)
    again |= _twice(items, told, again)
    if not again:
        return Checked(items, told.entries)
    new = [index for index in range(len(items)) if index not in again]
    return Checked([items[index] for index in new], [told.entries[index] for index in new])


def _sorted(items: Sequence[Item]) -> _Sorted:
    """Which may have come before; each entry."""
    told = _Sorted([], [], [], [])
    keep, mark_of = told.entries.append, deliveries.mark_of
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
                continue
            if ts is None and last_ms == received_ms:
                keep((last_ms, deliveries.untimed(track.key)))
                continue
            payload = reading.payload
            entry = (last_ms if ts is None else ts, mark_of(track.key, payload))
            keep(entry)
            if last_ms > track.newest_ms and last_ms != received_ms:
                track.newest_ms = last_ms
            else:
                told.microtrips.append(Sent(index, track.sensor_id, *entry, track.key, None, ts, payload))
        elif type(reading) is Event:
            ts = reading.ts
            if ts is None and reading.event_ms == received_ms:
                keep((received_ms, deliveries.untimed(track.key)))
                continue
            payload, ty = reading.payload, reading.ty
            entry = (reading.event_ms if ts is None else ts, mark_of(track.key, payload, ty))
            keep(entry)
            told.events.append(Sent(index, track.sensor_id, *entry, track.key, ty, ts, payload))
        else:
            if type(reading) is Trip:
                told.messages.append(index)
            keep(None)
    return told


def _stored(tx: ReadTx, items: Sequence[Item], told: _Sorted, since_ms: int, now_ms: int) -> set[int]:
    """Positions of the doubtful readings of which an equal one is stored."""
    found = entries.stored_microtrips(tx, SCOPE, told.microtrips, since_ms=since_ms, now_ms=now_ms)
    found |= entries.stored_events(tx, SCOPE, told.events, since_ms=since_ms, now_ms=now_ms)
    for index in told.messages:
        track, message, _ = items[index]
        assert type(message) is Trip
        key, for_ever = message_key(message)
        if rows.message_stored(tx, SCOPE, track.sensor_id, message_key=key, since_ms=0 if for_ever else since_ms):
            found.add(index)
    return found


def _twice(items: Sequence[Item], told: _Sorted, stored: Collection[int]) -> set[int]:
    """Positions of the doubtful readings to which an earlier one of the batch is equal."""
    twice: set[int] = set()
    first: dict[Entry | None, int] = {}
    left = [sent for sent in (*told.microtrips, *told.events) if sent.place not in stored]
    if left:
        # The earliest of equal ones is put in last, and stays.
        first = dict(zip(reversed(told.entries), range(len(items) - 1, -1, -1), strict=True))
    for sent in left:
        index = sent.place
        for mark in (sent.mark, sent.key):
            earlier = first.get((sent.instant, mark), index)
            if earlier < index and _is(items[earlier], sent):
                twice.add(index)
    keys: set[tuple[SensorId, str]] = set()
    for index in told.messages:
        track, message, _ = items[index]
        assert type(message) is Trip
        key = (track.sensor_id, message_key(message)[0])
        if key in keys:
            twice.add(index)
        keys.add(key)
    return twice


def _is(item: Item, sent: Sent) -> bool:
    """Whether the item is what was sent: two messages may have the same entry by chance."""
    track, reading, _ = item
    ty = reading.ty if type(reading) is Event else None
    known = (track.sensor_id, ty, reading.ts, reading.payload)  # type: ignore[union-attr]  # it has an entry
    return known == (sent.sensor_id, sent.ty, sent.ts, sent.payload)
