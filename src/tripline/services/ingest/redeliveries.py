"""Checking: which readings were taken in before (O3, I3), so that a redelivery changes nothing.

A microtrip is surely new when its header time, or its last sample's own time, is larger than every one stored of the
sensor lately; nearly all are, and cost two comparisons. Every other message with a time is looked for by its entry
(`store/ingest/deliveries.py`), all of a batch together, and in the batch itself. So late data and redelivered data cost
the same in a trip of any length. The first microtrip of a header time has the sensor's mark, so a late one is found by
a single key, without a hash of its payload, unless the sensor lately sent one header time twice.

A message that carries no time at all, neither in the header nor its own, is never taken for a redelivery: two equal
ones may be two facts.

Not here: what makes a body unusable (`wire/device/publish.py`).
"""

from collections.abc import Iterator, Sequence
from itertools import compress
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec

from tripline.config import Ingest
from tripline.domain import deliveries
from tripline.domain.ids import SensorId
from tripline.services.ingest.batch import Item
from tripline.services.ingest.placement import message_key
from tripline.services.ingest.tracks import SCOPE
from tripline.store.ingest import deliveries as entries
from tripline.store.ingest import tracks as rows
from tripline.store.ingest.deliveries import Content, Found, Sent
from tripline.store.transactions import ReadTx, Store
from tripline.wire.readings import DeviceEvent, Microtrip, Trip

_MINUTE_MS: Final = 60_000
_MARGIN_MS: Final = _MINUTE_MS
"""Row numbers of a batch may run ahead of its instant, by some milliseconds."""
_TRACK: Final = attrgetter("track")
_INLINE: Final = 128
"""Look-ups done on the event loop itself; more are done in a thread."""


class Entry(NamedTuple):
    """The key by which an item is looked up."""

    instant: int
    mark: int | None


class _Sorted(msgspec.Struct):
    """A batch's readings, told apart by whether they may have come before."""

    microtrips: list[Sent]
    """Those that may have come before, by each mark that an equal one may have; likewise the events."""
    events: list[Sent]
    places: list[int]
    """Positions of both."""
    marks: dict[int, int]
    """The mark of its own that a microtrip with a header time may have, by position, where it was needed."""
    messages: list[int]
    """Positions of the trip messages."""


async def without_redelivered(items: Sequence[Item], *, store: Store, settings: Ingest, now_ms: int) -> Sequence[Item]:
    """The items that are new, in their order, with what they are found by again. Raises `Outage`."""
    since_ms = int(now_ms - settings.redelivery_minutes * _MINUTE_MS)
    told = _sorted(items, since_ms, now_ms)
    if not told.places and not told.messages:
        return items

    # What is found is never changed, so nothing is gained by seeing it all at one instant.
    look = _looking_shared if store.shared else _looking
    found = await look(items, told, store, since_ms, now_ms)
    again = found.equal | _twice(items, told, found, now_ms)
    if not again:
        return items
    return [item for index, item in enumerate(items) if index not in again]


def _sorted(items: Sequence[Item], since_ms: int, now_ms: int) -> _Sorted:
    """Which may have come before. Each item gets what it is found by, a doubtful microtrip as if no other had its
    header time."""
    marked_ms = since_ms - _MARGIN_MS
    told = _Sorted([], [], [], {}, [])
    mark_of = deliveries.mark_of
    for index, item in enumerate(items):
        track, reading = item.track, item.reading
        if type(reading) is Microtrip:
            ts = reading.ts
            last_ms = reading.last_ms
            # A last sample at the very instant of receipt has no time of its own (T3), unless by chance.
            if ts is not None and ts > track.newest_ts:
                track.newest_ts = ts
                track.new_ms = now_ms
                if last_ms > track.newest_ms:
                    track.newest_ms = last_ms
                item.instant, item.mark = ts, track.key
                continue
            received_ms = item.frame.received_ms
            # Two equal ones may be two facts: losing one is worse than keeping one twice (docs/decisions/251).
            if ts is None and last_ms == received_ms:
                item.instant, item.mark = last_ms, deliveries.untimed(track.key)
                continue
            key, payload = track.key, reading.payload
            is_new = last_ms > track.newest_ms and last_ms != received_ms
            if is_new:
                track.newest_ms = last_ms
                track.new_ms = now_ms
            if ts is None:
                item.instant, item.mark = last_ms, mark_of(key, payload)
            elif is_new:
                item.instant, item.mark = ts, mark_of(key, payload)
                track.marked_ms = now_ms
            else:
                item.instant, item.mark = ts, key
                if track.marked_ms >= marked_ms:
                    mark = told.marks[index] = mark_of(key, payload)
                    told.microtrips.append(Sent(index, track.sensor_id, ts, mark, None, ts, payload))
            if not is_new:
                told.places.append(index)
                told.microtrips.append(Sent(index, track.sensor_id, item.instant, item.mark, None, ts, payload))
        elif type(reading) is DeviceEvent:
            ts = reading.ts
            if ts is None and reading.event_ms == item.frame.received_ms:
                item.instant, item.mark = reading.event_ms, deliveries.untimed(track.key)
                continue
            payload, ty = reading.payload, reading.ty
            item.instant = reading.event_ms if ts is None else ts
            item.mark = mark_of(track.key, payload, ty)
            told.places.append(index)
            told.events.append(Sent(index, track.sensor_id, item.instant, item.mark, ty, ts, payload))
        elif type(reading) is Trip:
            told.messages.append(index)
    return told


async def _looking(items: Sequence[Item], told: _Sorted, store: Store, since_ms: int, _now_ms: int) -> Found:
    """The doubtful readings of which an equal one is stored, and those of which another has the entry."""
    sent = (*told.microtrips, *told.events)

    def look(tx: ReadTx) -> Found:
        found = entries.stored(tx, SCOPE, sent, since_ms=since_ms)
        found.equal.update(_stored_messages(tx, items, told.messages, since_ms))
        return found

    doubtful = len(told.places) + len(told.messages)
    return await (store.read_short if doubtful <= _INLINE else store.read)(look, consistent=False)


async def _looking_shared(items: Sequence[Item], told: _Sorted, store: Store, since_ms: int, now_ms: int) -> Found:
    """As `_looking`, in a shared database: rows are read only where an entry was found."""
    sent = (*told.microtrips, *told.events)
    noted = await entries.noted(store, SCOPE, sent, since_ms=since_ms, now_ms=now_ms)

    def look(tx: ReadTx) -> Found:
        found = entries.compared(tx, SCOPE, noted, since_ms=since_ms, now_ms=now_ms)
        found.equal.update(_stored_messages(tx, items, told.messages, since_ms))
        return found

    if not noted and not told.messages:
        return Found(set(), set())
    return await store.read(look, consistent=False)


def _stored_messages(tx: ReadTx, items: Sequence[Item], places: Sequence[int], since_ms: int) -> Iterator[int]:
    """Positions of the trip messages that are stored already."""
    for index in places:
        track, message = items[index].track, items[index].reading
        assert type(message) is Trip
        key = message_key(message)
        since = 0 if key.for_ever else since_ms
        if rows.message_stored(tx, SCOPE, track.sensor_id, message_key=key.text, since_ms=since):
            yield index


def _twice(items: Sequence[Item], told: _Sorted, stored: Found, now_ms: int) -> set[int]:
    """Positions of the doubtful readings to which an earlier one of the batch is equal. A microtrip whose header time
    another one has, stored or in the batch, gets a mark of its own."""
    twice: set[int] = set()
    first = _certain(items, told, now_ms)
    # As a rule a device that delivers old data sends nothing else meanwhile, and nothing of it twice.
    are_alone = len({_entry(items[place]) for place in told.places}) == len(told.places)
    for place in () if are_alone and not (first or stored.other or told.marks) else told.places:
        if place in stored.equal:
            continue
        item = items[place]
        track, reading = item.track, item.reading
        entry = _entry(item)
        earlier = first.get(entry)
        mark = told.marks.get(place)
        is_taken = earlier is not None or place in stored.other
        if type(reading) is Microtrip and reading.ts is not None and (is_taken or mark is not None):
            if earlier is not None and _are_equal(items[earlier], item):
                twice.add(place)
                continue
            if mark is None:
                mark = deliveries.mark_of(track.key, reading.payload)
            earlier = first.get(Entry(item.instant, mark))
            if is_taken:
                item.mark = mark
                entry = _entry(item)
                track.marked_ms = now_ms
        if earlier is not None and _are_equal(items[earlier], item):
            twice.add(place)
        else:
            first[entry] = place
    keys: set[tuple[SensorId, str]] = set()
    for index in told.messages:
        track, message = items[index].track, items[index].reading
        assert type(message) is Trip
        key = (track.sensor_id, message_key(message).text)
        if key in keys:
            twice.add(index)
        keys.add(key)
    return twice


def _certain(items: Sequence[Item], told: _Sorted, now_ms: int) -> dict[Entry, int]:
    """Entries of readings that are surely new, of the sensors that sent doubtful ones too: the position of each."""
    doubtful = set(told.places)
    concerned = {track for track in {items[place].track for place in doubtful} if track.new_ms == now_ms}
    if not concerned:
        return {}
    near = compress(range(len(items)), map(concerned.__contains__, map(_TRACK, items)))
    return {_entry(items[place]): place for place in near if place not in doubtful}


def _entry(item: Item) -> Entry:
    return Entry(item.instant, item.mark)


def _are_equal(one: Item, other: Item) -> bool:
    """Whether two readings are the same: they may have the same entry by chance."""
    return _content(one) == _content(other)


def _content(item: Item) -> Content:
    track, reading = item.track, item.reading
    assert type(reading) is Microtrip or type(reading) is DeviceEvent
    ty = reading.ty if type(reading) is DeviceEvent else None
    return Content(track.sensor_id, ty, reading.ts, reading.payload)
