"""The journey of a batch: decode -> check -> place -> store -> acknowledge.

One batch at a time is processed; later frames wait undecoded (`intake.py`). A batch is repeated if another process
changed the state that its placement depends on. A failure outside the store is narrowed down to its frame, for the log.
"""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import msgspec

from tripline import cooperative, metrics, observe
from tripline.config import Ingest
from tripline.domain.ids import SensorId, TimeIds
from tripline.domain.trips import Cause
from tripline.ports.devices import Source
from tripline.ports.signals import Signals
from tripline.services import batch_tries, notifications
from tripline.services.batch_tries import Stale
from tripline.services.device_frames import Answered, Frame, Refusal
from tripline.services.ingest import notices as ingest_notices
from tripline.services.ingest import redeliveries, steps
from tripline.services.ingest import traces as ingest_traces
from tripline.services.ingest.batch import Batch, Begin, Item, StoredBatch
from tripline.services.ingest.notices import Wishes
from tripline.services.ingest.placement import Placer, told_by
from tripline.services.ingest.rejected_log import Entry, RejectedLog
from tripline.services.ingest.steps import Steps
from tripline.services.ingest.tracks import SCOPE, Time, Track, Tracks
from tripline.services.live.position_keeper import PositionKeeper
from tripline.services.push import notices
from tripline.services.push.notices import Message
from tripline.services.rpc import answers as rpc_answers
from tripline.store.devices.watches import Trace
from tripline.store.transactions import Store, WriteTx
from tripline.store.trips import batch_rows
from tripline.store.trips.batch_rows import Rows
from tripline.wire import rpc
from tripline.wire.device import publish as device_publish
from tripline.wire.readings import DeviceEvent, Microtrip, Rejected, Trip


class Taken(msgspec.Struct):
    """Counts and refusals of a processed batch."""

    counts: Counter[str] = msgspec.field(default_factory=Counter)
    """Stored readings by kind; also `redelivered` and `answer`."""
    refusals: list[Refusal] = msgspec.field(default_factory=list)

    def add(self, other: "Taken") -> None:
        self.counts += other.counts
        self.refusals += other.refusals


LONG_BYTES: Final = 2**15
"""A longer body is not decoded on the event loop; usual ones have some hundred bytes, aggregates some thousand."""
LONG_BATCH_BYTES: Final = 12 * LONG_BYTES
"""A batch with a larger total is not decoded on the event loop; a full batch of usual bodies is smaller."""
TRIES: Final = 12
"""Most attempts to place a batch while other processes write to the same sensors."""
ALONE_FROM: Final = 3
"""From this attempt on, on our own database file, other processes may not commit: a server and an import command beside
it must not block each other (docs/decisions/250)."""
_LONGEST_PAUSE_S: Final = 0.2
_ALWAYS_STALE: Final = "Other processes keep changing the same sensors."
_log = observe.logger("ingest")


class Pipeline:
    """Takes batches through, one at a time, in the order given."""

    def __init__(
        self,
        *,
        store: Store,
        settings: Ingest,
        scoring_grace_s: float,
        late_grace_s: float,
        max_items: int,
        ids: TimeIds,
        signals: Signals,
        positions: PositionKeeper,
    ) -> None:
        """`late_grace_s`: how long after a late sample its trip is scored. `positions`: receives vehicle positions."""
        self._store = store
        self._settings = settings
        self._grace_s = scoring_grace_s
        self._late_grace_s = late_grace_s
        self._max_items = max_items
        self.rejected = RejectedLog(store=store, settings=settings, ids=ids)
        """Receives messages that cannot be used."""
        self._positions = positions
        self._ids = ids
        self._signals = signals
        self._long_bodies = ThreadPoolExecutor(1, thread_name_prefix="long-bodies")
        self.steps = Steps()
        """The current step of the batch."""
        self._wishes = Wishes(store, signals)
        self._watches = ingest_traces.Watches(store)
        self.tracks = Tracks(store, settings)

    async def take_in(
        self,
        frames: Sequence[Frame],
        *,
        now_ms: int,
        silent: Collection[SensorId] = (),
        again: Collection[SensorId] = (),
        begin: Begin = lambda _tx, _frames: None,
    ) -> Taken:
        """Process a batch of frames; end the trips of the `silent` sensors; reload the sensors in `again`.

        Raises `Outage` if the store is down: then unsettled frames are not stored, and the tracks of their sensors are
        discarded.
        """
        return await batch_tries.narrowed_down(
            frames,
            through=partial(self._through, now_ms=now_ms, silent=silent, again=again, begin=begin),
            recover=partial(batch_tries.skip_used_numbers, self._store, self._ids, SCOPE, now_ms=now_ms),
            set_aside=partial(self._set_aside, now_ms=now_ms, begin=begin),
            store=self._store,
        )

    async def _through(
        self,
        frames: Sequence[Frame],
        *,
        now_ms: int,
        silent: Collection[SensorId],
        again: Collection[SensorId],
        begin: Begin,
    ) -> Taken:
        """Process the frames as one batch; retry while other processes change the state it depends on."""
        self.tracks.forget(again)
        concerned = {*(frame.source.sensor_id for frame in frames), *silent, *again}

        async def attempt(turn: int) -> Taken:
            async with self._store.alone() if turn >= ALONE_FROM else contextlib.nullcontext():
                return await self._attempt(Batch(frames, concerned, silent, begin, now_ms))

        async def reload(turn: int) -> None:
            self.steps.again()
            if self._store.shared:
                # A process that lost a sensor's claim waits for a while, or both would retry forever.
                self.tracks.forget(concerned)
                await asyncio.sleep(random.uniform(0, min(0.002 * 2**turn, _LONGEST_PAUSE_S)))  # noqa: S311
            else:
                self.tracks.forget_all()
                self._wishes.forget()
                self._watches.forget()

        try:
            return await batch_tries.while_stale(attempt, reload, tries=TRIES, outage=_ALWAYS_STALE)
        # The tracks reflect a batch that was not stored: reload them.
        except Exception:
            self.tracks.forget(concerned)
            raise

    async def _attempt(self, batch: Batch) -> Taken:
        at = self.steps.at
        at(steps.TRACKS)
        over = await self._over(batch)
        at(steps.DECODE)
        await self._decode_fairly(batch)
        at(steps.REDELIVERY)
        await self._check(batch)
        at(steps.TRACKS)
        batch.pasts = await self.tracks.read_older(_old_times(batch.new))
        at(steps.PLACE)
        wanted = await self._wishes.of_companies({item.track.company_id for item in batch.new}, now_ms=batch.now_ms)
        traces = await self._watches.traces(batch)
        rows = self._place(batch, over)
        await self._keep(batch, rows, ingest_notices.messages(batch, wanted), traces)
        # From here on the batch is durable: positions and acknowledgements follow.
        self._note_positions(batch)
        await acknowledge(batch.frames)
        taken = Taken(_counts(rows, batch), batch.refusals)
        self._tell(rows, taken)
        return taken

    async def _over(self, batch: Batch) -> dict[Track, Cause]:
        """Load missing tracks; return the trips of concerned sensors that ended without a message."""
        read = await self.tracks.read(batch.concerned, now_ms=batch.now_ms)
        over = {track: Cause.REMOUNTED for track in read if track.remounted}
        for sensor_id in await self.tracks.still_silent(batch.silent, now_ms=batch.now_ms):
            track = self.tracks.get(sensor_id)
            if track is not None and track.trip is not None and not track.remounted:
                over[track] = Cause.SILENCE
        return over

    async def _decode_fairly(self, batch: Batch) -> None:
        """Decode the frames, long bodies on a thread: one of 256 KiB can hold a quarter of a million values, and a few
        of them a second would fill the event loop. Between two lots of `LONG_BYTES` the loop runs other tasks."""
        frames = batch.frames
        sizes = [len(frame.body) for frame in frames]
        total = sum(sizes)
        if total <= LONG_BYTES:
            self._decode(frames, batch)
        elif max(sizes) > LONG_BYTES or total > LONG_BATCH_BYTES:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._long_bodies, self._decode, cooperative.each(frames), batch)
        else:
            for lot in _lots(frames, sizes):
                self._decode(lot, batch)
                await asyncio.sleep(0)

    def _decode(self, frames: Iterable[Frame], batch: Batch) -> None:
        """Decode bytes into readings, answers to calls, and refusals; apply the rules for single messages."""
        items, answers, refusals = batch.items, batch.answers, batch.refusals
        track_of = self.tracks.get
        read = device_publish.read
        max_items = self._max_items
        for frame in frames:
            track = track_of(frame.source.sensor_id)
            if frame.refused is not None:
                refusals.append(Refusal(frame, frame.refused))
                continue
            topic, body = frame.topic, frame.body
            if track is None:
                unknown = Rejected(reason="unknown_sensor", detail="The sensor was removed.", body=body)
                refusals.append(Refusal(frame, unknown))
                continue
            if topic not in device_publish.CHANNELS:
                answer = rpc.answer(topic, body)
                if answer is not None:
                    answers.append(Answered(frame, answer))
                    continue
            for reading in read(
                topic, body, received_ms=frame.received_ms, sensor_type=track.sensor_type, max_items=max_items
            ):
                if type(reading) is Rejected:
                    refusals.append(Refusal(frame, reading))
                else:
                    items.append(Item(frame, track, reading, track.vehicle_id))  # type: ignore[arg-type]  # not Rejected

    async def _check(self, batch: Batch) -> None:
        await redeliveries.drop(batch, store=self._store, settings=self._settings)

    def _note_positions(self, batch: Batch) -> None:
        saw = self._positions.saw
        for item in batch.new:
            reading, vehicle_id = item.reading, item.vehicle_id
            if type(reading) is Microtrip and vehicle_id is not None:
                saw(item.track.sensor_id, vehicle_id, reading.samples, reading.last_ms)

    def _place(self, batch: Batch, over: Mapping[Track, Cause]) -> Rows:
        """End finished trips, then place the readings into trips."""
        placer = Placer(
            ids=self._ids,
            settings=self._settings,
            scoring_grace_s=self._grace_s,
            late_grace_s=self._late_grace_s,
            now_ms=batch.now_ms,
            pasts=batch.pasts,
        )
        placer.rows.hashed = batch.hashed
        for track, cause in over.items():
            placer.end(track, cause)
        placer.place(batch.new)
        return placer.rows

    async def _keep(self, batch: Batch, rows: Rows, pushes: Sequence[Message], traces: Sequence[Trace]) -> None:
        """Store the whole batch in one durable transaction. Unmatched answers join its refusals."""
        now_ms, answers, refusals = batch.now_ms, batch.answers, batch.refusals
        if refusals or answers:
            await self.rejected.know(now_ms=now_ms)

        def write(tx: WriteTx) -> StoredBatch:
            self.steps.at(steps.LOCKS)
            batch.begin(tx, batch.frames)
            self.tracks.check(tx, batch.concerned, batch.pasts)
            self.steps.at(steps.COMMIT)
            if self._wishes.stale:
                raise Stale
            batch_rows.write(tx, SCOPE, rows)
            told = [*notices.put(tx, pushes, ids=self._ids, now_ms=now_ms)]
            taken = rpc_answers.take_in(tx, answers, ids=self._ids, now_ms=now_ms) if answers else rpc_answers.Taken()
            unusable = self.rejected.plan(self._entries([*refusals, *taken.refused]), now_ms=now_ms)
            unusable.write(tx, self._ids)
            if traces:
                ingest_traces.keep(tx, traces, taken.refused, ids=self._ids, now_ms=now_ms)
            return StoredBatch(told + taken.notifications, taken, unusable)

        self.steps.at(steps.COMMIT)
        with metrics.COMMIT_SECONDS.time():
            kept = await self._store.write(write, locked=True)
        # The notification arrives one turn of the loop later; the next batch may begin before.
        self.tracks.forget(kept.taken.mounted)
        self.rejected.done(kept.unusable)
        refusals += kept.taken.refused
        notifications.send(self._signals, kept.told)

    async def _set_aside(self, frame: Frame, error: Exception, *, now_ms: int, begin: Begin) -> Taken:
        _log.error("ingest.failed", sensor=frame.source.sensor_id, exc_info=error)
        refusals = [Refusal(frame, Rejected(reason="internal", detail="", body=frame.body))]
        await self.rejected.know(now_ms=now_ms)
        unusable = self.rejected.plan(self._entries(refusals), now_ms=now_ms)

        def write(tx: WriteTx) -> None:
            begin(tx, [frame])
            unusable.write(tx, self._ids)

        await self._store.write(write, locked=True)
        self.rejected.done(unusable)
        await acknowledge([frame])
        taken = Taken(refusals=refusals)
        self._tell(Rows(), taken)
        return taken

    def _entries(self, refusals: Sequence[Refusal]) -> list[Entry]:
        entries: list[Entry] = []
        for refusal in refusals:
            frame, why = refusal.frame, refusal.rejected
            sensor_id = frame.source.sensor_id
            track = self.tracks.get(sensor_id)
            company_id = None if track is None else track.company_id
            entries.append(Entry("device", sensor_id, company_id, frame.topic, why.reason, why.detail, why.body))
        return entries

    def _tell(self, rows: Rows, taken: Taken) -> None:
        """Wake the scorer, update metrics, and log one line for each reason of refusal."""
        if rows.jobs:
            self._signals.notify(observe.SIGNAL_SCORING_DUE)
        for kind, count in taken.counts.items():
            metrics.FRAMES.labels(kind).inc(count)
        refusals = taken.refusals
        if not refusals:
            return
        sensor_of = {refusal.rejected.reason: refusal.frame.source.sensor_id for refusal in refusals}
        for reason, count in Counter(refusal.rejected.reason for refusal in refusals).items():
            metrics.REJECTS.labels(reason).inc(count)
            _log.info("ingest.reject", reason=reason, sensor=sensor_of[reason], count=count)


def _old_times(items: Sequence[Item]) -> list[Time]:
    """The times of the sensors with a reading that may need further trips, or another vehicle than the present one."""
    old: set[Track] = set()
    for item in items:
        track, reading = item.track, item.reading
        if type(reading) is Microtrip:
            first_ms = reading.first_ms
            if first_ms < track.since_ms and (first_ms < track.near_ms or reading.last_ms > track.until_ms):
                old.add(track)
        elif (time := _time(item)) is not None and time.first_ms < track.since_ms:
            old.add(track)
    return [time for item in items if item.track in old and (time := _time(item)) is not None] if old else []


def _time(item: Item) -> Time | None:
    """The time of a reading; None: it needs no trip."""
    track, reading = item.track, item.reading
    if type(reading) is Microtrip:
        return Time(track, reading.first_ms, reading.last_ms)
    if type(reading) is Trip:
        told = told_by(reading, item.frame.received_ms)
        return Time(track, told.first_ms, told.last_ms)
    return Time(track, reading.event_ms, reading.event_ms) if type(reading) is DeviceEvent else None


def _lots(frames: Sequence[Frame], sizes: Sequence[int]) -> Iterator[Sequence[Frame]]:
    """Split the frames into lots of at most `LONG_BYTES`, each with at least one frame."""
    begun = size = 0
    for at, each in enumerate(sizes):
        size += each
        if size > LONG_BYTES and at > begun:
            yield frames[begun:at]
            begun, size = at, each
    yield frames[begun:]


def _counts(rows: Rows, batch: Batch) -> Counter[str]:
    """Number of the batch's readings in the rows, by kind."""
    kept = {
        "microtrip": len(rows.microtrips) // batch_rows.MICROTRIPS.width,
        "event": len(rows.events) // batch_rows.EVENTS.width,
        "trip": rows.messages,
    }
    kept["latest"] = len(batch.new) - sum(kept.values())
    return +Counter(kept | {"redelivered": len(batch.items) - len(batch.new), "answer": len(batch.answers)})


TOLD_AT_ONCE: Final = 64
"""Sources acknowledged in one turn of the event loop: two milliseconds."""


async def acknowledge(frames: Sequence[Frame]) -> None:
    """Acknowledge the durable frames of each source in one call; QoS 0 frames (token 0) need none."""
    tokens: dict[Source, list[int]] = {}
    for frame in frames:
        if frame.token:
            tokens.setdefault(frame.source, []).append(frame.token)
    for number, (source, mine) in enumerate(tokens.items(), 1):
        try:
            source.settled(mine)
        except Exception:  # noqa: BLE001  one connection's bug must not stop the others' acknowledgements
            _log.exception("ingest.failed", sensor=source.sensor_id)
        if not number % TOLD_AT_ONCE:
            await asyncio.sleep(0)  # each is encrypted and sent: let other tasks run in between
