"""Explanations of accumulated scores: costs that add up, the dearest trips first, both ways of accumulating."""

import math

import pytest
from tests.support.scoring_rows import COMPANY, DRIVER, VEHICLE, drive, played

from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.refusals import Kind
from tripline.services.scores import reads, totals
from tripline.store import tables

ACTOR = Actor(UserId(DRIVER), Authority.COMPANY_ADMIN, CompanyId(COMPANY))
HARSH = drive(0, 0, 0, 0, 12, 24, 30, 30)
CALM = drive(*[50.0] * 20)


async def fleet(rig, *distances_m):
    """Harsh trips of these lengths and a calm one."""
    for metres in distances_m:
        await rig.add_trip(HARSH, distance_m=metres)
    await rig.add_trip(CALM, distance_m=5_000)
    await rig.drain()
    return await rig.store.read(lambda tx: totals.explained(tx, actor=ACTOR, of=VEHICLE))


@pytest.mark.parametrize("how", ["pooled", "trip_mean"])
def test_costs_add_up_and_the_dearest_trip_comes_first(tmp_path, how):
    async def play(rig):
        told = await fleet(rig, 4_000, 20_000)
        kept = await rig.rows(tables.vehicle_score, "score", "count", "distance_m")
        lengths = dict(await rig.rows(tables.trip, "id", "distance_m"))
        return told, kept, lengths

    told, kept, lengths = played(tmp_path, play, accumulate=how)

    assert [(told.score, told.count, told.distance_m)] == kept
    assert told.how == how
    assert math.fsum(each.cost for each in told.dearest) == pytest.approx(100 - told.score, abs=1e-9)
    assert [each.cost for each in told.dearest] == sorted((each.cost for each in told.dearest), reverse=True)
    assert told.dearest[-1].cost == 0
    assert [each.distance_m for each in told.dearest] == [lengths[each.trip_id] for each in told.dearest]
    assert (told.others, told.others_cost) == (0, 0)
    assert [each.quality.samples for each in told.dearest] == [len(HARSH), len(HARSH), len(CALM)]


def test_pooled_trips_with_the_same_events_cost_the_same_however_long(tmp_path):
    told = played(tmp_path, lambda rig: fleet(rig, 4_000, 20_000))

    first, second, _ = told.dearest
    assert first.cost == pytest.approx(second.cost)


@pytest.mark.parametrize(("shown", "others"), [(2, 1), (3, 0), (4, 0)])
def test_trips_beyond_those_shown_are_told_together(tmp_path, monkeypatch, shown, others):
    monkeypatch.setattr(totals, "SHOWN", shown)

    told = played(tmp_path, lambda rig: fleet(rig, 4_000, 20_000))

    assert (len(told.dearest), told.others) == (min(shown, 3), others)
    whole = math.fsum([*(each.cost for each in told.dearest), told.others_cost])
    assert whole == pytest.approx(100 - told.score, abs=1e-9)


@pytest.mark.parametrize(("most", "told"), [(3, True), (2, False)])
def test_vehicle_with_more_scored_trips_than_are_explained_is_refused(tmp_path, monkeypatch, most, told):
    monkeypatch.setattr(totals, "TRIPS", most)

    async def play(rig):
        try:
            return (await fleet(rig, 4_000, 20_000)).count
        except reads.TooLong as refusal:
            return refusal.kind, refusal.field, refusal.values

    assert played(tmp_path, play) == (3 if told else (Kind.BAD_PARAMETER, "vehicleId", {"most": 2}))


def test_vehicle_without_events_costs_nothing(tmp_path):
    told = played(tmp_path, fleet)

    assert (told.score, [each.cost for each in told.dearest]) == (100, [0])


async def test_vehicle_without_a_scored_trip_has_nothing_to_explain(rig):
    with pytest.raises(reads.NoScoreYet):
        await rig.store.read(lambda tx: totals.explained(tx, actor=ACTOR, of=VEHICLE))
