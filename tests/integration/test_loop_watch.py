"""A real event loop that is held: what is logged and measured of it, inside a process and of a server."""

import asyncio
import gc
import io
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import uvloop
from tests.support import logs, servers, waits

from tripline import metrics
from tripline.adapters import loop_watch
from tripline.adapters.loop_watch import TICK_S, LoopWatch

HELD_S = 0.3
PATIENCE_S = 20


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    found = io.StringIO()
    logs.plain(found)
    yield found
    logs.plain()


def watched(stream: io.StringIO, hold: Callable[[], None], *, held_s: float = HELD_S / 2) -> list[dict[str, Any]]:
    """What is logged of a loop that this holds once."""

    async def play() -> None:
        watching = asyncio.ensure_future(LoopWatch(held_s=held_s).run())
        await asyncio.sleep(5 * TICK_S)
        hold()
        await asyncio.sleep(5 * TICK_S)
        watching.cancel()
        await asyncio.wait([watching])

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(play())
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def _compute() -> None:
    end = time.thread_time() + HELD_S
    while time.thread_time() < end:
        pass


def _hold_in_a_call() -> None:
    time.sleep(HELD_S)


def _hold_by_another_thread() -> None:
    other = threading.Thread(target=_compute)
    other.start()
    other.join()


@pytest.mark.parametrize(
    ("hold", "spent"),
    [(_compute, "computed_ms"), (_hold_in_a_call, "ms"), (_hold_by_another_thread, "threads_ms")],
)
def test_holder_is_named_with_what_the_time_went_to(hold, spent, stream, monkeypatch):
    monkeypatch.setattr(loop_watch, "_OURS", __file__.removesuffix("test_loop_watch.py"))
    gc.disable()  # pytest's own rubbish may take as long

    try:
        lines = watched(stream, hold)
    finally:
        gc.enable()

    (line,) = [line for line in lines if hold.__name__ in line["place"]]
    assert (line["event"], line["level"]) == ("loop.held", "warning")
    assert line[spent] >= 1_000 * (HELD_S - 2 * TICK_S)
    others = {"computed_ms", "threads_ms"} - {spent}
    assert max(line[each] for each in others) < 1_000 * HELD_S / 2


def test_garbage_collection_is_named(stream):
    class Slow:
        """Takes its time when it is collected."""

        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            _compute()

    def hold() -> None:
        Slow()
        gc.collect()

    assert max(watched(stream, hold), key=lambda line: line["ms"])["collected_ms"] >= 1_000 * HELD_S


def test_loop_that_is_held_for_less_than_asked_is_measured_and_not_told(stream):
    def lag_s() -> float:
        samples = metrics.LOOP_LAG.collect()[0].samples
        return next(each.value for each in samples if each.name.endswith("_sum"))

    before = lag_s()

    assert watched(stream, lambda: time.sleep(0.2), held_s=60.0) == []
    assert lag_s() - before > 0.2 - 2 * TICK_S


def test_nothing_is_left_of_a_watch_that_ended(stream):
    before = threading.active_count(), len(gc.callbacks)

    watched(stream, lambda: None)

    assert (threading.active_count(), len(gc.callbacks)) == before


@pytest.mark.sqlite("the event loop, whatever the store")
def test_server_that_stood_still_says_so(tmp_path):
    variables = {"TRIPLINE_LOG_HELD_MS": "400", "TRIPLINE_LOG_FORMAT": "json"}
    with servers.serving(tmp_path / "data", variables=variables) as server:
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        server.process.send_signal(signal.SIGCONT)
        told = waits.seen(lambda: [line for line in server.log() if '"loop.held"' in line], within_s=PATIENCE_S)
        metrics = httpx.get(f"{server.api}/metrics").text

    line = json.loads(told[-1])
    assert line["ms"] >= 400
    assert line["computed_ms"] < 400
    (longer,) = [line for line in metrics.splitlines() if line.startswith('tripline_loop_lag_seconds_bucket{le="0.2"}')]
    (count,) = [line for line in metrics.splitlines() if line.startswith("tripline_loop_lag_seconds_count")]
    assert 0 < float(longer.split()[1]) < float(count.split()[1])
