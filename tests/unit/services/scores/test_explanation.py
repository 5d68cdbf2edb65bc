"""Explanations of scores: costs that add up, events that are found again, stretches, and what explains nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.support.scoring_rows import COMPANY, DRIVER, START_MS, drive, played, sample, task_of

from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.refusals import Kind
from tripline.roads.located import Located, Road
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import EventType, Harsh, Rules, Scoring, Style, read
from tripline.services.scores import arrays, explanation, judgement, reads
from tripline.store import tables
from tripline.store.scores import reads as score_reads
from tripline.store.scores import scores
from tripline.store.scores.policies import SECOND
from tripline.store.scores.reads import StoredEvent

HARSH = [0, 0, 0, 0, 12, 24, 30, 30, *[60.0] * 3, 140, 141, 150, 140, 60, 60, 125, 60, 60, 40, 20, 0, 0]


def explained(packed, rules=None, kept=(), **changes):
    return explanation.of_trip(task_of(packed, **changes), rules or Rules(), kept, utc_offset_ms=0)


def costs(told):
    return [each.cost for each in (*told.manoeuvres, *told.stretches, *told.brakings, *told.corners)]


@settings(max_examples=40)
@given(
    st.lists(st.floats(0, 200), min_size=10, max_size=80),
    st.floats(0.01, 2),
    st.floats(0, 0.5),
    st.sampled_from(["factor", "kotsa", "plus15"]),
    st.sampled_from([Style(), read(SECOND).style, Style(braking_weight=0.7), Style(over_35_weight=0.3)]),
)
def test_costs_add_up_to_what_the_score_lacks(speeds, harsh_weight, overspeed_weight, tolerance, style):
    scoring = Scoring(harsh_weight=harsh_weight, overspeed_weight=overspeed_weight, tolerance=tolerance)
    rules = Rules(scoring=scoring, style=style)

    told = explained(drive(*speeds), rules)

    if told.score is None:
        assert set(costs(told)) <= {0.0}
    else:
        assert sum(costs(told)) == pytest.approx(100 - told.score, abs=1e-9)


async def test_every_kept_event_is_found_with_its_id(rig):
    no = await rig.add_trip(drive(*HARSH), distance_m=10_000)
    await rig.drain()
    trip_id = (await rig.rows(tables.trip, "id"))[0][0]
    kept = await rig.store.read(lambda tx: score_reads.to_explain(tx, trip_id))
    job = await rig.store.read(lambda tx: scores.as_if_asked(tx, no))
    task = await rig.store.read(lambda tx: scores.task(tx, job))
    events = await rig.store.read(lambda tx: score_reads.events_of_trip(tx, no))
    told, ids = explanation.of_trip(task, Rules(), events, utc_offset_ms=0), await rig.rows(tables.gps_event, "id")

    found = [each.event_id for each in told.manoeuvres] + [one for each in told.stretches for one in each.event_ids]
    assert sorted(found) == sorted(row[0] for row in ids)
    assert told.unexplained == []
    assert told.score == kept.score
    assert {each.type for each in told.manoeuvres} >= {EventType.START, EventType.STOP}


def test_manoeuvre_says_from_where_to_where_how_hard_and_what_was_enough():
    (start,) = explained(drive(*[0.0] * 6, 12, 24, 30, *[30.0] * 20)).manoeuvres

    assert (start.type, start.begin_ms, start.end_ms) == (EventType.START, START_MS + 5_000, START_MS + 8_000)
    assert (start.begin_kmh, start.end_kmh) == (0, 30)
    assert (start.at_ms, start.speed_kmh, start.rate, start.threshold) == (START_MS + 6_000, 12, 12, 10)


def test_threshold_is_that_of_the_category_and_of_the_interval():
    slow = [sample(2 * second, kmh) for second, kmh in enumerate([*[0.0] * 6, 24, 30, *[30.0] * 20])]

    (start,) = explained(slow, category="BUS").manoeuvres

    assert start.rate == 12
    assert start.threshold == pytest.approx(8 * 2**-0.3)


@pytest.mark.parametrize(
    ("speeds", "name"),
    [
        ((0, 12, 12), "start"),
        ((0, 7, 20, 20), "acceleration_to_10"),
        ((18, 30, 30), "acceleration_to_20"),
        ((40, 52, 52), "acceleration_above_20"),
        ((20, 4, 0), "stop"),
        ((28, 12, 12), "deceleration_to_30"),
        ((45, 29, 29), "deceleration_to_50"),
        ((80, 64, 64), "deceleration_above_50"),
    ],
)
def test_threshold_is_named_by_the_speed_of_the_greatest_rate(speeds, name):
    (found,) = explained(drive(*[float(speeds[0])] * 9, *map(float, speeds), *[float(speeds[-1])] * 20)).manoeuvres

    assert found.threshold_name == name


def test_event_that_the_device_reports_has_no_rate():
    packed = [sample(second, 50, em=0x10 if second == 9 else 0) for second in range(40)]

    (reported,) = explained(packed, device_type="OBD").manoeuvres

    assert (reported.type, reported.rate, reported.threshold) == (EventType.DECELERATION, 0, 0)
    assert reported.threshold_name is None
    assert (reported.begin_ms, reported.end_ms) == (reported.at_ms, reported.at_ms)


def test_samples_over_the_limit_in_a_row_are_one_stretch():
    speeds = [*[100.0] * 10, 125, 130, 128, *[100.0] * 10, 122, 122, *[100.0] * 9]

    first, second = explained(drive(*speeds), Rules(harsh=Harsh(ignored_fixes=99))).stretches

    assert (first.begin_ms, first.end_ms, first.seconds) == (START_MS + 10_000, START_MS + 13_000, 3.0)
    assert (first.fastest_kmh, first.limit_kmh, first.counted_kmh) == (130, 110, 121)
    assert second.seconds == 2.0
    assert first.cost == pytest.approx(1.5 * second.cost)


def test_stretch_says_how_its_limit_is_known_and_another_source_begins_another():
    task, second = task_of(drive(*[130.0] * 12)), np.arange(12)
    drives = replace(
        arrays.loaded([judgement.track(task)]).drives,
        limit_kmh=np.where(second < 5, np.nan, 110.0),
        limit_source=np.where(second < 8, LimitSource.IMPLIED, LimitSource.ROAD_CLASS).astype(np.int8),
    )

    told = judgement.found(Located(drives, (), [()]), task, Rules(), utc_offset_ms=0)

    assert [(each.limit_source, each.limit_kmh, each.seconds) for each in told.stretches] == [
        (LimitSource.DEFAULT, 110, 5.0),
        (LimitSource.IMPLIED, 110, 3.0),
        (LimitSource.ROAD_CLASS, 110, 3.0),
    ]
    assert sum(costs(told)) == pytest.approx(100 - told.score, abs=1e-9)


def test_limits_are_runs_of_one_limit_from_one_source_on_one_road():
    task, second = task_of(drive(*[50.0] * 20)), np.arange(20)
    roads = [Road("1", 106, "Main Street"), Road("2", 106, "Main Street"), Road("3", 107, ""), Road("4", 101, "A1")]
    drives = replace(
        arrays.loaded([judgement.track(task)]).drives,
        limit_kmh=np.repeat([50.0, 30.0, np.nan, 0.0], [8, 4, 4, 4]),
        limit_source=np.where(second < 10, LimitSource.TAGGED, LimitSource.IMPLIED).astype(np.int8),
        road=np.repeat([0, 1, 2, -1, 3], [4, 4, 4, 4, 4]).astype(np.int32),
    )

    told = judgement.found(Located(drives, roads, [()]), task, Rules(), utc_offset_ms=0).limits

    assert [(each.limit_kmh, each.limit_source, each.road) for each in told] == [
        (50, LimitSource.TAGGED, roads[0]),
        (30, LimitSource.TAGGED, roads[2]),
        (30, LimitSource.IMPLIED, roads[2]),
        (110, LimitSource.DEFAULT, None),
        (None, LimitSource.IMPLIED, roads[3]),
    ]
    ends = [8, 10, 12, 16, 19]
    assert [each.begin_ms - START_MS for each in told] == [0, *(1_000 * end for end in ends[:-1])]
    assert [each.end_ms - START_MS for each in told] == [1_000 * end for end in ends]


def test_limits_end_at_a_gap_and_at_a_step_of_the_clock():
    guards = Rules().guards
    after = 10 + guards.gap_ms // 1_000
    gap = [sample(second if second < 10 else second - 10 + after + 1, 50) for second in range(20)]
    along = [(second, 36 + second * 20 / 111_195) for second in range(200)]
    step = [sample(second - (7_200 if second >= 100 else 0), 72, lat=lat) for second, lat in along]

    (before, behind) = explained(gap).limits
    stepped = explained(step)

    assert (before.end_ms, behind.begin_ms) == (START_MS + 9_000, START_MS + (after + 1) * 1_000)
    assert stepped.quality.repairs["clock_steps"] == 1
    assert [each.end_ms - each.begin_ms for each in stepped.limits] == [99_000, 99_000]


def test_trip_without_usable_samples_has_no_limits():
    assert explained([sample(0, 50, flags=0)]).limits == []


def test_quality_counts_the_samples_that_take_no_part():
    packed = [*drive(*[50.0] * 20), sample(20, 50, flags=0), sample(21, 50, lat=float("nan")), sample(19.1, 50)]

    found = explained(packed).quality

    assert (found.samples, found.dropped, found.repairs) == (20, 3, {"merged": 1})


@pytest.mark.parametrize(
    ("speeds", "seconds"),
    [
        ([131.0] * 181, 180.0),
        ([131.0] * 180, 0.0),
        ([130.0] * 400, 0.0),
        ([*[131.0] * 120, 129.0, *[131.0] * 120], 0.0),
        ([*[131.0] * 200, 100.0, *[131.0] * 100, 100.0, *[140.0] * 190], 389.0),
    ],
)
def test_long_overspeed_is_more_than_20_above_the_limit_for_three_minutes(speeds, seconds):
    assert explained(drive(*speeds)).measures.long_over_s == seconds


def test_long_overspeed_does_not_go_on_behind_a_gap():
    packed = [sample(second if second < 100 else second + 40, 140) for second in range(200)]

    assert explained(packed).measures.long_over_s == 0.0


def test_events_of_other_rules_are_told_as_unexplained():
    kept = [StoredEvent("gone", START_MS + 3_000, 2), StoredEvent("there", START_MS + 6_000, 1)]

    told = explained(drive(*[0.0] * 6, 12, 24, 30, *[30.0] * 20), kept=kept)

    assert [each.event_id for each in told.manoeuvres] == ["there"]
    assert told.unexplained == ["gone"]


@pytest.mark.parametrize(("count", "told"), [(-1, True), (0, True), (1, False)])
def test_trip_with_more_samples_than_are_explained_is_refused(tmp_path, monkeypatch, count, told):
    monkeypatch.setattr(reads, "EXPLAINED", 40)

    async def play(rig):
        await rig.add_trip(drive(*[50.0] * (40 + count)), distance_m=10_000)
        await rig.drain()
        trip_id = (await rig.rows(tables.trip, "id"))[0][0]
        actor = Actor(UserId(DRIVER), Authority.COMPANY_ADMIN, CompanyId(COMPANY))
        try:
            await rig.store.read(lambda tx: reads.to_explain(tx, actor=actor, of=trip_id))
        except reads.TooLong as refusal:
            return refusal.kind, refusal.field, refusal.values
        return None

    refused = (Kind.BAD_PARAMETER, "tripId", {"most": 40})
    assert played(tmp_path, play) == (None if told else refused)
