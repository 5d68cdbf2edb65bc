"""Watches the event loop: how late it turns, and the cause of a long delay.

The loop ticks every 10 ms. While a tick is overdue, a thread samples the stack of the loop's thread; after the tick,
CPU times show which thread was computing. Sampling is impossible while another thread runs C code and holds the
interpreter lock; it then happens right after.

Not here: the switch that enables it (setting `log.held_ms`).
"""

import asyncio
import contextlib
import gc
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec

from tripline import metrics, observe

TICK_S: Final = 0.010
LOOK_S: Final = 0.005
"""Pause between two looks at a loop that is late."""
FRAMES: Final = 3
"""How many of our functions are named, the innermost first."""
_OURS: Final = f"{Path(__file__).resolve().parent.parent}{os.sep}"
_log = observe.logger("loop")


class Reading(msgspec.Struct, frozen=True):
    """Clocks at a tick, in seconds; only differences mean something."""

    at: float
    computed: float
    """CPU time of the loop's thread."""
    of_all: float
    """CPU time of all threads of the process."""
    queued: float = 0.0
    """How long the loop's thread was ready but without a processor; 0 if the system does not report it."""
    collected: float = 0.0
    """Duration of garbage collections, in any thread."""


class Held(msgspec.Struct, frozen=True):
    """How late a tick came, and where the time went, in seconds from the tick before."""

    late: float
    computed: float
    others: float
    queued: float
    collected: float

    @property
    def cause(self) -> str:
        """The use of at least half of the time: `collecting` garbage, `computing`, other `threads` of this process,
        waiting for the `processor`; else the loop's thread waits in a `call`."""
        for name, seconds in (
            ("collecting", self.collected),
            ("computing", self.computed),
            ("threads", self.others),
            ("processor", self.queued),
        ):
            if seconds >= self.late / 2:
                return name
        return "call"


def held(before: Reading, now: Reading) -> Held:
    """The delay between two ticks, and its causes."""
    computed = now.computed - before.computed
    return Held(
        late=max(0.0, now.at - before.at - TICK_S),
        computed=computed,
        others=max(0.0, now.of_all - before.of_all - computed),
        queued=now.queued - before.queued,
        collected=now.collected - before.collected,
    )


def place(frame: FrameType | None) -> str:
    """Where a thread stands: our innermost functions, behind the foreign one that the innermost of them called.

    Only the function that runs the loop means the loop's own work: sockets and TLS.
    """
    called, ours = "", list[str]()
    while frame is not None and len(ours) < FRAMES:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if file.startswith(_OURS):
            ours.append(f"{file.removeprefix(_OURS)}:{frame.f_lineno} {name}")
        elif not (called or ours):
            called = f"{'/'.join(Path(file).parts[-2:])} {name}"
        frame = frame.f_back
    named = [called, *ours] if called else ours
    return " < ".join(named)


class LoopWatch:
    """Measures the lag of the loop that runs it, and logs the cause of delays of at least `held_s`."""

    def __init__(self, *, held_s: float) -> None:
        self._held_s = held_s
        self._ended = threading.Event()
        self._seen = Counter[str]()
        """Where the loop's thread stood since the last tick, and how often."""
        self._collected, self._collecting_since = 0.0, 0.0
        self._schedule: int | None = None

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        with contextlib.ExitStack() as ending:
            with contextlib.suppress(OSError):
                self._schedule = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY)
                ending.callback(os.close, self._schedule)
            gc.callbacks.append(self._collecting)
            ending.callback(gc.callbacks.remove, self._collecting)
            self._last = self._read()
            looking = threading.Thread(target=self._look_on, name="loop-watch", daemon=True)
            looking.start()
            ending.callback(looking.join)
            ending.callback(self._ended.set)
            self._next = self._loop.call_later(TICK_S, self._tick)
            ending.callback(self._rest)
            await self._loop.create_future()

    def _rest(self) -> None:
        self._next.cancel()

    def _tick(self) -> None:
        now, before = self._read(), self._last
        seen, self._seen = self._seen, Counter[str]()
        self._last = now
        passed = held(before, now)
        metrics.LOOP_LAG.observe(passed.late)
        if passed.late >= self._held_s:
            places = seen.most_common(2)
            _log.warning(
                "loop.held",
                ms=_ms(passed.late),
                cause=passed.cause,
                place=places[0][0] if places else "unseen",
                also=[where for where, _ in places[1:]],
                computed_ms=_ms(passed.computed),
                threads_ms=_ms(passed.others),
                queued_ms=_ms(passed.queued),
                collected_ms=_ms(passed.collected),
            )
        self._next = self._loop.call_later(TICK_S, self._tick)

    def _read(self) -> Reading:
        queued = 0.0
        if self._schedule is not None:
            queued = int(os.pread(self._schedule, 100, 0).split()[1]) / 1e9
        return Reading(time.monotonic(), time.thread_time(), time.process_time(), queued, self._collected)

    def _collecting(self, phase: str, _: dict[str, int]) -> None:
        now = time.monotonic()
        if phase == "start":
            self._collecting_since = now
        else:
            self._collected += now - self._collecting_since

    def _look_on(self) -> None:
        # Before the loop counts as held: the interpreter may be ours only some milliseconds after we ask for it.
        overdue_s = TICK_S + self._held_s / 2
        while not self._ended.wait(max(LOOK_S, self._last.at + overdue_s - time.monotonic())):
            if time.monotonic() >= self._last.at + overdue_s:
                self._seen[place(sys._current_frames().get(self._thread))] += 1


def _ms(seconds: float) -> float:
    return round(seconds * 1_000, 1)
