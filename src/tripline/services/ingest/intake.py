"""The intake of the pipeline: collect frames, process batches one at a time, end silent trips.

A batch starts `commit_ms` after its first frame, or when it is full; while one commits, the next collects. When the
store is down, nothing is acknowledged: every source is abandoned, and the intake opens again after a pause.

A second task sweeps: it finds silent trips and deletes old rows. Batches never wait for it; the silent trips end with
the next batch.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from typing import Final

from tripline import metrics, observe
from tripline.config import Ingest
from tripline.domain.ids import SensorId
from tripline.ports.clocks import Clock
from tripline.ports.devices import Source
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals
from tripline.services import batch_tries, poll_loop
from tripline.services.device_frames import Frame
from tripline.services.ingest import batch_splits, release, traces
from tripline.services.ingest.batch import Begin
from tripline.services.ingest.batch_splits import Split
from tripline.services.ingest.pipeline import Pipeline, Taken
from tripline.store.transactions import Store
from tripline.wire.readings import Rejected

SWEEP_S: Final = 5.0
"""Pause between two sweeps."""
_IDLE_MS: Final = 1_200_000
"""A sensor without an open trip is forgotten after 20 minutes, when none of its data can matter any more."""
BATCH_BYTES: Final = 2**20
"""Most bytes of bodies in a batch, unless a single one is longer; ordinary messages have some hundred bytes."""
DEVICES: Final = "devices"
BUS: Final = "bus"
"""Origin of a batch, for the log: this process's own devices, or customers' systems."""
BACKLOG_BYTES: Final = 64 * 2**20
"""Total bytes of waiting bodies above which sources should stop reading: `backlog` counts frames of any length."""
_log = observe.logger("ingest")


StoredUntil = Callable[[int], Awaitable[int | None]]
"""Return an instant, at most the given one, before which every message acknowledged to a device is stored; None: not
known yet."""


class Intake:
    """Implements `ports.devices.Intake`. Create it on the event loop; it does nothing until `run` is started."""

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        store: Store,
        settings: Ingest,
        signals: Signals,
        clock: Clock,
        stored_until: StoredUntil | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._stored_until = stored_until
        self._commit_s = settings.commit_ms / 1000
        self._pipeline = pipeline
        self.rejected = pipeline.rejected
        self.steps = pipeline.steps
        """The steps of the latest batch."""
        self._loop = asyncio.get_running_loop()
        self._batch = settings.batch
        self._waiting: list[Frame] = []
        self._size = 0
        """Total bytes of the waiting bodies."""
        self._changed: set[SensorId] = set()
        self._wake = asyncio.Event()
        self._passing = asyncio.Lock()
        """Locked while a batch is processed."""
        self._stop = asyncio.Event()
        self._silent: Sequence[SensorId] = ()
        """Sensors whose trip ends with the next batch, if it is still silent."""
        self._ended = asyncio.Event()
        """Set when a batch with such sensors is done."""
        self._outages = 0
        self.away = False
        """True if the store failed to commit the latest batch and has not been tried since."""
        self.swept = False
        """True if the last sweep left nothing to do."""
        signals.subscribe(observe.SIGNAL_SENSOR_CHANGED, self._sensor_changed)

    def offer(self, source: Source, topic: str, body: bytes, received_ms: int, token: int) -> None:
        self._queue(Frame(source, topic, body, received_ms, token))

    def refuse(
        self, source: Source, topic: str, head: bytes, received_ms: int, token: int, reason: str, size: int
    ) -> None:
        refused = Rejected(reason=reason, detail=f"{size} bytes", body=head)
        self._queue(Frame(source, topic, head, received_ms, token, refused))

    @property
    def crowded(self) -> bool:
        return len(self._waiting) >= self._settings.backlog or self._size >= BACKLOG_BYTES or self.away

    async def let_go_of(self, deleted: Collection[str]) -> None:
        """Wait until no batch refers to these deleted vehicles or sensors any more, in any process, so that all their
        rows are written. Raises `Outage`."""
        async with self._passing:
            self._pipeline.tracks.forget_deleted(frozenset(deleted))
        if self._store.shared:
            await release.everywhere(self._store, deleted)

    async def take_in(self, frames: Sequence[Frame], *, begin: Begin, kind: str = BUS) -> Taken:
        """Process a batch that was cut elsewhere, in turn with this intake's batches. Raises `Outage`: then only the
        transactions that ran `begin` before are stored. `kind`: origin of the batch, for the log."""
        async with self._in_turn(kind, frames):
            return await self._pipeline.take_in(frames, now_ms=self._clock(), begin=begin)

    @contextlib.asynccontextmanager
    async def _in_turn(self, kind: str, frames: Sequence[Frame]) -> AsyncIterator[None]:
        """Process one batch at a time; log a slow one."""
        offered_s = self._loop.time()
        async with self._passing:
            waited_s = self._loop.time() - offered_s
            with self.steps.batch(kind, (frame.body for frame in frames), waited_s=waited_s):
                yield

    async def run(self) -> None:
        """Process batches until `stop`, then the remaining frames."""
        async with asyncio.TaskGroup() as tasks:
            sweeping = tasks.create_task(self._sweep_forever())
            while not self._stop.is_set() or self._waiting:
                await self._wake.wait()
                self._wake.clear()
                if self._waiting or self._changed or self._silent:
                    await self._turn()
                if self.away:
                    await self._pause()
            sweeping.cancel()
        await self.settle_rejected()

    async def settle_rejected(self) -> None:
        """Write the number of messages that were only counted; if the store is down, the log lines must do."""
        with contextlib.suppress(Outage):
            await self.rejected.settle(now_ms=self._clock())

    def stop(self) -> None:
        """Make `run` process the remaining frames and end. Do not offer frames afterwards."""
        self._stop.set()
        self._wake.set()

    def _queue(self, frame: Frame) -> None:
        waiting = self._waiting
        waiting.append(frame)
        self._size += len(frame.body)
        count = len(waiting)
        # The first frame starts the timer of a batch; later frames share it.
        if count == 1:
            self._loop.call_later(self._commit_s, self._wake.set)
        elif count == self._batch:
            self._wake.set()

    async def _turn(self) -> None:
        """Process one batch of waiting frames. An outage abandons it and all later frames."""
        if self._size <= BATCH_BYTES:
            split = Split(self._waiting[: self._batch], self._waiting[self._batch :])
        else:
            split = batch_splits.fairly(self._waiting, self._batch, BATCH_BYTES)
        frames, later = batch_splits.behind_results(split.together)
        self._waiting = later + split.later
        self._size = self._size - sum(len(frame.body) for frame in frames) if self._waiting else 0
        if self._waiting or self._stop.is_set():
            self._wake.set()
        again, self._changed = self._changed, set()
        silent, self._silent = self._silent, ()
        now_ms = frames[-1].received_ms if frames else self._clock()
        try:
            async with self._in_turn(DEVICES, frames):
                await self._pipeline.take_in(frames, now_ms=now_ms, silent=silent, again=again)
        except Outage as outage:
            self._changed |= again
            self._abandon(frames, outage)
        except Exception:  # noqa: BLE001  the pipeline goes on for the other devices after any error
            _log.exception("ingest.failed", sensor=None)
            self._abandon(frames, None)
        else:
            self._outages = 0
        if silent:
            self._ended.set()

    def _abandon(self, frames: list[Frame], outage: Outage | None) -> None:
        """Abandon these frames and all waiting ones: call each source once."""
        self._outages += 1
        self.away = True
        # Waiting frames are dropped, too: a device's frame must not be acknowledged before an earlier one is stored.
        frames = frames + self._waiting
        self._waiting, self._size = [], 0
        sources: dict[Source, None] = dict.fromkeys(frame.source for frame in frames)
        _log.warning("ingest.outage", reason=str(outage), frames=len(frames), sources=len(sources))
        metrics.FRAMES.labels("abandoned").inc(len(frames))
        for source in sources:
            source.abandoned()

    async def _pause(self) -> None:
        """Pause before the store is tried again, longer with every consecutive outage."""
        pause_s = batch_tries.pause_s(self._outages)
        await poll_loop.set_within(self._stop, pause_s)
        # Open for the next batch, which is the trial: staying shut would never let a trial frame in.
        self.away = False
        if self._waiting or self._changed:
            self._wake.set()

    async def _sweep_forever(self) -> None:
        while True:
            pause_s = SWEEP_S
            try:
                if await self._sweep():
                    pause_s = 0
            except Outage as outage:
                _log.warning("ingest.outage", reason=str(outage), frames=0, sources=0)
            except Exception:  # noqa: BLE001  as above
                _log.exception("ingest.failed", sensor=None)
            self.swept = pause_s > 0
            await asyncio.sleep(pause_s)

    async def _sweep(self) -> bool:
        """End silent trips and delete old rows; true if old rows are left. Raises `Outage`."""
        now_ms = self._clock()
        # All messages before this instant are stored.
        until_ms = now_ms if self._stored_until is None else await self._stored_until(now_ms)
        silent = [] if until_ms is None else await self._pipeline.tracks.silent(now_ms=until_ms)
        if silent:
            self._ended.clear()
            self._silent = silent
            self._wake.set()
            await self._ended.wait()
        more = await self.rejected.tend(now_ms=now_ms)
        more = await traces.purge(self._store, now_ms=now_ms) or more
        # Between two batches: the current one may need a track that was idle until now.
        async with self._passing:
            self._pipeline.tracks.forget_idle(before_ms=now_ms - _IDLE_MS)
        return more

    def _sensor_changed(self, sensor_id: str) -> None:
        self._changed.add(SensorId(sensor_id))
        self._wake.set()
