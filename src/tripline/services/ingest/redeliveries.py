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

from collections.abc import Iterator, Sequence
from itertools import compress
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec

from tripline.config import Ingest
from tripline.domain import deliveries
from tripline.domain.ids import SensorId
from tripline.domain.instants import MINUTE_MS
from tripline.services.ingest.batch import Batch, Item
from tripline.services.ingest.placement import message_key
from tripline.services.ingest.tracks import SCOPE, Track
from tripline.store.ingest import deliveries as entries
from tripline.store.ingest import tracks as rows
from tripline.store.ingest.deliveries import Content, Sent, StoredEntries
from tripline.store.transactions import ReadTx, Store
from tripline.wire.readings import DeviceEvent, Microtrip, Trip

_TRACK: Final = attrgetter("track")
_INLINE: Final = 128
"""Most lookups done on the event loop; more are done in a thread."""


class Entry(NamedTuple):
    """The lookup key of an item."""

    instant: int
    mark: int | None


class _Sorted(msgspec.Struct):
    """A batch's readings, sorted by the kind of lookup they need."""

    sent: list[Sent]
    """Possible redeliveries of microtrips and events, once for each mark that an equal one may have."""
    places: list[int]
    """Positions of these."""
    marks: dict[int, int]
    """Marks of microtrips with a header time, by position."""
    messages: list[int]
    """Positions of the trip messages."""
    hashed: set[SensorId]
    """As in `Batch`."""

    def note_hash(self, track: Track) -> None:
        """A microtrip of the sensor gets a mark with a hash and its header time."""
        if not track.has_hashes:
            track.has_hashes = True
            self.hashed.add(track.sensor_id)


async def drop(batch: Batch, *, store: Store, settings: Ingest) -> None:
    """Set the batch's new items, each with its entry, and its `hashed` sensors. Raises `Outage`."""
    items, now_ms = batch.items, batch.now_ms
    told = _sorted(items, now_ms)
    batch.new, batch.hashed = items, told.hashed
    if told.places or told.messages:
        found = await _look_up(items, told, store, int(now_ms - settings.redelivery_minutes * MINUTE_MS), now_ms)
        again = found.equal | _twice(items, told, found, now_ms)
        batch.new = [item for index, item in enumerate(items) if index not in again]


def _sorted(items: Sequence[Item], now_ms: int) -> _Sorted:
    """Find possible redeliveries, and set the entry of each item; a suspect microtrip gets the entry of the first one
    with its header time."""
    told = _Sorted([], [], {}, [], set())
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
            made_ms = 0 if last_ms == received_ms else last_ms
            is_new = made_ms > track.newest_ms
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
                    told.sent.append(Sent(index, track.sensor_id, ts, mark, None, ts, payload, made_ms))
            if not is_new:
                told.places.append(index)
                told.sent.append(Sent(index, track.sensor_id, item.instant, item.mark, None, ts, payload, made_ms))
        elif type(reading) is DeviceEvent:
            ts = reading.ts
            if ts is None and reading.event_ms == item.frame.received_ms:
                item.instant, item.mark = reading.event_ms, deliveries.untimed(track.key)
                continue
            payload, ty = reading.payload, reading.ty
            item.instant = reading.event_ms if ts is None else ts
            item.mark = mark_of(track.key, payload, ty)
            told.places.append(index)
            made_ms = 0 if reading.event_ms == item.frame.received_ms else reading.event_ms
            told.sent.append(Sent(index, track.sensor_id, item.instant, item.mark, ty, ts, payload, made_ms))
        elif type(reading) is Trip:
            told.messages.append(index)
    return told


async def _look_up(items: Sequence[Item], told: _Sorted, store: Store, since_ms: int, now_ms: int) -> StoredEntries:
    """Suspect readings that are already stored, or whose key belongs to another reading."""
    found = StoredEntries(set(), set())
    # An equal one is stored after the time it was made; if that is unknown, since the instant.
    timed = [sent for sent in told.sent if sent.made_ms]
    untimed = [sent for sent in told.sent if not sent.made_ms]
    made_ms = min((sent.made_ms for sent in timed), default=0) - deliveries.AHEAD_MS - deliveries.CLOCKS_APART_MS
    searches = [
        await entries.search(store, SCOPE, sent, since_ms=from_ms, now_ms=now_ms, found=found)
        for sent, from_ms in ((timed, made_ms), (untimed, since_ms))
    ]
    if not any(searches) and not told.messages:
        return found

    def look(tx: ReadTx) -> None:
        for search in filter(None, searches):
            search(tx)
        found.equal.update(_stored_messages(tx, items, told.messages, since_ms))

    # Stored rows never change, so a consistent snapshot is not needed.
    is_short = not store.shared and len(told.places) + len(told.messages) <= _INLINE
    await (store.read_short if is_short else store.read)(look, consistent=False)
    return found


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
            if earlier is not None and _content(items[earlier]) == _content(item):
                twice.add(place)
                continue
            if mark is None:
                mark = deliveries.mark_of(track.key, reading.payload)
            earlier = first.get(Entry(item.instant, mark))
            if is_taken:
                item.mark = mark
                entry = _entry(item)
                told.note_hash(track)
        # Different ones may share an entry by coincidence.
        if earlier is not None and _content(items[earlier]) == _content(item):
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


def _content(item: Item) -> Content:
    track, reading = item.track, item.reading
    assert type(reading) is Microtrip or type(reading) is DeviceEvent
    ty = reading.ty if type(reading) is DeviceEvent else None
    return Content(track.sensor_id, ty, reading.ts, reading.payload)
