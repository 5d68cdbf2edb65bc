"""A batch that takes long is logged once, with the step that took the time."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from tripline.services.ingest import steps
from tripline.services.ingest.steps import Steps


class Clock:
    """Stands still unless told."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def played(clock: Clock, *took: tuple[str, float], waited_s: float = 0.0, again: bool = False) -> tuple[Steps, Any]:
    """A batch with these steps."""
    batch = Steps(clock=clock)
    with capture_logs() as logged, batch.batch("devices", [b"", b"1", bytes(399)], waited_s=waited_s):
        for step, seconds in took:
            batch.at(step)
            clock.now_s += seconds
        if again:
            batch.again()
    return batch, logged


@pytest.mark.parametrize(("took_s", "lines"), [(1.9, 0), (2.0, 0), (2.1, 1)], ids=["below", "at", "above"])
def test_batch_is_logged_when_it_takes_longer_than_two_seconds(clock: Clock, took_s: float, lines: int) -> None:
    clock.now_s = 0.0

    _, logged = played(clock, (steps.COMMIT, took_s))

    assert len(logged) == lines


def test_line_says_reason_size_and_time(clock: Clock) -> None:
    _, logged = played(clock, (steps.TRACKS, 1.0), (steps.REDELIVERY, 4.0), (steps.COMMIT, 0.5), waited_s=0.5)

    assert logged == [
        {
            "part": "ingest",
            "event": "ingest.slow",
            "log_level": "warning",
            "kind": "devices",
            "reason": "redelivery",
            "reason_s": 4.0,
            "took_s": 6.0,
            "messages": 3,
            "bytes": 400,
        }
    ]


def test_waiting_for_another_batch_is_a_reason(clock: Clock) -> None:
    _, (line,) = played(clock, (steps.COMMIT, 0.5), waited_s=3.0)

    assert (line["reason"], line["took_s"]) == ("turn", 3.5)


def test_what_was_for_nothing_counts_as_reruns(clock: Clock) -> None:
    _, (line,) = played(clock, (steps.TRACKS, 2.0), (steps.COMMIT, 1.0), again=True)

    assert (line["reason"], line["reason_s"]) == ("reruns", 3.0)


def test_worked_time_leaves_out_turn_locks_and_commit(clock: Clock) -> None:
    batch, _ = played(
        clock, (steps.TRACKS, 0.25), (steps.REDELIVERY, 0.5), (steps.LOCKS, 7.0), (steps.COMMIT, 9.0), waited_s=5.0
    )

    assert batch.worked_s == 0.75


def test_step_under_way_can_be_asked(clock: Clock) -> None:
    batch = Steps(clock=clock)

    with batch.batch("bus", []):
        batch.at(steps.LOCKS)
        during = batch.doing

    assert (during, batch.doing) == ("locks", "idle")
