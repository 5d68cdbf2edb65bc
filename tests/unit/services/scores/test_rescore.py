"""Scoring anew: which trips, what stays, what is only tried, and going on after an end in the middle."""

import asyncio

import pytest
from sqlalchemy import delete, select, update
from tests.support.scoring_rows import COMPANY, NOW_MS, START_MS, VEHICLE, drive

from tripline.scoring import policy
from tripline.scoring.rules import Rules, Scoring
from tripline.scoring.score import ScoredTrip
from tripline.services.scores import rescore
from tripline.store import tables
from tripline.store.scores import policies
from tripline.store.scores.policies import Kind
from tripline.store.scores.rescore import Choice

HARSH = drive(0, 0, 0, 0, 12, 24, 30, 30)
CALM = drive(*[50.0] * 20)
ALL = Choice(everything=True)
OTHERS = Choice()
TABLES = (tables.trip, tables.driving_score, tables.gps_event, tables.vehicle_score, tables.scoring_job)
MILD = Rules(scoring=Scoring(harsh_weight=0.1))


async def fleet(rig, *, trips=3):
    """Scored trips of one vehicle, harsh and calm in turn, and one too short for a score; the row numbers."""
    nos = [await rig.add_trip((HARSH, CALM)[turn % 2], distance_m=10_000) for turn in range(trips)]
    nos.append(await rig.add_trip(CALM, distance_m=100))
    await rig.drain()
    return nos


async def everything(rig):
    return [await rig.rows(table, *table.c.keys()) for table in TABLES]


async def rescored(rig, choice):
    rig.now_ms += 60_000
    seen = []
    outcome = await rescore.rescored(rig.store, rig.scorer, choice, clock=lambda: rig.now_ms, progress=seen.append)
    return outcome, seen


async def tried(rig, choice, policy=None, rules=None):
    return await rescore.tried(rig.store, rules or Rules(), choice, policy=policy, progress=lambda _: None)


def counts(outcome):
    return outcome.judged, outcome.moved, outcome.gained, outcome.lost, outcome.same, outcome.failed


async def spoil(rig, no, **values):
    """Change the stored score of a trip, as if by other rules, with the sums of its vehicle."""

    def change(tx):
        score = tables.driving_score.c
        tx.run(update(tables.driving_score).where(score.trip_no == no).values(values))
        every = tx.all(select(score.score, score.distance_m).where(score.vehicle_id == VEHICLE))
        sums = policy.sums([ScoredTrip(*each) for each in every])
        tx.run(
            update(tables.vehicle_score).where(tables.vehicle_score.c.vehicle_id == VEHICLE).values(sums=sums.written())
        )

    await rig.write(change)


async def test_scoring_everything_by_the_same_policy_changes_no_row(rig):
    await fleet(rig)
    before = await everything(rig)
    outcome, _ = await rescored(rig, ALL)

    assert await everything(rig) == before
    assert counts(outcome) == (4, 0, 0, 0, 4, 0)


async def test_scores_by_another_policy_become_what_scoring_from_scratch_gives(rig):
    first, second, third, _ = await fleet(rig)
    scratch = await rig.rows(tables.driving_score, "trip_no", "score", "policy")
    totals = await rig.rows(tables.vehicle_score, "score", "count", "distance_m")
    await spoil(rig, first, policy=0, score=12.5)
    await spoil(rig, second, policy=0)
    outcome, seen = await rescored(rig, OTHERS)
    times = dict(await rig.rows(tables.driving_score, "trip_no", "created_ms"))
    again, _ = await rescored(rig, OTHERS)
    scratch, after, anew, again = (
        (scratch, totals),
        (
            await rig.rows(tables.driving_score, "trip_no", "score", "policy"),
            await rig.rows(tables.vehicle_score, "score", "count", "distance_m"),
        ),
        [times[no] > NOW_MS + 50_000 for no in (first, second, third)],
        counts(again),
    )

    assert after == scratch
    assert counts(outcome) == (3, 1, 0, 0, 2, 0)
    assert outcome.most == outcome.sum > 0
    assert seen == [4]
    assert anew == [True, False, False]
    # Only the trip without a score is looked at again.
    assert again == (1, 0, 0, 0, 1, 0)


async def test_trial_says_what_scoring_anew_then_does_and_writes_nothing(rig):
    first, second, *_ = await fleet(rig)
    await spoil(rig, first, policy=0, score=12.5)
    await rig.write(lambda tx: tx.run(delete(tables.gps_event)))
    await rig.write(lambda tx: tx.run(delete(tables.driving_score).where(tables.driving_score.c.trip_no == second)))
    before = await everything(rig)
    trial = await tried(rig, OTHERS)
    untouched = await everything(rig) == before
    done, _ = await rescored(rig, OTHERS)

    assert untouched
    assert counts(trial) == counts(done) == (3, 1, 1, 0, 1, 0)
    assert (trial.most, trial.sum) == (done.most, done.sum)


async def test_trial_of_rules_and_of_policies_that_are_not_in_force(rig):
    strict = Rules(scoring=Scoring(min_distance_m=20_000))

    await fleet(rig)
    mild = await rig.write(lambda tx: policies.keep(tx, MILD, now_ms=1))
    too_strict, mild, own = (
        await tried(rig, OTHERS, rules=strict),
        await tried(rig, ALL, policy=mild),
        await tried(rig, OTHERS),
    )

    assert counts(too_strict) == (4, 0, 0, 3, 1, 0)
    assert too_strict.reasons == {"too_short": 3}
    assert counts(mild) == (4, 2, 0, 0, 2, 0)
    assert counts(own) == (1, 0, 0, 0, 1, 0)


async def test_chosen_policy_of_a_company_is_the_one_in_force(rig):
    await fleet(rig)
    await rig.write(lambda tx: policies.keep(tx, MILD, now_ms=1))
    await rig.write(lambda tx: policies.choose(tx, Kind.COMPANY, COMPANY, 4, from_ms=0, now_ms=1))
    outcome, _ = await rescored(rig, OTHERS)

    assert counts(outcome) == (4, 2, 0, 0, 2, 0)
    assert await rig.rows(tables.driving_score, "policy") == [(4,)] * 3


@pytest.mark.parametrize(
    ("choice", "judged"),
    [
        ({"from_ms": START_MS}, 4),
        ({"from_ms": START_MS + 1}, 0),
        ({"to_ms": START_MS}, 0),
        ({"to_ms": START_MS + 1}, 4),
        ({"company_id": COMPANY}, 4),
        ({"company_id": COMPANY[::-1]}, 0),
    ],
)
async def test_period_and_company_bound_what_is_judged(rig, choice, judged):
    await fleet(rig)
    await rig.write(lambda tx: tx.run(update(tables.trip).values(start_ms=START_MS)))

    assert (await tried(rig, Choice(everything=True, **choice))).judged == judged


async def test_open_trips_and_those_of_deleted_vehicles_are_left_alone(rig):
    first, second, *_ = await fleet(rig)
    await rig.write(lambda tx: tx.run(update(tables.trip).where(tables.trip.c.no == first).values(state="OPEN")))
    opened = (await tried(rig, ALL)).judged
    vehicle_id = (await rig.rows(tables.vehicle, "id"))[0][0]
    await rig.write(lambda tx: tx.run(tables.erasure.insert().values(id=vehicle_id, kind="vehicle", created_ms=1)))

    assert (opened, (await tried(rig, ALL)).judged, second)[:2] == (3, 0)


async def test_job_that_fails_is_counted_and_holds_up_no_other(rig):
    first, *_ = await fleet(rig)
    cut = tables.microtrip.c.trip_no == first
    await rig.write(lambda tx: tx.run(update(tables.microtrip).where(cut).values(samples=b"cut off")))
    outcome, _ = await rescored(rig, ALL)

    assert counts(outcome) == (3, 0, 0, 0, 3, 1)
    assert [row[0] for row in await rig.rows(tables.scoring_job, "attempts")] == [1]


async def test_more_trips_than_a_bite_and_an_end_in_the_middle_lose_none(rig, monkeypatch):
    monkeypatch.setattr(rescore, "BITE", 10)
    trips = rescore.BITE + 2

    nos = await fleet(rig, trips=trips)
    await rig.write(lambda tx: tx.run(update(tables.driving_score).values(policy=0)))
    begun = asyncio.Event()
    rig.now_ms += 1

    def progress(_):
        begun.set()

    work = asyncio.ensure_future(
        rescore.rescored(rig.store, rig.scorer, OTHERS, clock=lambda: rig.now_ms, progress=progress)
    )
    await begun.wait()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    half = {row[0] for row in await rig.rows(tables.driving_score, "policy")}
    _, seen = await rescored(rig, OTHERS)
    left = await rig.rows(tables.driving_score, "policy")
    policies_left, scored, jobs, count = set(left), len(left), await rig.rows(tables.scoring_job, "trip_no"), len(nos)

    assert half == {0, 1}
    assert seen == [rescore.BITE, count]
    assert (policies_left, scored, jobs) == ({(1,)}, trips, [])
