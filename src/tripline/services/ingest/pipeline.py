"""The journey of a batch: decode -> check -> place -> keep -> acknowledge.

One batch at a time goes through; frames that arrive meanwhile wait raw (`intake.py`). A batch that was placed against
what another process changed meanwhile goes through again. What fails without being the store's fault is narrowed down
to the frame that causes it, which goes to the rejected-message log; the others go on.

Not here: the queue and the timers (`intake.py`), the rules (`wire/device.py`, `checking.py`, `placing.py`).
"""

import asyncio
import contextlib
import random
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from tripline import observe
from tripline.config import Ingest
from tripline.domain.ids import SensorId, TimeIds, first_no
from tripline.domain.trips import Cause
from tripline.ports import Fault, Outage, Signals, Source
from tripline.services import hints
from tripline.services.hints import Hint
from tripline.services.ingest import checking, closing, pushing, steps, watching
from tripline.services.ingest.placing import Checked, Item, Placer
from tripline.services.ingest.pushing import Wishes
from tripline.services.ingest.rejecting import Entry, Plan, RejectedLog
from tripline.services.ingest.steps import Steps
from tripline.services.ingest.tracks import SCOPE, Stale, Track, Tracks
from tripline.services.push import notices
from tripline.services.push.notices import Message
from tripline.services.rpc import answers as rpc_answers
from tripline.services.rpc.answers import Answered
from tripline.store import driving
from tripline.store.deliveries import ENTRIES, Outlived
from tripline.store.driving import Rows
from tripline.store.transactions import Store, WriteTx
from tripline.wire import device, rpc, topics
from tripline.wire.readings import Rejected

Frame = tuple[Source, str, bytes, int, int, Rejected | None]
"""Source, topic, body, receipt (epoch ms), token, and the gateway's own refusal."""
Refusal = tuple[SensorId, str, int, Rejected]
"""Sensor, topic, receipt (epoch ms), and what is wrong."""
Begin = Callable[[WriteTx, Sequence[Frame]], None]
"""What a transaction that keeps these frames begins with. It may raise `Outage`: then they are not kept."""


@dataclass(slots=True)
class Taken:
    """What became of a batch."""

    counts: Counter[str] = field(default_factory=Counter)
    """How many readings were kept, by kind; how many were `redelivered`; how many were an `answer`."""
    refusals: list[Refusal] = field(default_factory=list)

    def add(self, other: "Taken") -> None:
        """Both together."""
        self.counts += other.counts
        self.refusals += other.refusals


LONG_BYTES: Final = 2**15
"""A body that is not read on the event loop; usual ones have some hundred bytes, aggregates some thousand."""
LONG_BATCH_BYTES: Final = 12 * LONG_BYTES
"""Bodies of a batch, together, that are not; a full batch of usual ones is less."""
TRIES: Final = 12
"""Times that a batch is placed anew because others write on the same sensors."""
ALONE_FROM: Final = 3
"""Times that it is, on a file of our own, before no other process may commit meanwhile."""
_LONGEST_PAUSE_S: Final = 0.2
_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 3_600_000
_log = observe.logger("ingest")


def _nothing_else(_tx: WriteTx, _frames: Sequence[Frame]) -> None:
    """A transaction begins with keeping the frames."""


class Pipeline:
    """Takes batches through, one at a time, in the order given."""

    def __init__(
        self,
        *,
        store: Store,
        settings: Ingest,
        scoring_grace_s: float,
        max_items: int,
        ids: TimeIds,
        signals: Signals,
        log: RejectedLog,
        node_id: str | None = None,
    ) -> None:
        """`log`: where messages go that cannot be used. `node_id`: under which sensors are claimed on a shared store,
        of no other pipeline and none before; default: a new one."""
        self._store = store
        self._settings = settings
        self._grace_s = scoring_grace_s
        self._max_items = max_items
        self.node_id = node_id or str(uuid.uuid4())
        self._rejected = log
        self._ids = ids
        self._signals = signals
        self.steps = Steps()
        """What the batch under way is at."""
        self._wishes = Wishes(store, signals)
        self._watches = watching.Watches(store, max_items=max_items)
        self._memory_ms = max(settings.reopen_minutes, settings.redelivery_minutes) * _MINUTE_MS
        self._outlived = Outlived()
        self.tracks = Tracks(store, memory_ms=self._memory_ms, node_id=self.node_id)

    async def take_in(
        self,
        frames: Sequence[Frame],
        *,
        now_ms: int,
        silent: Collection[SensorId] = (),
        again: Collection[SensorId] = (),
        begin: Begin = _nothing_else,
    ) -> Taken:
        """Take a batch of frames to its end; end the trips of the `silent` sensors; read the sensors in `again` anew.

        Raises `Outage` when the store is away: then every frame that was not settled is not kept, and no track of its
        sensor is trusted.
        """
        self.tracks.forget(again)
        concerned = {frame[0].sensor_id for frame in frames}
        concerned.update(silent, again)
        try:
            try:
                return await self._as_it_is(frames, concerned, silent, now_ms, begin)
            except Outage:
                raise
            except Exception:  # noqa: BLE001  a second try tells what the clock did
                await self._skip_numbers(concerned, now_ms)
                return await self._as_it_is(frames, concerned, silent, now_ms, begin)
        except Outage:
            self.tracks.forget(concerned)
            raise
        except Exception as error:
            self.tracks.forget(concerned)
            damage = self._store.troubles.present
            if damage is not None and damage.fault is Fault.DAMAGED:
                raise damage from error  # what was read may be no bug of ours: nothing is set aside while it may be so
            if not frames:
                raise
            return await self._narrow_down(frames, now_ms, silent, again, begin)

    async def _as_it_is(
        self,
        frames: Sequence[Frame],
        concerned: Collection[SensorId],
        silent: Collection[SensorId],
        now_ms: int,
        begin: Begin,
    ) -> Taken:
        """Through, again for as long as another process changes meanwhile what the batch is placed against."""
        for turn in range(TRIES):
            try:
                async with self._store.alone() if turn >= ALONE_FROM else contextlib.nullcontext():
                    return await self._through(frames, concerned, silent, now_ms, begin)
            except Stale:
                self.steps.again()
                if self._store.shared:
                    # Whom another process took a sensor from waits a while, or both would for ever.
                    self.tracks.forget(concerned)
                    await asyncio.sleep(random.uniform(0, min(0.002 * 2**turn, _LONGEST_PAUSE_S)))  # noqa: S311
                else:
                    self.tracks.forget_all()
                    self._wishes.forget()
                    self._watches.forget()
        raise Outage("Other processes take in data of the same sensors all the time.")

    async def _skip_numbers(self, concerned: Collection[SensorId], now_ms: int) -> None:
        """Forget what may be wrong, and skip row numbers that are taken: by another process, or by this installation
        before its clock was set back. On a shared store others may have a clock that is far ahead."""
        self.tracks.forget(concerned)
        before_no = first_no(now_ms + _HOUR_MS) if self._store.shared else None
        self._ids.skip_to(await self._store.read_short(lambda tx: driving.newest_no(tx, SCOPE, before_no=before_no)))

    async def _through(
        self,
        frames: Sequence[Frame],
        concerned: Collection[SensorId],
        silent: Collection[SensorId],
        now_ms: int,
        begin: Begin,
    ) -> Taken:
        at = self.steps.at
        at(steps.TRACKS)
        over = await self._over(concerned, silent, now_ms)
        at(steps.DECODE)
        readings, answers, refusals = await self._decoded(frames)
        at(steps.REDELIVERY)
        new = await self._check(readings, now_ms)
        items = new.items
        at(steps.PLACE)
        wanted = await self._wishes.about(items, now_ms=now_ms)
        traces = await self._watches.traces(frames, readings, items, self.tracks, now_ms=now_ms)
        rows = self._place(new, over, now_ms)
        messages = pushing.messages(items, wanted=wanted, told_vehicles=rows.messages)
        await self._keep(lambda tx: begin(tx, frames), concerned, rows, messages, answers, refusals, traces, now_ms)
        acknowledge(frames)
        taken = Taken(_counts(rows, readings, items, answers), refusals)
        self._tell(rows, taken)
        return taken

    async def _over(
        self, concerned: Collection[SensorId], silent: Collection[SensorId], now_ms: int
    ) -> list[tuple[Track, Cause]]:
        """Read the tracks that are missing; which of the concerned trips ended without a message being needed."""
        read = await self.tracks.read(concerned, now_ms=now_ms)
        over = [(track, Cause.REMOUNTED) for track in read if track.remounted]
        for sensor_id in await closing.still_silent(self._store, self._settings, silent, now_ms=now_ms):
            track = self.tracks.get(sensor_id)
            if track is not None and track.trip is not None and not track.remounted:
                over.append((track, Cause.SILENCE))
        return over

    async def _decoded(self, frames: Sequence[Frame]) -> tuple[list[Item], list[Answered], list[Refusal]]:
        """As `_decode`; long bodies are read on a thread: one of 256 KiB can hold a quarter of a million values, and
        whoever sends a few of them a second would have the event loop for itself."""
        sizes = [len(frame[2]) for frame in frames]
        if sizes and (max(sizes) > LONG_BYTES or sum(sizes) > LONG_BATCH_BYTES):
            return await asyncio.to_thread(self._decode, frames)
        return self._decode(frames)

    def _decode(self, frames: Sequence[Frame]) -> tuple[list[Item], list[Answered], list[Refusal]]:
        """Bytes into readings, every rule on a single message applied; answers to calls, and what cannot be used."""
        readings: list[Item] = []
        answers: list[Answered] = []
        refusals: list[Refusal] = []
        track_of = self.tracks.get
        read = device.read
        max_items = self._max_items
        for source, topic, body, received_ms, _, refused in frames:
            sensor_id = source.sensor_id
            track = track_of(sensor_id)
            if refused is not None:
                refusals.append((sensor_id, topic, received_ms, refused))
                continue
            if track is None:
                unknown = Rejected(reason="unknown_sensor", detail="The sensor was removed.", body=body)
                refusals.append((sensor_id, topic, received_ms, unknown))
                continue
            if topic not in topics.DATA:
                answer = rpc.answer(topic, body)
                if answer is not None:
                    answers.append((sensor_id, topic, answer, received_ms))
                    continue
            for reading in read(
                topic, body, received_ms=received_ms, sensor_type=track.sensor_type, max_items=max_items
            ):
                if type(reading) is Rejected:
                    refusals.append((sensor_id, topic, received_ms, reading))
                else:
                    readings.append((track, reading, received_ms))  # type: ignore[arg-type]  # not Rejected
        return readings, answers, refusals

    async def _check(self, readings: Sequence[Item], now_ms: int) -> Checked:
        """What was taken in before goes no further."""
        return await checking.without_redelivered(readings, store=self._store, settings=self._settings, now_ms=now_ms)

    def _place(self, new: Checked, over: Collection[tuple[Track, Cause]], now_ms: int) -> Rows:
        """Into trips, after ending those that are over."""
        placer = Placer(ids=self._ids, settings=self._settings, scoring_grace_s=self._grace_s, now_ms=now_ms)
        for track, cause in over:
            placer.end(track, cause)
        placer.place(new)
        return placer.rows

    async def _keep(
        self,
        begin: Callable[[WriteTx], None],
        concerned: Collection[SensorId],
        rows: Rows,
        messages: Sequence[Message],
        answers: Sequence[Answered],
        refusals: list[Refusal],
        traces: Sequence[watching.Trace],
        now_ms: int,
    ) -> None:
        """Everything of the batch, in one durable transaction. Answers to no call join the `refusals`."""
        if refusals or answers:
            await self._rejected.know(now_ms=now_ms)
        unusable = self._rejected.plan(self._entries(refusals), now_ms=now_ms)

        def write(tx: WriteTx) -> tuple[list[Hint], list[Refusal], Plan]:
            self.steps.at(steps.LOCKS)
            begin(tx)
            self.tracks.check(tx, concerned)
            self.steps.at(steps.COMMIT)
            if self._wishes.stale:
                raise Stale
            driving.write(tx, SCOPE, rows)
            if rows.entries and not tx.shared:
                added = len(rows.entries) // ENTRIES.width
                self._outlived.drop_some(tx, SCOPE, added=added, before_ms=int(now_ms - self._memory_ms))
            unusable.write(tx, self._ids)
            told = [*notices.put(tx, messages, ids=self._ids, now_ms=now_ms)]
            taken = rpc_answers.take_in(tx, answers, ids=self._ids, now_ms=now_ms) if answers else rpc_answers.Taken()
            uncalled = self._rejected.plan(self._entries(taken.refused), now_ms=now_ms)
            uncalled.write(tx, self._ids)
            if traces:
                watching.keep(tx, traces, taken.refused, ids=self._ids, now_ms=now_ms)
            return told + taken.hints, taken.refused, uncalled

        self.steps.at(steps.COMMIT)
        with observe.COMMIT_SECONDS.time():
            told, unknown, uncalled = await self._store.write(write, locked=True)
        self._rejected.done(unusable)
        self._rejected.done(uncalled)
        refusals += unknown
        hints.tell(self._signals, told)

    async def _narrow_down(
        self,
        frames: Sequence[Frame],
        now_ms: int,
        silent: Collection[SensorId],
        again: Collection[SensorId],
        begin: Begin,
    ) -> Taken:
        """Something is wrong with the batch: take its halves in, and set the one bad frame aside."""
        if len(frames) > 1:
            half = len(frames) // 2
            taken = await self.take_in(frames[:half], now_ms=now_ms, silent=silent, again=again, begin=begin)
            taken.add(await self.take_in(frames[half:], now_ms=now_ms, begin=begin))
            return taken
        source, topic, body, received_ms, _, _ = frames[0]
        _log.exception("ingest.failed", sensor=source.sensor_id)
        refusals = [(source.sensor_id, topic, received_ms, Rejected(reason="internal", detail="", body=body))]
        await self._rejected.know(now_ms=now_ms)
        unusable = self._rejected.plan(self._entries(refusals), now_ms=now_ms)

        def write(tx: WriteTx) -> None:
            begin(tx, frames)
            unusable.write(tx, self._ids)

        await self._store.write(write, locked=True)
        self._rejected.done(unusable)
        acknowledge(frames)
        taken = Taken(refusals=refusals)
        self._tell(Rows(), taken)
        return taken

    def _entries(self, refusals: Sequence[Refusal]) -> list[Entry]:
        """What the rejected-message log is told."""
        entries: list[Entry] = []
        for sensor_id, topic, _, refused in refusals:
            track = self.tracks.get(sensor_id)
            company_id = None if track is None else track.company_id
            entries.append(Entry("device", sensor_id, company_id, topic, refused.reason, refused.detail, refused.body))
        return entries

    def _tell(self, rows: Rows, taken: Taken) -> None:
        """Who waits for scoring jobs; metrics; one log line for each reason of refusal."""
        if rows.jobs:
            self._signals.notify(observe.SIGNAL_SCORING_DUE)
        for kind, count in taken.counts.items():
            observe.FRAMES.labels(kind).inc(count)
        refusals = taken.refusals
        if not refusals:
            return
        sensor_of = {refused.reason: sensor_id for sensor_id, _, _, refused in refusals}
        for reason, count in Counter(refused.reason for _, _, _, refused in refusals).items():
            observe.REJECTS.labels(reason).inc(count)
            _log.info("ingest.reject", reason=reason, sensor=sensor_of[reason], count=count)


def _counts(rows: Rows, readings: Sequence[Item], items: Sequence[Item], answers: Sequence[Answered]) -> Counter[str]:
    """What is in the rows, by kind; `items` are those of the `readings` that are new."""
    kept = {
        "microtrip": len(rows.microtrips) // driving.MICROTRIPS.width,
        "event": len(rows.events) // driving.EVENTS.width,
        "trip": len(rows.messages),
    }
    kept["latest"] = len(items) - sum(kept.values())
    return +Counter(kept | {"redelivered": len(readings) - len(items), "answer": len(answers)})


def acknowledge(frames: Sequence[Frame]) -> None:
    """Tell each source once which of its frames are durable; QoS 0 frames (token 0) wait for no answer."""
    tokens: dict[Source, list[int]] = {}
    for source, _, _, _, token, _ in frames:
        if token:
            mine = tokens.get(source)
            if mine is None:
                tokens[source] = [token]
            else:
                mine.append(token)
    for source, mine in tokens.items():
        try:
            source.settled(mine)
        except Exception:  # noqa: BLE001  one connection's bug must not stop the others' acknowledgements
            _log.exception("ingest.failed", sensor=source.sensor_id)
