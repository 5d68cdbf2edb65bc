"""Find readings that were received before (O3, I3), so that a redelivery changes nothing.

A microtrip is new if its header time, or its last sample's own time, is later than every stored one of the sensor;
this costs three comparisons and covers nearly all. Every other message with a time is looked up by its entry
(`store/ingest/deliveries.py`), all messages of a batch together, and within the batch itself. So late data and
redelivered data cost the same in a trip of any length. The first microtrip with a header time has the sensor's mark;
another one with that time has a mark with a hash of its payload. Few sensors have such, and only theirs are looked up
twice.

A message whose only time is a header time that cannot be true is a redelivery for some minutes. One without any time,
neither in the header nor its own, never is: two equal ones may be two facts.

Not here: rejecting unusable bodies (`wire/device/publish.py`).
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import compress
from operator import attrgetter
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from tripline.config import Ingest
from tripline.domain import deliveries
from tripline.domain.ids import SensorId
from tripline.services.ingest.batch import Item
from tripline.services.ingest.placement import message_key
from tripline.services.ingest.tracks import SCOPE, Track
from tripline.store.ingest import deliveries as entries
from tripline.store.ingest import tracks as rows
from tripline.store.ingest.deliveries import Content, Noted, Sent, StoredEntries
from tripline.store.transactions import ReadTx, Store
from tripline.wire.readings import DeviceEvent, Microtrip, Trip

_MINUTE_MS: Final = 60_000
_TRACK: Final = attrgetter("track")
_INLINE: Final = 128
"""Most lookups done on the event loop; more are done in a thread."""


class Entry(NamedTuple):
    """The lookup key of an item."""

    instant: int
    mark: int | None


_Doubtful = TypeVar("_Doubtful", Sent, Noted)


class Checked(NamedTuple):
    """The new items of a batch, in order."""

    new: Sequence[Item]
    hashed: Collection[SensorId] = ()
    """Sensors that get their first mark with a hash beside one without."""


class _Part(NamedTuple, Generic[_Doubtful]):
    """Suspect readings that share one look-up, among rows stored since an instant."""

    since_ms: int
    sent: Sequence[_Doubtful]


class _Sorted(msgspec.Struct):
    """A batch's readings, sorted by the kind of lookup they need."""

    microtrips: list[Sent]
    """Possible redeliveries, once for each mark that an equal one may have; likewise `events`."""
    events: list[Sent]
    places: list[int]
    """Positions of both."""
    marks: dict[int, int]
    """Marks of microtrips with a header time, by position."""
    messages: list[int]
    """Positions of the trip messages."""
    hashed: set[SensorId]
    """As of `Checked`."""

    def note_hash(self, track: Track) -> None:
        """A microtrip of the sensor gets a mark with a hash and its header time."""
        if not track.has_hashes:
            track.has_hashes = True
            self.hashed.add(track.sensor_id)


async def without_redelivered(items: Sequence[Item], *, store: Store, settings: Ingest, now_ms: int) -> Checked:
    """Return the new items, each with its entry. Raises `Outage`."""
    since_ms = int(now_ms - settings.redelivery_minutes * _MINUTE_MS)
    told = _sorted(items, now_ms)
    if not told.places and not told.messages:
        return Checked(items, told.hashed)

    # Stored rows never change, so a consistent snapshot is not needed.
    look = _looking_shared if store.shared else _looking
    found = await look(items, told, store, since_ms, now_ms)
    again = found.equal | _twice(items, told, found, now_ms)
    new = items if not again else [item for index, item in enumerate(items) if index not in again]
    return Checked(new, told.hashed)


def _sorted(items: Sequence[Item], now_ms: int) -> _Sorted:
    """Find possible redeliveries, and set the entry of each item; a suspect microtrip gets the entry of the first one
    with its header time."""
    told = _Sorted([], [], [], {}, [], set())
    latest_ts = now_ms + deliveries.AHEAD_MS
    mark_of = deliveries.mark_of
    for index, item in enumerate(items):
        track, reading = item.track, item.reading
        if type(reading) is Microtrip:
            ts = reading.ts
            last_ms = reading.last_ms
            # A last sample at exactly the instant of receipt has no time of its own (T3), except by coincidence.
            if ts is not None and track.newest_ts < ts <= latest_ts:
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
            made_ms = None if last_ms == received_ms else last_ms
            is_new = made_ms is not None and last_ms > track.newest_ms
            if is_new:
                track.newest_ms = last_ms
                track.new_ms = now_ms
            if ts is None:
                item.instant, item.mark = last_ms, mark_of(key, payload)
            elif is_new:
                item.instant, item.mark = ts, mark_of(key, payload)
                told.note_hash(track)
            else:
                item.instant, item.mark = ts, key
                if track.has_hashes:
                    mark = told.marks[index] = mark_of(key, payload)
                    told.microtrips.append(Sent(index, track.sensor_id, ts, mark, None, ts, payload, made_ms))
            if not is_new:
                told.places.append(index)
                told.microtrips.append(
                    Sent(index, track.sensor_id, item.instant, item.mark, None, ts, payload, made_ms)
                )
        elif type(reading) is DeviceEvent:
            ts = reading.ts
            if ts is None and reading.event_ms == item.frame.received_ms:
                item.instant, item.mark = reading.event_ms, deliveries.untimed(track.key)
                continue
            payload, ty = reading.payload, reading.ty
            item.instant = reading.event_ms if ts is None else ts
            item.mark = mark_of(track.key, payload, ty)
            told.places.append(index)
            made_ms = None if reading.event_ms == item.frame.received_ms else reading.event_ms
            told.events.append(Sent(index, track.sensor_id, item.instant, item.mark, ty, ts, payload, made_ms))
        elif type(reading) is Trip:
            told.messages.append(index)
    return told


async def _looking(items: Sequence[Item], told: _Sorted, store: Store, since_ms: int, _now_ms: int) -> StoredEntries:
    """Suspect readings that are already stored, or whose key belongs to another reading."""
    parts = _by_time(told, since_ms)

    def look(tx: ReadTx) -> StoredEntries:
        found = StoredEntries(set(), set())
        for part in parts:
            entries.stored(tx, SCOPE, part.sent, since_ms=part.since_ms, found=found)
        found.equal.update(_stored_messages(tx, items, told.messages, since_ms))
        return found

    doubtful = len(told.places) + len(told.messages)
    return await (store.read_short if doubtful <= _INLINE else store.read)(look, consistent=False)


async def _looking_shared(
    items: Sequence[Item], told: _Sorted, store: Store, since_ms: int, now_ms: int
) -> StoredEntries:
    """Like `_looking`, in a shared database: rows are read only for entries that exist."""
    parts = [
        _Part(part.since_ms, await entries.noted(store, SCOPE, part.sent, since_ms=part.since_ms, now_ms=now_ms))
        for part in _by_time(told, since_ms)
    ]

    def look(tx: ReadTx) -> StoredEntries:
        found = StoredEntries(set(), set())
        for part in parts:
            entries.compared(tx, SCOPE, part.sent, since_ms=part.since_ms, now_ms=now_ms, found=found)
        found.equal.update(_stored_messages(tx, items, told.messages, since_ms))
        return found

    if not told.messages and not any(part.sent for part in parts):
        return StoredEntries(set(), set())
    return await store.read(look, consistent=False)


def _by_time(told: _Sorted, since_ms: int) -> list[_Part[Sent]]:
    """The suspect readings, by how far back an equal one may be stored: not before the time it was made, or since the
    instant, if that time is unknown."""
    timed: list[Sent] = []
    untimed: list[Sent] = []
    for sent in (*told.microtrips, *told.events):
        (untimed if sent.made_ms is None else timed).append(sent)
    made_ms = min((sent.made_ms for sent in timed if sent.made_ms is not None), default=0)
    parts = (_Part(made_ms - deliveries.AHEAD_MS - deliveries.CLOCKS_APART_MS, timed), _Part(since_ms, untimed))
    return [part for part in parts if part.sent]


def _stored_messages(tx: ReadTx, items: Sequence[Item], places: Sequence[int], since_ms: int) -> Iterator[int]:
    """Positions of stored trip messages."""
    for index in places:
        track, message = items[index].track, items[index].reading
        assert type(message) is Trip
        key = message_key(message)
        since = 0 if key.for_ever or message.header_ms is not None else since_ms
        if rows.message_stored(tx, SCOPE, track.sensor_id, message_key=key.text, since_ms=since):
            yield index


def _twice(items: Sequence[Item], told: _Sorted, stored: StoredEntries, now_ms: int) -> set[int]:
    """Positions of suspect readings that repeat an earlier one of the batch. A microtrip that shares its header time
    with another one, stored or in the batch, gets its own mark."""
    twice: set[int] = set()
    first = _certain(items, told, now_ms)
    # Usually a device that delivers old data sends nothing else meanwhile, and no message twice.
    entries_ = {_entry(items[place]) for place in told.places}
    are_alone = len(entries_) == len(told.places) and first.keys().isdisjoint(entries_)
    for place in () if are_alone and not (stored.other or told.marks) else told.places:
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
                told.note_hash(track)
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
    """Entries and positions of new readings from sensors that also sent suspect ones."""
    doubtful = set(told.places)
    concerned = {track for track in {items[place].track for place in doubtful} if track.new_ms == now_ms}
    if not concerned:
        return {}
    near = compress(range(len(items)), map(concerned.__contains__, map(_TRACK, items)))
    return {_entry(items[place]): place for place in near if place not in doubtful}


def _entry(item: Item) -> Entry:
    return Entry(item.instant, item.mark)


def _are_equal(one: Item, other: Item) -> bool:
    """True if two readings are equal; different ones may share an entry by coincidence."""
    return _content(one) == _content(other)


def _content(item: Item) -> Content:
    track, reading = item.track, item.reading
    assert type(reading) is Microtrip or type(reading) is DeviceEvent
    ty = reading.ty if type(reading) is DeviceEvent else None
    return Content(track.sensor_id, ty, reading.ts, reading.payload)
