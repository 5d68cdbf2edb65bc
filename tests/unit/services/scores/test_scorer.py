"""Jobs become scores, events and accumulated scores: once, whole, again after changes, none in another's way."""

import asyncio
import math

import pytest
from sqlalchemy import delete, select, update
from tests.support.scoring_rows import (
    COMPANY,
    DRIVER,
    NOW_MS,
    START_MS,
    VEHICLE,
    add_microtrip,
    drive,
    played,
    sample,
)

from tripline.domain import ids, samples
from tripline.observe import SIGNAL_SCORING_DUE
from tripline.ports.outages import Outage
from tripline.scoring import quality
from tripline.scoring.rules import Rules, Scoring
from tripline.services.scores import scorer
from tripline.store import tables
from tripline.store.scores import policies, scores

CALM = drive(*[50.0] * 20)
START = drive(0, 0, 0, 0, 12, 24, 30, 30)
SCORE = ("trip_no", "created_ms", "vehicle_id", "user_id", "score", "accel", "de_accel", "over_speed", "over_speed_s")
EVENT = ("trip_no", "created_ms", "event_ms", "event_type", "speed_mh", "lat", "lon", "info")
TOTAL = ("vehicle_id", "created_ms", "user_id", "count", "score", "distance_m")
SCORE_OF_START = 100 * math.exp(-0.45 / 10)


async def left(rig):
    """Everything the scorer may have written, and the jobs that remain."""
    return (
        await rig.rows(tables.driving_score, *SCORE, "distance_m", "trip_id"),
        await rig.rows(tables.gps_event, *EVENT, "no", "id"),
        await rig.rows(tables.vehicle_score, *TOTAL),
        await rig.rows(tables.trip, "no", "not_scored"),
        await rig.rows(tables.scoring_job, "trip_no", "due_ms", "attempts", "last_error"),
    )


def after(what, name):
    """An event that is set whenever this operation of the store or scorer is done."""
    done = asyncio.Event()
    operation = getattr(what, name)

    async def observed(work, **how):
        result = await operation(work, **how)
        done.set()
        return result

    setattr(what, name, observed)
    return done


async def test_due_job_leaves_score_event_total_and_no_job(rig):
    no = await rig.add_trip([*START[:4], b"".join(START[4:])], distance_m=10_000)
    handled, (score, events, total, trips, jobs) = await rig.drain(), await left(rig)

    at_ms = NOW_MS + 1
    assert handled == 1
    assert [row[:10] for row in score] == [(no, at_ms, VEHICLE, DRIVER, SCORE_OF_START, 1, 0, 0, 0.0, 10_000)]
    assert [row[:8] for row in events] == [
        (no, NOW_MS, START_MS + 4_000, 1, 12_000, 36.0, 127.0, '{"id":"","maxSpd":0,"rank":0}')
    ]
    assert total == [(VEHICLE, at_ms + 1, DRIVER, 1, pytest.approx(SCORE_OF_START), 10_000)]
    assert trips == [(no, None)]
    assert jobs == []


async def test_events_have_one_run_of_ids_and_one_creation_time(rig):
    await rig.add_trip(drive(*[130.0] * 4), distance_m=10_000, device_type="BLACKBOX")
    await rig.drain()
    events, [(score_ms, trip_id)] = (
        await rig.rows(tables.gps_event, "no", "id", "created_ms", "info", "device_type", "user_id", "trip_id"),
        await rig.rows(tables.driving_score, "created_ms", "trip_id"),
    )

    first = events[0][0]
    info = '{"id":"","maxSpd":110000,"rank":0}'
    assert [row[0] for row in events] == list(range(first, first + 4))
    assert [ids.no_of(row[1]) for row in events] == list(range(first, first + 4))
    assert [row[2:] for row in events] == [(ids.created_ms(events[0][1]), info, "BLACKBOX", DRIVER, trip_id)] * 4
    assert score_ms > events[0][2]


@pytest.mark.parametrize(
    ("packed", "trip", "reason"),
    [
        (CALM, {"distance_m": 2_999}, "too_short"),
        ([sample(second * 6, 50) for second in range(20)], {"distance_m": 9_000}, "sparse"),
        ([], {"distance_m": 9_000}, "no_samples"),
        ([sample(0, 50)], {"distance_m": 9_000}, "no_samples"),
        ([sample(second, 50, flags=0) for second in range(9)], {"distance_m": 9_000}, "no_samples"),
        ([sample(0, 50)] * 9, {"distance_m": 9_000}, "no_samples"),
        ([sample(second, 50, flags=samples.FLAG_WRONG_TIME) for second in range(9)], {"distance_m": 9_000}, "clock"),
        ([*CALM, *[sample(0, 50, flags=samples.FLAG_WRONG_TIME)] * len(CALM)], {"distance_m": 9_000}, "clock"),
        ([sample(second, 50, lat=math.nan) for second in range(9)], {"distance_m": 9_000}, "no_position"),
        ([*[sample(0, 50)] * 2, *[sample(1, 50, lat=math.nan)] * 9], {"distance_m": 9_000}, "no_position"),
        (CALM, {"distance_m": 9_000, "device_type": "ADAS"}, "device_type"),
        (CALM, {"distance_m": 9_000, "vehicle_id": None}, "unmapped"),
        (CALM, {"distance_m": 9_000, "parking": True}, "parking"),
    ],
)
async def test_trip_that_is_not_scored_keeps_the_reason(rig, packed, trip, reason):
    no, handled, result = await rig.add_trip(packed, **trip), await rig.drain(), await left(rig)

    assert (handled, result) == (1, ([], [], [], [(no, reason)], []))


@pytest.mark.parametrize("said", [math.nan, 1e308, -1e308, -1.0], ids=["missing", "huge", "far below", "minus one"])
async def test_h6_trip_without_usable_speeds_is_scored_from_its_positions(rig, said):
    steps = [sample(second, said, lat=36 + second * 0.000_15) for second in range(400)]

    await rig.add_trip(steps)
    await rig.drain()
    scores, events, _, trips, jobs = await left(rig)

    assert (len(scores), events, [reason for _, reason in trips], jobs) == (1, [], [None], [])


@pytest.mark.parametrize(("kmh", "speeding"), [(100, (0, 0.0)), (130, (390, 390.0))])
async def test_h6_positions_alone_tell_of_speeding(rig, kmh, speeding):
    """The five samples at each end have too few positions around them to tell a speed."""
    metres_a_degree = 111_195
    steps = [sample(second, math.nan, lat=36 + second * kmh / 3.6 / metres_a_degree) for second in range(400)]

    await rig.add_trip(steps)
    await rig.drain()
    ((score,), _, _, _, _) = await left(rig)

    told = dict(zip(SCORE, score, strict=False))
    assert (told["over_speed"], told["over_speed_s"]) == speeding


@pytest.mark.parametrize(("category", "accel"), [("BUS", 1), ("TRUCK", 1), ("TAXI", 0), (None, 0)])
async def test_vehicle_category_decides_the_thresholds(rig, category, accel):
    vehicle_id = "44444444-0000-11b2-8080-808080808080"

    await rig.add_vehicle(vehicle_id, category)
    await rig.add_trip(drive(*[40.0] * 5, 46.0, 46.0), vehicle_id=vehicle_id, distance_m=9_000)
    await rig.drain()

    assert await rig.rows(tables.driving_score, "accel") == [(accel,)]


async def test_o2_microtrips_received_out_of_order_are_scored_in_order_of_time(rig):
    await rig.add_trip([*START[4:], *START[:4]], distance_m=10_000)
    await rig.drain()

    assert await rig.rows(tables.gps_event, "event_ms", "event_type") == [(START_MS + 4_000, 1)]


async def test_job_before_its_time_waits(rig):
    await rig.add_trip(CALM, distance_m=9_000, due_ms=NOW_MS + 1)
    early = await rig.drain()
    rig.now_ms += 1

    assert (early, await rig.drain()) == (0, 1)


async def test_scoring_twice_changes_nothing(rig):
    scored = await rig.add_trip(START, distance_m=10_000)
    short = await rig.add_trip(CALM, distance_m=1)
    await rig.drain()
    before = await left(rig)
    rig.now_ms += 60_000
    await rig.ask_again(scored)
    await rig.ask_again(short)

    assert await rig.drain() == 2
    assert await left(rig) == before


async def test_rescoring_after_late_samples_replaces_the_old_contribution(rig):
    other = await rig.add_trip(CALM, distance_m=20_000)
    no = await rig.add_trip(START, distance_m=10_000)
    await rig.drain()
    await rig.write(lambda tx: add_microtrip(tx, rig.ids, no, sample(8, 10) + sample(9, 10)))
    rig.now_ms += 60_000
    await rig.ask_again(no)
    await rig.drain()
    (score, events, total, _, jobs) = await left(rig)

    twice = 100 * math.exp(-0.9 / 10)
    assert [(row[0], row[4], row[5], row[6]) for row in score] == [(other, 100, 0, 0), (no, twice, 1, 1)]
    assert [(row[0], row[3], row[1]) for row in events] == [(no, 1, NOW_MS + 60_000), (no, 3, NOW_MS + 60_000)]
    assert total == [(VEHICLE, NOW_MS + 60_002, DRIVER, 2, pytest.approx(100 * math.exp(-0.9 / 30)), 30_000)]
    assert jobs == []


async def test_rescoring_that_takes_the_score_away_takes_all_of_it(rig):
    no = await rig.add_trip(START, distance_m=10_000)
    await rig.drain()
    await rig.write(lambda tx: tx.run(update(tables.trip).values(distance_m=100)))
    await rig.ask_again(no)
    await rig.drain()

    assert await left(rig) == ([], [], [], [(no, "too_short")], [])


async def test_result_of_samples_that_changed_meanwhile_is_dropped(rig):
    no = await rig.add_trip(CALM, distance_m=10_000)
    work = await rig.scorer._take()
    await rig.write(lambda tx: add_microtrip(tx, rig.ids, no, sample(20, 80)))
    await rig.scorer._score(work)
    between = await left(rig)
    await rig.drain()
    (*between, [job]), after = between, await left(rig)

    due_ms = job[1]
    assert between == [[], [], [], [(no, None)]]
    assert (job, due_ms <= NOW_MS) == ((no, due_ms, 0, None), True)
    assert [(row[0], row[5]) for row in after[0]] == [(no, 1)]
    assert after[4] == []


async def test_trip_whose_job_is_gone_is_not_written(rig):
    no = await rig.add_trip(CALM, distance_m=10_000)
    work = await rig.scorer._take()
    await rig.write(lambda tx: tx.run(delete(tables.scoring_job)))
    await rig.scorer._score(work)

    assert await left(rig) == ([], [], [], [(no, None)], [])


async def test_failing_job_is_put_off_and_holds_up_no_other(rig):
    bad = await rig.add_trip([b"cut"], distance_m=9_000)
    good = await rig.add_trip(CALM, distance_m=9_000)
    handled = [await rig.scorer.score_due(), await rig.scorer.score_due()]
    rig.now_ms += 1_000
    handled.append(await rig.scorer.score_due())
    (score, _, _, _, jobs) = await left(rig)

    assert handled == [2, 0, 1]
    assert [row[0] for row in score] == [good]
    assert jobs == [(bad, NOW_MS + 1_000 + 2_000, 2, "ValueError: 3 bytes are not whole samples of 36")]


async def test_failed_job_succeeds_when_what_was_wrong_is_mended(rig):
    no = await rig.add_trip([b"cut"], distance_m=9_000)
    await rig.drain()
    await rig.write(lambda tx: tx.run(update(tables.microtrip).values(samples=b"".join(CALM))))
    rig.now_ms += 1_000
    await rig.drain()
    (score, _, _, _, jobs) = await left(rig)

    assert ([row[0] for row in score], jobs) == ([no], [])


@pytest.mark.parametrize(
    ("attempts", "pause"), [(1, 1_000), (2, 2_000), (3, 4_000), (12, 2_048_000), (13, 3_600_000), (10_000, 3_600_000)]
)
def test_pauses_double_from_a_second_to_an_hour(attempts, pause):
    assert scorer.pause_ms(attempts) == pause


async def test_outage_leaves_jobs_as_they_are(rig):
    async def refuse(_, **how):
        raise Outage("away")

    no = await rig.add_trip(CALM, distance_m=9_000)
    write, rig.store.write = rig.store.write, refuse
    with pytest.raises(Outage):
        await rig.scorer.score_due()
    rig.store.write = write

    assert await left(rig) == ([], [], [], [(no, None)], [(no, 0, 0, None)])


@pytest.mark.parametrize(
    "step", ["forget", "keep_events", "keep_score", "note", "finish", "newest_driver", "keep_total"]
)
async def test_scorer_interrupted_at_any_step_resumes(rig, monkeypatch, step):
    class KilledError(BaseException):
        """The process ends here."""

    no = await rig.add_trip(START, distance_m=10_000)
    await rig.write(lambda tx: tx.run(update(tables.trip).values(not_scored="too_short")))
    before = await left(rig)

    def end(*_, **__):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(scores, step, end)
        with pytest.raises(KilledError):
            await rig.scorer.score_due()
    between = await left(rig)
    rig.now_ms += scorer.LEASE_MS
    await rig.drain()
    (*before, waiting), (*between, [job]), (score, events, total, trips, jobs) = before, between, await left(rig)

    assert between == before
    assert [(no, 0, *job[2:])] == waiting
    assert ([row[0] for row in score], [row[0] for row in events], [row[3] for row in total]) == ([no], [no], [1])
    assert (trips, jobs) == ([(no, None)], [])


async def test_many_jobs_are_scored_in_batches_and_each_once(rig):
    for _ in range(scorer.JOBS + 3):
        await rig.add_trip(START, distance_m=10_000)
    sizes = [await rig.scorer.score_due() for _ in range(3)]
    score, total = await rig.rows(tables.driving_score, "accel"), await rig.rows(tables.vehicle_score, "count")

    assert sizes == [scorer.JOBS, 3, 0]
    assert score == [(1,)] * (scorer.JOBS + 3)
    assert total == [(scorer.JOBS + 3,)]


async def test_batch_ends_with_the_job_that_fills_it(rig, monkeypatch):
    monkeypatch.setattr(scorer, "SAMPLES", 25)

    for _ in range(5):
        await rig.add_trip(CALM, distance_m=10_000)

    assert [await rig.scorer.score_due() for _ in range(4)] == [2, 2, 1, 0]


async def test_long_trip_judged_in_a_thread_gives_the_same(rig, monkeypatch):
    monkeypatch.setattr(scorer, "INLINE_SAMPLES", 0)

    await rig.add_trip(START, distance_m=10_000)
    await rig.drain()

    assert await rig.rows(tables.driving_score, "score") == [(SCORE_OF_START,)]


def test_accumulated_score_can_be_the_plain_mean(tmp_path):
    async def play(rig):
        await rig.add_trip(CALM, distance_m=90_000)
        await rig.add_trip(START, distance_m=10_000)
        await rig.drain()
        return await rig.rows(tables.vehicle_score, "count", "score")

    assert played(tmp_path, play, accumulate="trip_mean") == [(2, pytest.approx((100 + SCORE_OF_START) / 2))]


async def test_vehicles_accumulate_apart(rig):
    second = "44444444-0000-11b2-8080-808080808080"

    await rig.add_vehicle(second)
    await rig.add_trip(START, distance_m=10_000)
    await rig.add_trip(CALM, distance_m=9_000, vehicle_id=second)
    await rig.drain()
    found = await rig.rows(tables.vehicle_score, "vehicle_id", "count", "distance_m")

    assert found == [(VEHICLE, 1, 10_000), (second, 1, 9_000)]


async def test_obd_manoeuvre_bits_become_events(rig):
    packed = [sample(second, 50, em=0x40 if second == 3 else 0) for second in range(9)]

    await rig.add_trip(packed, distance_m=10_000, device_type="OBD")
    await rig.drain()
    found = await rig.rows(tables.gps_event, "event_type", "event_ms", "device_type", "speed_mh")

    assert found == [(4, START_MS + 3_000, "OBD", 50_000)]


async def test_running_scorer_wakes_when_told(rig, monkeypatch):
    monkeypatch.setattr(scorer, "LOOK_S", 3_600)

    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        looked = after(rig.store, "read")
        running = tasks.create_task(rig.scorer.run())
        await looked.wait()
        await rig.add_trip(CALM, distance_m=9_000)
        scored = after(rig.scorer, "_score")
        rig.hints.notify(SIGNAL_SCORING_DUE)
        await scored.wait()
        running.cancel()

    assert await rig.rows(tables.driving_score, "score") == [(100,)]


async def test_running_scorer_looks_by_itself(rig, monkeypatch):
    monkeypatch.setattr(scorer, "LOOK_S", 0.001)

    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        looked = after(rig.store, "read")
        running = tasks.create_task(rig.scorer.run())
        await rig.add_trip(CALM, distance_m=9_000, due_ms=NOW_MS + 5)
        await looked.wait()
        scored = after(rig.scorer, "_score")
        rig.now_ms += 5
        await scored.wait()
        running.cancel()

    assert await rig.rows(tables.driving_score, "score") == [(100,)]


@pytest.mark.parametrize("trouble", [Outage("away"), ValueError("a bug")])
async def test_running_scorer_survives_trouble_with_the_store(rig, monkeypatch, trouble):
    monkeypatch.setattr(scorer, "LOOK_S", 0.001)

    read, failed = rig.store.read, asyncio.Event()

    async def refuse(_, **how):
        failed.set()
        raise trouble

    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        rig.store.read = refuse
        running = tasks.create_task(rig.scorer.run())
        await failed.wait()
        await rig.add_trip(CALM, distance_m=9_000)
        scored = after(rig.scorer, "_score")
        rig.store.read = read
        await scored.wait()
        running.cancel()

    assert await rig.rows(tables.driving_score, "score") == [(100,)]


async def test_samples_with_parking_flag_are_left_out(rig):
    parked = samples.FLAG_OWN_TIME | samples.FLAG_PARKING
    packed = [*START, *(sample(20 + second, 60 * (second % 2), flags=parked) for second in range(8))]

    await rig.add_trip(packed, distance_m=10_000)
    await rig.drain()
    found = await rig.store.read(lambda tx: tx.all(select(tables.driving_score.c.accel)))

    assert [tuple(row) for row in found] == [(1,)]


async def test_what_was_mended_is_kept_with_the_trip(rig):
    steady = [sample(second, 72.0, lat=36 + second * 0.000_18) for second in range(200)]
    steady[50] = sample(50, 255.0, lat=36 + 50 * 0.000_18)
    steady[100] = sample(100, 72.0, lat=0)

    await rig.add_trip(steady, distance_m=9_000)
    await rig.drain()
    [(reason, body)], [(metres,)] = (
        await rig.rows(tables.trip, "not_scored", "quality"),
        await rig.rows(tables.driving_score, "distance_m"),
    )

    kept = quality.read(body)
    assert (reason, kept.samples, kept.period_ms, kept.gaps, kept.distance) == (None, 200, 1_000, 0, "doubted")
    assert kept.repairs == {"bad_speeds": 1, "filled_speeds": 1, "replaced_steps": 2}
    assert metres == pytest.approx(3_983, abs=3)


async def test_speeds_in_another_unit_are_refused_with_what_tells_which(rig):
    slow = [sample(second, 20.0, lat=36 + second * 0.000_18) for second in range(400)]

    await rig.add_trip(slow)
    await rig.drain()
    (scores_kept, events, totals, _, jobs), [(reason, body)] = (
        await left(rig),
        await rig.rows(tables.trip, "not_scored", "quality"),
    )

    assert (scores_kept, events, totals, jobs) == ([], [], [], [])
    assert reason == "speed_implausible"
    assert quality.likely(quality.read(body).speed_ratio) is quality.Unit.METRES_PER_SECOND


async def test_equal_score_by_another_policy_moves_to_its_sums(rig):
    trip_no = await rig.add_trip(CALM, distance_m=10_000)
    await rig.drain()
    rules = Rules(scoring=Scoring(harsh_weight=0.9))

    def choose(tx):
        policy = policies.keep(tx, rules, now_ms=NOW_MS)
        policies.choose(tx, policies.Kind.COMPANY, COMPANY, policy.no, from_ms=0, now_ms=NOW_MS)
        return policy.no

    chosen = await rig.write(choose)
    await rig.ask_again(trip_no)
    await rig.drain()

    assert await rig.rows(tables.score_sum, "policy", "trips") == [(chosen, 1)] * 9


async def test_trip_that_has_no_score_any_more_leaves_no_sum(rig):
    trip_no = await rig.add_trip(CALM, distance_m=10_000)
    await rig.drain()
    there = len(await rig.rows(tables.score_sum, "trips"))
    await rig.write(lambda tx: tx.run(update(tables.trip).values(parking=True)))
    await rig.ask_again(trip_no)
    await rig.drain()

    assert (there, await rig.rows(tables.score_sum, "trips")) == (9, [])


def choose(rig, **scoring):
    """Another policy for the company."""

    def work(tx):
        policy = policies.keep(tx, Rules(scoring=Scoring(**scoring)), now_ms=NOW_MS)
        policies.choose(tx, policies.Kind.COMPANY, COMPANY, policy.no, from_ms=0, now_ms=NOW_MS)

    return rig.write(work)


@pytest.mark.parametrize(("accumulate", "changes"), [("trip_mean", True), ("pooled", False)])
async def test_accumulated_score_follows_a_policy_by_which_all_trips_score_the_same(rig, accumulate, changes):
    nos = [await rig.add_trip(START, distance_m=10_000), await rig.add_trip(CALM, distance_m=30_000)]
    await rig.drain()
    before = await rig.rows(tables.vehicle_score, "score", "created_ms")
    await choose(rig, accumulate=accumulate, min_distance_m=3_001)
    rig.now_ms += 60_000
    for no in nos:
        await rig.ask_again(no)
    await rig.drain()
    after = await rig.rows(tables.vehicle_score, "score", "created_ms")

    mean = (SCORE_OF_START + 100) / 2
    assert after == ([(pytest.approx(mean), NOW_MS + 60_001)] if changes else before)
