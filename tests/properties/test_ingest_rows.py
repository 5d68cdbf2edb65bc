"""However messages are grouped into batches, interrupted or delivered again, the rows are the same."""

import itertools
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support import stores
from tests.support.ingest_rig import MINUTE, NOW, SENSOR, UNMAPPED, FakeSource, Rig, frame, item

from tripline.services.ingest import redeliveries
from tripline.services.ingest.tracks import Track
from tripline.store import tables

RECEIVED = NOW + 72 * MINUTE
Message = tuple[Any, Any]
"""Sensor and body."""

_tids = st.sampled_from([1, 2, None])
_times = st.sampled_from(
    [NOW, NOW + 1000, NOW + 2000, NOW + 29 * MINUTE, NOW + 31 * MINUTE, NOW + 69 * MINUTE, NOW + 70 * MINUTE]
)
_header = st.one_of(_times, st.just(9_999_999_999_999))


@st.composite
def microtrips(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 3))
    items = [item(draw(_times), tid=draw(_tids), sp=draw(st.integers(0, 1))) for _ in range(count)]
    header = draw(st.one_of(st.none(), _header))
    body: dict[str, Any] = {"ty": draw(st.sampled_from([2, 8])), "pld": items[0] if count == 1 else items}
    return body if header is None else body | {"ts": header}


@st.composite
def trip_messages(draw: st.DrawFn) -> dict[str, Any]:
    payload = {"tid": draw(_tids), "stt": draw(_times), "edt": draw(st.one_of(st.none(), _times))}
    return {"ty": draw(st.sampled_from([1, 7])), "ts": draw(_times), "pld": payload}


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    return {"ty": draw(st.sampled_from([104, 113])), "ts": draw(_header), "pld": {"tid": draw(_tids), "wbv": 11.5}}


messages = st.lists(
    st.tuples(st.sampled_from([SENSOR, SENSOR, SENSOR, UNMAPPED]), st.one_of(microtrips(), trip_messages(), events())),
    min_size=1,
    max_size=14,
)
bounded = settings(max_examples=stores.examples(25))


class _Fresh(AbstractContextManager[Rig]):
    def __enter__(self) -> Rig:
        self._folder = tempfile.TemporaryDirectory()
        self._rig = Rig.fresh(Path(self._folder.name))
        rig = self._rig.__enter__()
        rig.want([1, 2, 7, 8, 104, 113])
        return rig

    def __exit__(self, *error: object) -> None:
        self._rig.__exit__(*error)
        self._folder.cleanup()


def deliver(rig: Rig, batch: Sequence[Message]) -> None:
    rig.now_ms = RECEIVED
    sources = {SENSOR: FakeSource(SENSOR), UNMAPPED: FakeSource(UNMAPPED)}
    rig.take_in([frame(sources[sensor], body, RECEIVED, token) for token, (sensor, body) in enumerate(batch, 1)])
    settled = [token for source in sources.values() for tokens in source.settlements for token in tokens]
    assert sorted(settled) == list(range(1, len(batch) + 1))


def rows(rig: Rig) -> dict[str, list[Any]]:
    """Every row of driving and every message about it, with positions in place of ids and row numbers."""
    order = {no: position for position, no in enumerate(rig.rows(tables.trip, "no"))}
    name = {trip_id: position for position, trip_id in enumerate(rig.rows(tables.trip, "id"))} | {None: None}
    return {
        "trip": [row[3:] for row in rig.rows(tables.trip)],
        "microtrip": [(order[row[1]], *row[3:]) for row in rig.rows(tables.microtrip)],
        "event": [(*row[2:6], name[row[6]], *row[7:]) for row in rig.rows(tables.device_event)],
        "attribute": rig.rows(tables.sensor_attribute),
        "job": [(order[no], due) for no, due in rig.rows(tables.scoring_job, "trip_no", "due_ms")],
        "vehicle": [
            (name[trip], kind) for trip, kind in rig.rows(tables.vehicle, "latest_trip_id", "last_trip_msg_type")
        ],
        "driver": [name[trip] for trip in rig.rows(tables.account, "latest_trip_id")],
        "sensor": rig.rows(tables.sensor, "last_trip_msg_type"),
        "rejected": rig.rows(tables.rejected_message, "reason"),
        "pushed": rig.rows(tables.push_outbox, "company_id", "selector", "body", "due_ms"),
    }


def rows_of(
    batches: Sequence[Sequence[Message]], between: Callable[[Rig], None] = lambda rig: None
) -> dict[str, list[Any]]:
    with _Fresh() as rig:
        for batch in batches:
            deliver(rig, batch)
            between(rig)
        return rows(rig)


def split(sent: list[Message], cuts: list[int]) -> list[list[Message]]:
    edges = [0, *sorted({cut % len(sent) for cut in cuts} - {0}), len(sent)]
    return [sent[start:end] for start, end in itertools.pairwise(edges)]


def _stating(start_ms: int) -> Message:
    return SENSOR, {"ty": 1, "ts": NOW, "pld": {"tid": 1, "stt": start_ms, "edt": None}}


@bounded
@given(sent=messages, cuts=st.lists(st.integers(0, 13), max_size=6))
@example(sent=[(SENSOR, {"ty": 2, "pld": item(NOW, tid=1, sp=0)}), _stating(NOW + 1000), _stating(NOW)], cuts=[1])
@example(
    sent=[
        (SENSOR, {"ty": 104, "ts": 9_999_999_999_999, "pld": {"tid": 1, "wbv": 11.5}}),
        (SENSOR, {"ty": 2, "pld": item(RECEIVED - 20 * MINUTE, tid=1)}),
        (SENSOR, {"ty": 1, "ts": NOW, "pld": {"tid": 1, "edt": RECEIVED - 20 * MINUTE}}),
    ],
    cuts=[2],
)
@example(
    sent=[
        (SENSOR, {"ty": 2, "pld": item(NOW + 1000, tid=1)}),
        (SENSOR, {"ty": 2, "pld": item(NOW, tid=1)}),
        (SENSOR, {"ty": 1, "ts": NOW, "pld": {"tid": 1, "stt": NOW, "edt": NOW}}),
    ],
    cuts=[2],
)
def test_any_split_into_batches_gives_the_same_rows(sent: list[Message], cuts: list[int]) -> None:
    assert rows_of(split(sent, cuts)) == rows_of([sent])


@bounded
@given(sent=messages, cuts=st.lists(st.integers(0, 13), min_size=1, max_size=3))
def test_restarts_at_any_place_give_the_same_rows(sent: list[Message], cuts: list[int]) -> None:
    assert rows_of(split(sent, cuts), Rig.restart) == rows_of([sent])


@bounded
@given(sent=messages, length=st.integers(1, 14), restarted=st.booleans())
def test_o3_i3_replay_of_any_prefix_changes_nothing(sent: list[Message], length: int, restarted: bool) -> None:
    with _Fresh() as rig:
        deliver(rig, sent)
        before = rows(rig)
        if restarted:
            rig.restart()

        deliver(rig, sent[:length])

        assert rows(rig) == before


@bounded
@given(sent=messages, cuts=st.lists(st.integers(0, 13), max_size=4))
def test_open_trip_in_order_is_the_trip_that_the_rule_chooses(sent: list[Message], cuts: list[int]) -> None:
    quick = rows_of(split(sent, cuts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Track, "measure", lambda track: setattr(track, "sure_ms", 2**63))
        slow = rows_of(split(sent, cuts))

    assert quick == slow


def all_doubtful(items: Sequence[Any], now_ms: int, told: Callable[..., Any] = redeliveries._sorted) -> Any:
    """Have everything looked up that a second delivery can be told of."""
    for each in items:
        each.track.newest_ts = each.track.newest_ms = 2**63
        each.track.has_hashes = True
    return told(items, now_ms)


@bounded
@given(sent=messages, cuts=st.lists(st.integers(0, 13), max_size=4))
def test_surely_new_by_time_equals_looking_every_message_up(sent: list[Message], cuts: list[int]) -> None:
    quick = rows_of(split(sent, cuts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redeliveries, "_sorted", all_doubtful)
        slow = rows_of(split(sent, cuts))

    assert quick == slow
