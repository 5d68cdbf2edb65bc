"""The watch of the event loop, by values: for how long it was held, by what, and where."""

import inspect
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tripline.adapters import loop_watch
from tripline.adapters.loop_watch import TICK_S, Held, Reading, held, place


def later(late_s: float, **spent: float) -> Held:
    """What passed when a tick came so late, and so much time went there."""
    before = Reading(at=100.0, computed=10.0, of_all=20.0, queued=5.0, collected=1.0)
    computed = spent.get("computed", 0.0)
    now = Reading(
        at=100.0 + TICK_S + late_s,
        computed=10.0 + computed,
        of_all=20.0 + computed + spent.get("others", 0.0),
        queued=5.0 + spent.get("queued", 0.0),
        collected=1.0 + spent.get("collected", 0.0),
    )
    return held(before, now)


@pytest.mark.parametrize(
    ("spent", "cause"),
    [
        ({}, "call"),
        ({"computed": 0.049, "others": 0.049, "queued": 0.049, "collected": 0.049}, "call"),
        ({"computed": 0.051}, "computing"),
        ({"computed": 0.1, "collected": 0.06}, "collecting"),
        ({"others": 0.06}, "threads"),
        ({"others": 0.06, "queued": 0.1}, "threads"),
        ({"queued": 0.06}, "processor"),
    ],
)
def test_cause_is_what_half_of_the_time_went_to(spent, cause):
    assert later(0.1, **spent).cause == cause


def test_tick_before_its_time_is_not_late():
    assert later(-0.004).late == 0.0


def test_times_are_those_between_two_ticks():
    passed = later(0.5, computed=0.25, others=0.125, queued=0.0625, collected=0.03125)

    assert (passed.late, passed.computed, passed.others) == pytest.approx((0.5, 0.25, 0.125))
    assert (passed.queued, passed.collected) == pytest.approx((0.0625, 0.03125))


def _frame_within(call: Callable[[Callable[[], Any]], Any]) -> str:
    seen: list[str] = []
    call(lambda: seen.append(place(inspect.currentframe())))
    return seen[0]


def test_place_names_our_innermost_functions_behind_the_foreign_one_they_called(monkeypatch):
    def work(then: Callable[[], Any]) -> None:
        then()

    foreign = _frame_within(work)
    monkeypatch.setattr(loop_watch, "_OURS", __file__.removesuffix("test_loop_watch.py"))
    ours = _frame_within(work)

    assert foreign == "adapters/test_loop_watch.py <lambda>"
    assert [each.split()[-1] for each in ours.split(" < ")] == ["<lambda>", "work", "_frame_within"]
    assert ours.startswith("test_loop_watch.py:")


def _wait(event: threading.Event) -> None:
    event.wait()


def test_place_in_foreign_code_names_who_called_it(monkeypatch):
    monkeypatch.setattr(loop_watch, "_OURS", __file__.removesuffix("test_loop_watch.py"))
    waits = threading.Event()
    thread = threading.Thread(target=_wait, args=(waits,))
    thread.start()

    found = place(sys._current_frames()[thread.ident or 0])
    waits.set()
    thread.join()

    foreign, ours = found.split(" < ")
    assert foreign.endswith("/threading.py wait")
    assert ours.endswith(" _wait")


def test_thread_that_is_gone_stands_nowhere():
    assert place(None) == ""
