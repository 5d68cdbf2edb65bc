"""Previews of a policy: what they tell, which trips they look at, their bounds, and that nothing is kept."""

import asyncio

import pytest
from tests.support.scoring_rows import COMPANY, drive, played

from tripline.scoring.rules import Rules, Scoring
from tripline.services.scores import policy_desk
from tripline.services.scores.policy_desk import PolicyDesk, PreviewUnderWay
from tripline.store import tables
from tripline.store.scores import policies, rescore

START = drive(0, 0, 0, 0, 12, 24, 30, 30)
CALM = drive(*[50] * 9)
MILD = Rules(scoring=Scoring(harsh_weight=0.1))
FAR = Rules(scoring=Scoring(min_distance_m=20_000))


def desk_of(rig):
    return PolicyDesk(store=rig.store, rules=Rules(), ids=rig.ids, clock=lambda: rig.now_ms)


async def previewed(rig, rules, trips=(START, CALM, START)):
    for packed in trips:
        await rig.add_trip(packed, distance_m=10_000)
    await rig.drain()
    policy = await rig.write(lambda tx: policies.keep(tx, rules, now_ms=1))
    return await desk_of(rig).preview(COMPANY, policy)


def test_preview_counts_scores_that_move_and_keeps_nothing(tmp_path):
    async def play(rig):
        before = None
        found = await previewed(rig, MILD)
        before = await rig.rows(tables.driving_score, "policy", "created_ms")
        return found, before

    found, kept = played(tmp_path, play)

    assert (found.judged, found.same, found.moved, found.lost) == (3, 1, 2, 0)
    assert found.sum == pytest.approx(2 * found.most)
    assert found.most > 0
    assert {policy for policy, _ in kept} == {1}


def test_preview_says_which_trips_would_have_no_score(tmp_path):
    found = played(tmp_path, lambda rig: previewed(rig, FAR))

    assert (found.judged, found.lost, found.reasons) == (3, 3, {"too_short": 3})


def test_preview_leaves_out_trips_without_a_score(tmp_path):
    async def play(rig):
        await rig.add_trip(START, device_type="SMARTPHONE", distance_m=10_000)
        return await previewed(rig, MILD, trips=(START,))

    assert played(tmp_path, play).judged == 1


@pytest.mark.parametrize(("most", "found"), [(2, 2), (3, 3), (4, 3)])
def test_newest_trips_are_looked_at(tmp_path, most, found):
    async def play(rig):
        nos = [await rig.add_trip(CALM, distance_m=10_000) for _ in range(3)]
        await rig.drain()
        return nos, await rig.store.read(lambda tx: rescore.newest(tx, COMPANY, vehicles=5, trips=most))

    nos, looked_at = played(tmp_path, play)

    assert looked_at == sorted(nos, reverse=True)[:found]


def test_preview_ends_when_it_has_judged_enough_samples(tmp_path, monkeypatch):
    monkeypatch.setattr(policy_desk.rescore, "TRIED", 1)

    async def play(rig):
        monkeypatch.setattr(policy_desk, "SAMPLES", len(START))
        at = await previewed(rig, MILD)
        monkeypatch.setattr(policy_desk, "SAMPLES", len(START) + 1)
        policy = await rig.write(lambda tx: policies.keep(tx, MILD, now_ms=1))
        return at, await desk_of(rig).preview(COMPANY, policy)

    at, above = played(tmp_path, play)

    assert (at.judged, above.judged) == (1, 2)


def test_one_preview_at_a_time(tmp_path):
    async def play(rig):
        policy = await rig.write(lambda tx: policies.keep(tx, MILD, now_ms=1))
        desk = desk_of(rig)
        return await asyncio.gather(
            *(desk.preview(COMPANY, policy) for _ in range(2)), return_exceptions=True
        ), await desk.preview(COMPANY, policy)

    (first, second), again = played(tmp_path, play)

    assert first.judged == again.judged == 0
    assert isinstance(second, PreviewUnderWay)
