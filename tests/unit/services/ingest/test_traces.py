"""The trace of a watched device: what is noted, beside what, and how much of it."""

import asyncio
import json
from typing import Any

import pytest
from sqlalchemy import select
from tests.support import waits
from tests.support.ingest_rig import MINUTE, NOW, SENSOR, TOPIC, UNMAPPED, Rig

from tripline.services.ingest import traces
from tripline.services.ingest.tracks import SCOPE
from tripline.store import tables
from tripline.store.devices import watches as devices_watches
from tripline.wire import topics

SAMPLE = {"ty": 2, "ts": NOW, "pld": {"tid": 1, "lat": 35.1, "lon": 129.1, "clt": NOW}}


def watch(rig: Rig, *, until_ms: int = NOW + 5 * MINUTE) -> None:
    """As the command does: beside the pipeline, which learns of it as of another process's commit."""
    rig.run(rig.store.write(lambda tx: devices_watches.watch(tx, SCOPE, SENSOR, until_ms=until_ms)))
    rig.pipeline._watches.forget()


def traced(rig: Rig) -> list[tuple[str, str, bytes]]:
    """Topic, outcome and body of every trace, in order."""
    statement = select(tables.device_trace.c.topic, tables.device_trace.c.outcome, tables.device_trace.c.body)
    rows = rig.run(rig.store.read(lambda tx: tx.all(statement.order_by(tables.device_trace.c.no))))
    return [tuple(row) for row in rows]


def body(message: Any) -> bytes:
    return message if isinstance(message, bytes) else json.dumps(message).encode()


def test_message_of_a_device_that_nobody_watches_leaves_no_trace(rig: Rig) -> None:
    rig.send(SAMPLE)

    assert traced(rig) == []


def test_message_of_another_device_than_the_watched_one_leaves_no_trace(rig: Rig) -> None:
    watch(rig)

    rig.send(SAMPLE, sensor=UNMAPPED)

    assert traced(rig) == []


def test_messages_of_a_watched_device_are_noted_in_order_with_their_outcomes(rig: Rig) -> None:
    watch(rig)
    messages = [SAMPLE, SAMPLE, {"ty": 2}, {"ty": 2, "pld": []}, {"ty": 104, "pld": {"wbv": 11.4}}, b"{,"]

    rig.send(*messages)

    assert [(topic, outcome) for topic, outcome, _ in traced(rig)] == [
        (TOPIC, "kept"),
        (TOPIC, "redelivered"),
        (TOPIC, "no_payload"),
        (TOPIC, "empty"),
        (TOPIC, "kept"),
        (TOPIC, "not_json"),
    ]
    assert traced(rig)[5][2] == b"{,"


def test_array_of_which_a_part_is_rejected_is_noted_as_kept(rig: Rig) -> None:
    watch(rig)

    rig.send({**SAMPLE, "pld": [SAMPLE["pld"], 7]})

    assert [outcome for _, outcome, _ in traced(rig)] == ["kept"]


def test_message_beside_those_of_other_devices_gets_its_own_outcome(rig: Rig) -> None:
    watch(rig)
    rig.send(SAMPLE)

    rig.send(SAMPLE, {**SAMPLE, "ts": NOW + 1}, at=NOW + 1)

    assert [outcome for _, outcome, _ in traced(rig)] == ["kept", "redelivered", "kept"]


def test_answer_to_no_call_is_noted_with_the_reason_of_its_refusal(rig: Rig) -> None:
    watch(rig)

    rig.send({"code": 2000}, topic=topics.RPC_RESULT + "4711")

    assert [outcome for _, outcome, _ in traced(rig)] == ["unknown_call"]


def test_watch_that_has_expired_traces_nothing(rig: Rig) -> None:
    watch(rig, until_ms=NOW + MINUTE)

    rig.send(SAMPLE, at=NOW + MINUTE)

    assert traced(rig) == []


def test_watch_ends_within_its_time_for_the_messages_before(rig: Rig) -> None:
    watch(rig, until_ms=NOW + MINUTE)

    rig.send(SAMPLE, at=NOW + MINUTE - 1)

    assert [outcome for _, outcome, _ in traced(rig)] == ["kept"]


@pytest.mark.parametrize(
    ("count", "outcomes"),
    [(2, ["kept"] * 2), (3, ["kept"] * 3), (5, ["kept"] * 3 + ["not_traced"])],
    ids=["below", "at", "above"],
)
def test_trace_is_bounded_by_number(rig: Rig, monkeypatch: pytest.MonkeyPatch, count: int, outcomes: list[str]) -> None:
    monkeypatch.setattr(traces, "MOST", 3)
    watch(rig)

    for number in range(count):
        rig.send({**SAMPLE, "ts": NOW + number, "pld": {**SAMPLE["pld"], "clt": NOW + number}})

    assert [outcome for _, outcome, _ in traced(rig)] == outcomes


def test_trace_is_bounded_by_bytes_and_has_room_again_later(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "MOST_BYTES", 2 * len(body(SAMPLE)))
    watch(rig)

    for number, at in enumerate([NOW, NOW, NOW, NOW, NOW + traces.KEPT_MS + 1]):
        rig.send({"ty": 130, "ts": NOW + number, "pld": {"a": "x" * (len(body(SAMPLE)) - 60)}}, at=at)

    assert [outcome for _, outcome, _ in traced(rig)] == ["kept", "kept", "not_traced", "kept"]


def test_expired_watch_and_old_traces_are_deleted(rig: Rig) -> None:
    watch(rig, until_ms=NOW + MINUTE)
    rig.send(SAMPLE)

    at_the_end = rig.run(traces.purge(rig.store, now_ms=NOW + MINUTE - 1))
    kept = len(traced(rig))
    later = rig.run(traces.purge(rig.store, now_ms=NOW + MINUTE + 1))

    assert (at_the_end, kept, later) == (False, 1, False)
    assert traced(rig) == []
    watched = rig.run(rig.store.read(lambda tx: tx.all(select(tables.device_watch))))
    assert watched == []


def test_ended_watch_takes_its_trace_along_unless_somebody_else_prolonged_it(rig: Rig) -> None:
    watch(rig, until_ms=NOW + MINUTE)
    rig.send(SAMPLE)

    rig.run(rig.store.write(lambda tx: devices_watches.end(tx, SCOPE, SENSOR, until_ms=NOW + 7)))
    kept = len(traced(rig))
    rig.run(rig.store.write(lambda tx: devices_watches.end(tx, SCOPE, SENSOR, until_ms=NOW + MINUTE)))

    assert (kept, traced(rig)) == (1, [])


@pytest.mark.parametrize(("ahead_ms", "kept"), [(traces.KEPT_MS - 1, 1), (traces.KEPT_MS + 1, 0)])
def test_trace_from_before_the_clock_was_set_back_is_deleted(rig: Rig, ahead_ms: int, kept: int) -> None:
    watch(rig)
    rig.send(SAMPLE)

    rig.run(traces.purge(rig.store, now_ms=NOW - ahead_ms))

    assert len(traced(rig)) == kept


@pytest.mark.parametrize(("ahead_ms", "kept"), [(devices_watches.LONGEST_MS, 1), (devices_watches.LONGEST_MS + 1, 0)])
def test_watch_from_before_the_clock_was_set_back_is_deleted(rig: Rig, ahead_ms: int, kept: int) -> None:
    watch(rig, until_ms=NOW + ahead_ms)

    rig.run(traces.purge(rig.store, now_ms=NOW))

    assert len(rig.run(rig.store.read(lambda tx: tx.all(select(tables.device_watch))))) == kept


def test_sweep_of_the_intake_deletes_what_has_expired(rig: Rig) -> None:
    watch(rig, until_ms=NOW + 1)
    rig.send(SAMPLE)
    rig.now_ms = NOW + traces.KEPT_MS + 1

    async def sweep() -> None:
        intake = rig.intake()
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(intake.run())
            await waits.until(lambda: intake.swept)
            intake.stop()
            await running

    rig.run(sweep())

    watches = rig.run(rig.store.read(lambda tx: tx.all(select(tables.device_watch))))
    assert (watches, traced(rig)) == ([], [])
