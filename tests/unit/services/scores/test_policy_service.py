"""Previews of a policy: what they tell, which trips they look at, their bounds, and that nothing is kept."""

import asyncio

import pytest
from tests.support.scoring_rows import COMPANY, drive, played

from tripline.domain.rescorings import Outcome
from tripline.domain.shares import Holder
from tripline.scoring.rules import Rules, Scoring
from tripline.services.scores import policy_service
from tripline.services.scores.policy_service import PolicyService, PreviewUnderWay
from tripline.store import tables
from tripline.store.scores import policies, rescore

HOLDER = Holder("o", "c", "a")
START = drive(0, 0, 0, 0, 12, 24, 30, 30)
CALM = drive(*[50] * 9)
MILD = Rules(scoring=Scoring(harsh_weight=0.1))
FAR = Rules(scoring=Scoring(min_distance_m=20_000))


def desk_of(rig):
    return PolicyService(store=rig.store, rules=Rules(), ids=rig.ids, clock=lambda: rig.now_ms)


async def previewed(rig, rules, trips=(START, CALM, START)):
    for packed in trips:
        await rig.add_trip(packed, distance_m=10_000)
    await rig.drain()
    policy = await rig.write(lambda tx: policies.keep(tx, rules, now_ms=1))
    return await desk_of(rig).preview(COMPANY, policy, HOLDER)


async def test_preview_counts_scores_that_move_and_keeps_nothing(rig):
    before = None
    found = await previewed(rig, MILD)
    before = await rig.rows(tables.driving_score, "policy", "created_ms")
    kept = before

    assert (found.judged, found.same, found.moved, found.lost) == (3, 1, 2, 0)
    assert found.sum == pytest.approx(2 * found.most)
    assert found.most > 0
    assert {policy for policy, _ in kept} == {1}


def test_preview_has_means_and_the_largest_changes_first(tmp_path):
    found = played(tmp_path, lambda rig: previewed(rig, MILD))

    before, after = found.means
    assert after - before == pytest.approx(found.sum / 3)
    assert [each.after > each.before for each in found.movers] == [True, True]
    assert found.movers[0].after - found.movers[0].before == found.most


async def test_preview_ends_in_time(rig, monkeypatch):
    monkeypatch.setattr(policy_service.rescore, "TRIED", 1)

    await previewed(rig, MILD)
    policy = await rig.write(lambda tx: policies.keep(tx, MILD, now_ms=1))
    desk, step = desk_of(rig), iter(range(0, 10_000, 600))
    desk._clock = lambda: next(step)

    assert (await desk.preview(COMPANY, policy, HOLDER)).judged == 2


def test_preview_says_which_trips_would_have_no_score(tmp_path):
    found = played(tmp_path, lambda rig: previewed(rig, FAR))

    assert (found.judged, found.lost, found.reasons) == (3, 3, {"too_short": 3})


async def test_preview_leaves_out_trips_without_a_score(rig):
    await rig.add_trip(START, device_type="SMARTPHONE", distance_m=10_000)

    assert (await previewed(rig, MILD, trips=(START,))).judged == 1


@pytest.mark.parametrize(("most", "found"), [(2, 2), (3, 3), (4, 3)])
async def test_newest_trips_are_looked_at(rig, most, found):
    nos = [await rig.add_trip(CALM, distance_m=10_000) for _ in range(3)]
    await rig.drain()
    looked_at = await rig.store.read(lambda tx: rescore.newest(tx, COMPANY, vehicles=5, trips=most))

    assert looked_at == sorted(nos, reverse=True)[:found]


async def test_preview_ends_when_it_has_judged_enough_samples(rig, monkeypatch):
    monkeypatch.setattr(policy_service.rescore, "TRIED", 1)

    monkeypatch.setattr(policy_service, "SAMPLES", len(START))
    at = await previewed(rig, MILD)
    monkeypatch.setattr(policy_service, "SAMPLES", len(START) + 1)
    policy = await rig.write(lambda tx: policies.keep(tx, MILD, now_ms=1))
    above = await desk_of(rig).preview(COMPANY, policy, HOLDER)

    assert (at.judged, above.judged) == (1, 2)


async def test_one_preview_at_a_time(rig, monkeypatch):
    policy = await rig.write(lambda tx: policies.keep(tx, MILD, now_ms=1))
    desk, order, under_way = desk_of(rig), [], []

    async def tried_on(*_, **__):
        under_way.append(True)
        assert len(under_way) == 1
        await asyncio.sleep(0.01)
        under_way.pop()
        return Outcome()

    monkeypatch.setattr(policy_service.rescore, "tried_on", tried_on)

    async def ask(name):
        try:
            await desk.preview(COMPANY, policy, Holder(*name.split("/")))
            order.append(name)
        except PreviewUnderWay as refusal:
            order.append(f"{name} {refusal.case or 'full'}")

    async with asyncio.TaskGroup() as tasks:
        for name in ("o/c/a", "o/c/a", "o/c/a", "o/c/b", "o/d/b", "p/p/p"):
            tasks.create_task(ask(name))
            await asyncio.sleep(0)

    assert order == ["o/c/a full", "o/c/a", "p/p/p", "o/c/a", "o/c/b", "o/d/b"]


async def test_previews_of_an_operator_and_its_partners_make_room_for_another_operator(rig):
    policy = await rig.write(lambda tx: policies.keep(tx, MILD, now_ms=1))
    desk = desk_of(rig)
    names = [f"o/c{at}/a" for at in range(6)] + ["p/p/a", "p/p/b", "q/q/q"]
    found = await asyncio.gather(
        *(desk.preview(COMPANY, policy, Holder(*name.split("/"))) for name in names), return_exceptions=True
    )

    assert [getattr(each, "case", "done") for each in found] == ["done", "gave_way", *["done"] * 7]
