"""Annulments: what is annulled goes, in its trip alone, costs go on adding up, and each item says what it is worth."""

import itertools

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.support.limits import Roads, along
from tests.support.scoring_rows import drive, task_of

from tripline.scoring import kernel
from tripline.scoring import policy as verdicts
from tripline.scoring.annulments import Annulment
from tripline.scoring.rules import read
from tripline.scoring.score import COUNTED, TripScore
from tripline.services.scores import arrays, explanation
from tripline.store.scores.disputes import Annulled
from tripline.store.scores.policies import FIRST, SECOND, THIRD
from tripline.store.scores.scores import Job, Task

SPEEDS = st.lists(st.floats(0, 200), min_size=10, max_size=60)
KINDS = st.sampled_from(sorted(COUNTED))
RULES = st.sampled_from([read(FIRST), read(SECOND), read(THIRD)])


def drives_of(*trips):
    tracks = [arrays.Track(b"".join(drive(*speeds)), None, "GPS", 10_000.0) for speeds in trips]
    return arrays.loaded(tracks).drives


def events_of(found, trip):
    events = found.events
    columns = (events.type, events.time_ms, events.begin_ms, events.end_ms)
    return [
        row[1:]
        for row in zip(events.trip.tolist(), *(each.tolist() for each in columns), strict=True)
        if row[0] == trip
    ]


@given(st.lists(SPEEDS, min_size=1, max_size=4), st.data(), RULES)
def test_exactly_what_lies_in_the_interval_goes_and_from_its_trip_alone(trips, data, rules):
    drives = drives_of(*trips)
    trip = data.draw(st.integers(0, len(trips) - 1))
    first = int(drives.time_ms.min())
    begin, length = data.draw(st.integers(0, 60_000)), data.draw(st.integers(0, 30_000))
    annulled = Annulment(trip, data.draw(KINDS), first + begin, first + begin + length)

    before, after = kernel.findings(drives, rules), kernel.findings(drives, rules, [annulled])

    for other in range(len(trips)):
        left = [
            event
            for event in events_of(before, other)
            if other != trip
            or event[0] not in COUNTED[annulled.kind]
            or not annulled.begin_ms <= event[1] <= annulled.end_ms
        ]
        assert events_of(after, other) == left
    verdict = list(zip(verdicts.judged(before, rules), verdicts.judged(after, rules), strict=True))
    assert all(type(one) is type(two) for one, two in verdict)
    assert all(two.score >= one.score for one, two in verdict if isinstance(one, TripScore))


@given(SPEEDS, st.lists(st.tuples(KINDS, st.integers(0, 60), st.integers(0, 30)), max_size=3), RULES)
def test_costs_add_up_to_what_the_score_lacks_without_what_is_annulled(speeds, asked, rules):
    packed = b"".join(drive(*speeds))
    first = int(drives_of(speeds).time_ms.min())
    annulled = [
        Annulled(str(turn), kind, first + 1_000 * begin, first + 1_000 * (begin + length))
        for turn, (kind, begin, length) in enumerate(asked)
    ]
    job = Job(1, 0, 0, "t", "v", None, "GPS", False, 10_000.0, None, None, None, 1, 1, None, len(annulled), "c", 0)

    told = explanation.of_trip(Task(job, packed, annulled), rules, (), utc_offset_ms=0)

    items = [*told.manoeuvres, *told.stretches]
    costs = [each.cost for each in (*items, *told.brakings, *told.corners)]
    assert all(each.cost == 0 for each in items if each.annulled is not None)
    if told.score is not None:
        assert sum(costs) == pytest.approx(100 - told.score, abs=1e-9)
    if not annulled:
        assert {each.annulled for each in items} <= {None}


@settings(max_examples=30)  # each drive has several items, and is judged anew for each
@given(st.lists(st.integers(-24, 24), min_size=20, max_size=200), st.integers(-10, 0), RULES)
def test_item_says_the_score_that_an_accepted_dispute_about_it_gives(changes, step, rules):
    rules = replace(rules, guards=replace(rules.guards, stated_most=1e6))
    speeds = [float(60 + abs(60 - each % 120)) for each in itertools.accumulate(changes)]
    task = task_of(along(speeds, lambda second: second + (step if second > 15 else 0)), distance_m=50_000.0)
    told = explanation.of_trip(task, rules, (), utc_offset_ms=0, roads=Roads())
    assume(told.score is not None)

    intervals = [(each, _kind(each.type), each.begin_ms, each.end_ms) for each in told.manoeuvres]
    intervals += [(each, "over_speed", each.begin_ms, each.last_ms) for each in told.stretches]
    for item, kind, begin_ms, end_ms in intervals:
        again = task._replace(annulled=[Annulled("d", kind, begin_ms, end_ms)])
        after = explanation.of_trip(again, rules, (), utc_offset_ms=0, roads=Roads())
        assert item.without_it == pytest.approx(after.score, abs=1e-9)
    assert all(told.score < each.without_it <= 100 for each in (*told.brakings, *told.corners))


def _kind(event_type):
    return next(name for name, types in COUNTED.items() if event_type in types)
