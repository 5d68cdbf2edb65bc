"""Scores that need attention: falling ones, harsh driving, vehicles without scores, and what is left out."""

import math

import pytest
from sqlalchemy import insert, update
from tests.support import delegating, rest, scoring_rows
from tests.support.portal import Browser
from tests.unit.api import test_trip_drivers as trips

from tripline.domain import trends
from tripline.domain.ids import no_of
from tripline.domain.trends import Period, Sums
from tripline.services.scores import attention
from tripline.store.tables import score_sum, trip

ATTENTION = "/api/tre/v1_3/analytics/attention"
CALM = Sums(1, 0, 0, 0, 0, 0, 100_000, 0, 0)
HARSH = Sums(1, 30, 10, 0, 0, 0, 100_000, 0, 0)
"""Forty events for each 100 km."""


def scored(score, metres=100_000, known=0.0):
    return trends.of_trip(
        lacking=-math.log(score / 100),
        distance_m=metres,
        accel=0,
        de_accel=0,
        over_speed=0,
        over_speed_s=0.0,
        driving_ms=1,
        known_m=round(known * metres),
    )


async def vehicle(own, number, weeks=(), why=None):
    """A vehicle with a trip of today, and sums so many weeks ago."""
    app = own.app
    vehicle_id = await delegating.new_vehicle(app, own.admin, number)
    week = trends.first_day(trends.day_of(app.now_ms, scoring_rows.ZONE), Period.WEEK)

    def work(tx):
        trip_id = app.ids.next(now_ms=app.now_ms)
        row = {"no": no_of(trip_id), "id": trip_id, "created_ms": app.now_ms, "company_id": own.admin.company_id}
        row |= {"vehicle_id": vehicle_id, "service_type": "taxi", "device_type": "GPS", "parking": False}
        tx.run(insert(trip).values(**row, state="COMPLETE", start_ms=app.now_ms - 1_000, not_scored=why))
        for ago, sums in weeks:
            key = {"subject": vehicle_id, "period": "week", "day": week - 7 * ago, "policy": 1, "kind": "vehicle"}
            tx.run(insert(score_sum).values(**key, **sums._asdict()))

    await app.store.write(work)
    return vehicle_id


async def cast(app):
    """A fleet with trips, a stranger to it, and the time."""
    own = await trips.cast(app)
    _, own.stranger = await app.operator("other")
    return own, app.now_ms


def asked(tmp_path, fill, reader="admin"):
    async def play(app):
        own, app.now_ms = await app.staged(cast)
        own.app = app
        known = await fill(own)
        return known, await app.get(getattr(own, reader), ATTENTION)

    return rest.run(tmp_path, play)


@pytest.mark.parametrize(
    ("weeks", "falls"),
    [
        ([(0, scored(80)), (2, scored(90))], [(90.0, 80.0)]),
        ([(1, scored(80)), (9, scored(90))], [(90.0, 80.0)]),
        ([(0, scored(80)), (10, scored(90))], []),
        ([(0, scored(86)), (2, scored(90))], []),
        ([(0, scored(80, 19_000)), (2, scored(90))], []),
        ([(0, scored(80)), (2, scored(90, 19_000))], []),
        ([(0, scored(90)), (2, scored(80))], []),
    ],
)
def test_score_that_fell_is_named_with_both_scores(tmp_path, weeks, falls):
    known, told = asked(tmp_path, lambda own: vehicle(own, "12가0001", weeks))

    found = [(each["of"], each["id"]["id"], each["name"]) for each in told["falling"]]
    assert found == [("vehicle", known, "12가0001")] * len(falls)
    assert [(pytest.approx(each["before"]), pytest.approx(each["now"])) for each in told["falling"]] == falls


def test_fallen_score_names_the_share_of_known_limits(tmp_path):
    weeks = [(0, scored(80, known=0.2)), (2, scored(90, known=0.5)), (3, scored(90, known=0.7))]

    async def fill(own):
        await vehicle(own, "12가0001", weeks)
        await vehicle(own, "12가0002", [(0, scored(70)), (2, scored(90))])
        return (await Browser(own.app, own.admin).get("/scores")).text

    shown, told = asked(tmp_path, fill)

    known = [(each["limitKnownBefore"], each["limitKnownNow"]) for each in told["falling"]]
    assert known == [(0.0, 0.0), (0.6, 0.2)]
    assert "90.0 before (limits known: 60%), 80.0 now (20%)" in shown
    assert "90.0 before (limits known: none), 70.0 now (none)" in shown


@pytest.mark.parametrize(("others", "found"), [(4, True), (2, False)])
def test_harsh_driving_needs_a_group(tmp_path, others, found):
    async def fill(own):
        for number in range(others):
            await vehicle(own, f"34나000{number}", [(0, CALM)])
        return await vehicle(own, "12가0001", [(0, HARSH)])

    known, told = asked(tmp_path, fill)

    assert [each["id"]["id"] for each in told["harsh"]] == [known] * found
    if found:
        (harsh,) = told["harsh"]
        assert (harsh["per100Km"], harsh["groupPer100Km"]) == (40.0, 8.0)


@pytest.mark.parametrize("why", ["sparse", "speed_implausible", "too_short", "parking"])
def test_vehicle_without_usable_trips_is_named_with_the_reason(tmp_path, why):
    async def fill(own):
        await own.app.store.write(lambda tx: tx.run(update(trip).values(start_ms=own.app.now_ms - 1)))
        return await vehicle(own, "12가0001", why=why)

    known, told = asked(tmp_path, fill)

    named = [(each["vehicleId"]["id"], each["count"], each["notScored"]) for each in told["unscored"]]
    assert named == ([(known, 1, why)] if why in ("sparse", "speed_implausible") else [])


def test_lists_are_bounded_and_waiting_disputes_come_with_them(tmp_path):
    async def fill(own):
        for number in range(attention.SHOWN + 2):
            await vehicle(own, f"34나000{number}", [(0, scored(80 - number)), (3, scored(90))])
        body = {"reason": "LIMIT", "text": "80."}
        return await own.app.post(own.driver, own.of_trip, body)

    known, told = asked(tmp_path, fill)

    assert [each["name"] for each in told["falling"]] == [f"34나000{number}" for number in (6, 5, 4, 3, 2)]
    assert told["disputes"] == [known]


@pytest.mark.parametrize(
    ("reader", "sees"), [("admin", True), ("director", False), ("driver", False), ("stranger", False)]
)
def test_nothing_outside_of_the_readers_reach_is_named(tmp_path, reader, sees):
    known, told = asked(tmp_path, lambda own: vehicle(own, "12가0001", [(0, scored(80)), (2, scored(90))]), reader)

    assert [each["id"]["id"] for each in told["falling"]] == [known] * sees
