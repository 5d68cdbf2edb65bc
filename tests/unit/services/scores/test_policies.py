"""Policies: settings become one, scores name theirs, a company or a service may have another."""

import pytest
from msgspec.structs import replace
from sqlalchemy import select
from tests.support.scoring_rows import COMPANY, DRIVER, NOW_MS, START_MS, drive, played

from tripline.scoring.rules import Harsh, Rules, Scoring, Style, read
from tripline.store import tables
from tripline.store.scores import policies
from tripline.store.scores.policies import Kind

START = drive(0, 0, 0, 0, 12, 24, 30, 30)
MILD = Rules(scoring=Scoring(harsh_weight=0.1))
OTHER = Rules(scoring=Scoring(harsh_weight=0.2))


async def scored(rig):
    await rig.add_trip(START, distance_m=10_000)
    await rig.drain()
    return await rig.rows(tables.driving_score, "policy", "score", "created_ms")


def test_policy_1_is_what_the_defaults_say():
    assert read(policies.FIRST) == Rules()


def test_policy_2_is_policy_1_and_the_style():
    second = read(policies.SECOND)

    assert replace(second, style=Style()) == Rules()
    assert second.style == Style(braking_weight=0.1, cornering_weight=0.2, over_20_weight=0.04, over_35_weight=0.08)
    assert second.written() == policies.SECOND


def test_policy_3_weighs_less_and_adds_5_km_to_each_trip():
    third = read(policies.THIRD)

    scoring = Scoring(harsh_weight=0.25, overspeed_weight=0.015, added_m=5_000)
    assert third == Rules(scoring=scoring, style=Style(braking_weight=0.25, cornering_weight=0.05))
    assert third.written() == policies.THIRD


def test_score_names_the_policy_of_the_settings(tmp_path):
    [(policy, _, _)] = played(tmp_path, scored)

    assert policy == 1


def test_changed_settings_become_the_next_policy_once(tmp_path):
    async def play(rig):
        found = await scored(rig)
        rig.scorer._policies.clear()
        await rig.drain()
        return found, await rig.rows(tables.scoring_policy, "no", "created_ms", "body")

    [(policy, *_)], kept = played(tmp_path, play, harsh_weight=0.1)

    assert policy == 4
    assert kept == [
        (1, NOW_MS, policies.FIRST),
        (2, NOW_MS, policies.SECOND),
        (3, NOW_MS, policies.THIRD),
        (4, NOW_MS, MILD.written()),
    ]


def test_when_a_trip_is_scored_is_no_matter_of_its_policy(tmp_path):
    [(policy, _, _)] = played(tmp_path, scored, grace_s=0.0, max_median_s=5.0)

    assert policy == 1
    assert Rules(scoring=Scoring(grace_s=9)).written() == Rules().written()


async def test_policy_that_a_company_chose_comes_before_that_of_its_service(rig):
    def keep(tx):
        policies.keep(tx, MILD, now_ms=1)
        policies.keep(tx, OTHER, now_ms=2)
        policies.choose(tx, Kind.SERVICE_TYPE, "s", 4, from_ms=0, now_ms=1)

    await rig.write(keep)
    by_service = await scored(rig)
    await rig.write(lambda tx: policies.choose(tx, Kind.COMPANY, COMPANY, 5, from_ms=0, now_ms=1))
    by_company = await scored(rig)
    await rig.write(lambda tx: policies.choose(tx, Kind.COMPANY, COMPANY, None, from_ms=0, now_ms=1))
    again = await scored(rig)

    assert [row[0] for row in by_service] == [4]
    assert [row[0] for row in by_company] == [4, 5]
    assert [row[0] for row in again] == [4, 5, 4]
    assert by_company[0][1] > by_company[1][1]


async def test_policy_chosen_while_a_trip_is_judged_has_it_judged_anew(rig):
    await rig.add_trip(START, distance_m=10_000)
    await rig.write(lambda tx: policies.keep(tx, MILD, now_ms=1))
    judged = rig.scorer._judged

    async def overtaken(tasks):
        results = await judged(tasks)
        await rig.write(lambda tx: policies.choose(tx, Kind.COMPANY, COMPANY, 4, from_ms=0, now_ms=1))
        rig.scorer._judged = judged
        return results

    rig.scorer._judged = overtaken
    await rig.drain()

    assert await rig.rows(tables.driving_score, "policy") == [(4,)]


async def test_equal_score_by_another_policy_keeps_its_time_and_names_the_new_one(rig):
    no = await rig.add_trip(drive(*[50] * 9), distance_m=10_000)
    await rig.drain()
    before = await rig.rows(tables.driving_score, "policy", "score", "created_ms")
    rig.now_ms += 5_000
    await rig.write(lambda tx: policies.keep(tx, MILD, now_ms=1))
    await rig.write(lambda tx: policies.choose(tx, Kind.COMPANY, COMPANY, 4, from_ms=0, now_ms=1))
    await rig.ask_again(no)
    await rig.drain()
    [(first, *before)], [(second, *after)] = (
        before,
        await rig.rows(tables.driving_score, "policy", "score", "created_ms"),
    )

    assert (first, second, after) == (1, 4, before)


@pytest.mark.parametrize("no", [0, 4, -1])
async def test_policy_that_does_not_exist_cannot_be_chosen(rig, no):
    await rig.drain()
    with pytest.raises(ValueError, match=f"no policy {no}"):
        await rig.write(lambda tx: policies.choose(tx, Kind.COMPANY, COMPANY, no, from_ms=0, now_ms=1))

    assert await rig.rows(tables.policy_choice, "policy") == []


async def test_every_number_but_the_time_of_scoring_tells_policies_apart(rig):
    def keep(tx):
        numbers = [policies.keep(tx, Rules(harsh=Harsh(standing_kmh=kmh)), now_ms=1).no for kmh in (5, 6, 6, 7)]
        return numbers, [
            row.no for row in tx.all(select(tables.scoring_policy.c.no).order_by(tables.scoring_policy.c.no))
        ]

    assert await rig.write(keep) == ([1, 4, 4, 5], [1, 2, 3, 4, 5])


async def test_choices_are_told_by_company_and_by_service_until_they_end(rig):
    service = policies.Chosen(Kind.SERVICE_TYPE, "s", 0, 4, 1, None)
    company = policies.Chosen(Kind.COMPANY, COMPANY, 0, 4, 1, None)
    ended = policies.Chosen(Kind.COMPANY, COMPANY, 50, None, 2, DRIVER)

    def choose(tx):
        policies.keep(tx, MILD, now_ms=1)
        policies.choose(tx, Kind.SERVICE_TYPE, "s", 4, from_ms=0, now_ms=1)
        policies.choose(tx, Kind.COMPANY, COMPANY, 1, from_ms=0, now_ms=1)
        policies.choose(tx, Kind.COMPANY, COMPANY, 4, from_ms=0, now_ms=1)
        both = policies.choices(tx)
        policies.choose(tx, Kind.COMPANY, COMPANY, None, from_ms=50, now_ms=2, by=DRIVER)
        return both, policies.choices(tx), policies.choices_of(tx, Kind.SERVICE_TYPE, "s")

    assert await rig.write(choose) == ([company, service], [company, ended, service], [service])


async def test_choice_ends_those_for_later_dates(rig):
    def choose(tx):
        for from_ms, no in ((10, 1), (20, 2), (30, 1), (20, None)):
            policies.choose(tx, Kind.COMPANY, COMPANY, no, from_ms=from_ms, now_ms=1)
        return [(each.from_ms, each.no) for each in policies.choices(tx)]

    await scored(rig)

    assert await rig.write(choose) == [(10, 1), (20, None)]


@pytest.mark.parametrize(
    ("company_from", "service_from", "expected"),
    [(0, 0, 2), (START_MS, 0, 2), (START_MS + 1, 0, 4), (START_MS + 1, START_MS, 4), (START_MS + 1, START_MS + 1, 1)],
)
async def test_choice_holds_for_trips_that_begin_at_its_date_or_later(rig, company_from, service_from, expected):
    def choose(tx):
        policies.keep(tx, MILD, now_ms=1)
        policies.choose(tx, Kind.COMPANY, COMPANY, 2, from_ms=company_from, now_ms=1)
        policies.choose(tx, Kind.SERVICE_TYPE, "s", 4, from_ms=service_from, now_ms=1)

    await rig.write(choose)

    assert [row[0] for row in (await scored(rig))] == [expected]
