"""Late and redelivered messages cost the same however long the trip is and whatever else a device sends."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.ingest_rig import MINUTE, NOW, Rig, item, microtrip

from tripline.store import tables

STEPS = 10
"""Instructions of SQLite's machine between two looks."""
SHORT, LONG = 50, 3_000
AT_ONCE = 8

pytestmark = pytest.mark.sqlite("counts the instructions of SQLite's machine")


def in_order(count: int) -> list[Any]:
    return [microtrip(NOW + second * 1000) for second in range(count)]


def never_seen(count: int) -> list[Any]:
    """Of instants between those of the trip's first samples."""
    return [microtrip(NOW + second * 1000 + 500) for second in range(AT_ONCE)]


def seen(count: int) -> list[Any]:
    """From the trip's middle."""
    return in_order(count)[count // 2 : count // 2 + AT_ONCE]


def event(at: int) -> dict[str, Any]:
    return {"ty": 104, "ts": at, "pld": {"wbv": 11.8}}


def events(count: int) -> list[Any]:
    return [event(NOW + second * 1000) for second in range(count)]


def same_ts(count: int) -> list[Any]:
    return [{"ty": 2, "ts": NOW, "pld": item(NOW, sp=number)} for number in range(count)]


def new_tids(count: int) -> list[Any]:
    return [microtrip(NOW + second * 1000, tid=second) for second in range(count)]


def looked(rig: Rig, bodies: list[Any]) -> int:
    """Instructions that look-ups of the batch took."""
    count = 0

    def note() -> int:
        nonlocal count
        count += STEPS
        return 0

    driver = rig.store._store._inline.driver
    driver.set_progress_handler(note, STEPS)
    rig.send(*bodies)
    driver.set_progress_handler(None, 0)
    return count


def cost(folder: Path, before: list[Any], then: list[Any]) -> int:
    folder.mkdir()
    with Rig.fresh(folder) as rig:
        rig.send(*before, at=NOW + 60 * MINUTE)
        return looked(rig, then)


@pytest.mark.parametrize(
    ("before", "then"),
    [
        (in_order, never_seen),
        (in_order, seen),
        (in_order, lambda count: events(count)[:AT_ONCE]),
        (events, lambda count: [event(NOW + second * 1000 + 500) for second in range(AT_ONCE)]),
        (events, lambda count: events(count)[count // 2 : count // 2 + AT_ONCE]),
        (same_ts, lambda count: same_ts(count + AT_ONCE)[-AT_ONCE:]),
        (same_ts, lambda count: same_ts(count)[-AT_ONCE:]),
        (new_tids, never_seen),
    ],
    ids=["late", "redelivered", "events beside a trip", "late events", "redelivered events", "one header time",
         "one header time again", "a trip a message"],
)  # fmt: skip
def test_look_ups_cost_the_same_whatever_is_stored(
    tmp_path: Path, before: Callable[[int], list[Any]], then: Callable[[int], list[Any]]
) -> None:
    short = cost(tmp_path / "short", before(SHORT), then(SHORT))
    long = cost(tmp_path / "long", before(LONG), then(LONG))

    assert 0 < long <= 1.5 * short + 100


def test_redelivered_and_late_messages_of_one_batch_are_told_apart(rig: Rig) -> None:
    rig.send(*in_order(20), at=NOW + MINUTE)

    rig.send(*in_order(20)[5:15], *never_seen(20), *in_order(20)[:5], *never_seen(20))

    assert sorted(rig.rows(tables.microtrip, "ts")) == sorted(body["ts"] for body in (*in_order(20), *never_seen(20)))
