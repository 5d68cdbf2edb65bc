"""Two sensors on one vehicle: the trip that covers the longer time counts, whichever came or changed first."""

import numpy as np
import pytest
from sqlalchemy import insert, update
from tests.support import box_dirt
from tests.support.scoring_rows import COMPANY, START_MS, VEHICLE, add_microtrip, sample

from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, TimeIds, UserId
from tripline.services.scores import duplicates, reads, rescore
from tripline.store import tables
from tripline.store.scores import covers, scores
from tripline.store.scores.rescore import Choice

GPS, OBD, THIRD = (f"{digit * 8}-0000-11b2-8080-808080808080" for digit in "567")
METRES = 9_000


def span(first, last, *, step=4):
    """Samples from one second to another."""
    return [sample(second, 50) for second in range(first, last + 1, step)]


async def add_drive(rig, sensor_id, *, clock_s=0, received_s=None, seed=1, rows=slice(None)):
    """A drive along one street, the same for the same seed, by a clock that is off; messages of 50 samples.

    `received_s`: when it began, if it was sent live; None: sent at once at the beginning of the rig's time.
    """
    drive = {name: column[rows].tolist() for name, column in box_dirt.town(seed).items()}
    packed = [
        sample(second + clock_s, kmh, lat=lat, lon=lon) for second, lat, lon, kmh in zip(*drive.values(), strict=True)
    ]
    messages = [b"".join(packed[first : first + 50]) for first in range(0, len(packed), 50)]
    trip_no = await rig.add_trip(messages, sensor_id=sensor_id)
    if received_s is not None:
        await _receive_live(rig, trip_no, received_s)
    return trip_no


async def _receive_live(rig, trip_no, begin_s):
    numbers = TimeIds(node=1)
    nos = [no for no, of in await rig.rows(tables.microtrip, "no", "trip_no") if of == trip_no]
    for number, no in enumerate(nos, 1):
        at_ms = START_MS + (begin_s + 50 * number) * 1_000 + trip_no % 1_000
        moved = update(tables.microtrip).where(tables.microtrip.c.no == no)
        await rig.write(lambda tx, moved=moved, at_ms=at_ms: tx.run(moved.values(no=numbers.take(1, now_ms=at_ms))))


async def annul(rig, trip_no):
    """Accept a dispute of the whole trip."""
    values = {"no": 1, "id": THIRD, "company_id": COMPANY, "trip_no": trip_no, "reason": "DEVICE", "text": "x"}
    await rig.write(lambda tx: tx.run(insert(tables.dispute).values(state="ACCEPTED", **values)))
    await rig.ask_again(trip_no)


async def told(rig):
    """Why each trip has no score, by row number, and the vehicle's number of scored trips."""
    scored = {no for (no,) in await rig.rows(tables.driving_score, "trip_no")}
    trips = await rig.rows(tables.trip, "no", "not_scored")
    assert all((no in scored) == (reason is None) for no, reason in trips)
    totals = await rig.rows(tables.vehicle_score, "count")
    assert await rig.rows(tables.scoring_job, "trip_no") == []
    return [reason for _, reason in trips], sum(count for (count,) in totals)


async def add(rig, first, last, sensor_id, **changes):
    return await rig.add_trip(span(first, last), sensor_id=sensor_id, distance_m=METRES, **changes)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("longer_first", [True, False])
async def test_trip_that_covers_the_longer_time_counts(rig, longer_first, at_once):
    expected = [None, "duplicate"] if longer_first else ["duplicate", None]
    lengths = (100, 80) if longer_first else (80, 100)
    for length, sensor_id in zip(lengths, (GPS, OBD), strict=True):
        await add(rig, 0, length, sensor_id)
        if not at_once:
            await rig.drain()
    await rig.drain()

    assert await told(rig) == (expected, 1)


async def test_more_samples_in_less_time_do_not_count(rig):
    await rig.add_trip(span(0, 28, step=1), sensor_id=GPS, distance_m=METRES)
    await rig.add_trip(span(0, 32), sensor_id=OBD, distance_m=METRES)
    await rig.drain()

    assert await told(rig) == (["duplicate", None], 1)


async def test_of_equally_long_ones_the_first_counts(rig):
    await add(rig, 0, 80, GPS)
    await add(rig, 0, 80, OBD)
    await rig.drain()

    assert await told(rig) == ([None, "duplicate"], 1)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((0, 80, GPS), (40, 120, OBD), [None, None]),
        ((0, 84, GPS), (40, 120, OBD), [None, "duplicate"]),
        ((0, 80, GPS), (0, 80, GPS), [None, None]),
        ((0, 80, GPS), (0, 76, None), [None, "duplicate"]),
        ((0, 80, None), (0, 76, None), [None, None]),
    ],
    ids=["half", "more than half", "one sensor", "deleted sensor", "both deleted"],
)
async def test_trips_are_one_drive_by_more_than_half_of_the_shorter_and_of_two_sensors(rig, first, second, expected):
    for each in (first, second):
        await add(rig, *each)
    await rig.drain()

    assert await told(rig) == (expected, expected.count(None))


ONE, TWO = [None, "duplicate"], [None, None]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({}, {"clock_s": 3_600}, ONE),
        ({}, {"clock_s": -32_400}, ONE),
        ({}, {"clock_s": 3_600, "rows": slice(60, None, 3)}, ONE),
        ({}, {"clock_s": 15 * 3_600}, TWO),
        ({}, {"clock_s": 2_400}, TWO),
        ({}, {"clock_s": 3_600, "seed": 2}, TWO),
        ({}, {"clock_s": 3_600, "rows": slice(600, None)}, TWO),
        ({"received_s": 0}, {"received_s": 9, "clock_s": -2_400}, ONE),
        ({"received_s": 0}, {"received_s": 9, "clock_s": -40 * 86_400}, ONE),
        ({"received_s": 0}, {"received_s": 3_600, "clock_s": 3_600}, TWO),
        ({"received_s": 0}, {"received_s": 9, "clock_s": 3_600, "seed": 2}, TWO),
        ({"received_s": 0}, {"clock_s": -3_600}, ONE),
    ],
    ids=[
        *("an hour", "nine hours", "later and seldom", "beyond any time zone", "no whole hours", "other traffic"),
        *("half the drive", "live", "live, days off", "live one after the other", "live, other traffic", "one live"),
    ],
)
async def test_clock_that_is_wrong_makes_no_second_drive(rig, first, second, expected):
    """A driver who takes the same street twice, with sensors that take turns, loses no drive."""

    await add_drive(rig, GPS, **first)
    await add_drive(rig, OBD, **second)
    await rig.drain()

    assert await told(rig) == (expected, expected.count(None))


@pytest.fixture
def compared(monkeypatch):
    """The pairs of trips whose places are compared, by row number."""
    read = []
    samples = scores.samples
    monkeypatch.setattr(scores, "samples", lambda tx, no: read.append(no) or samples(tx, no))
    return lambda: {tuple(sorted(pair)) for pair in zip(read[::2], read[1::2], strict=True)}


async def test_history_sent_at_once_is_compared_only_with_trips_that_a_clock_may_reach(rig, compared):
    """Not each of a vehicle's old trips with all others."""

    pairs = set()
    for day in range(4):
        first = await add_drive(rig, GPS, clock_s=86_400 * day)
        pairs.add((first, await add_drive(rig, OBD, clock_s=86_400 * day + 2_400)))
    await rig.drain()

    assert await told(rig) == (TWO * 4, 8)
    assert compared() == pairs


async def test_number_of_trips_that_are_compared_by_place_is_bounded(rig):
    """A device may send thousands of short trips; those that arrived nearest to a trip are compared."""

    trips = [await add_drive(rig, sensor_id) for sensor_id in (OBD, OBD, OBD, GPS)]
    at_ms = tables.trip.c.created_ms
    for number, seconds in enumerate([50, 100, -10]):
        own = update(tables.trip).where(tables.trip.c.no == trips[number])
        await rig.write(lambda tx, own=own, seconds=seconds: tx.run(own.values({at_ms: at_ms + 1_000 * seconds})))
    await rig.drain()
    found = [
        await rig.store.read(lambda tx, most=most: covers.beside(tx, trips[3], within_ms=60_000, most=most))
        for most in (1, duplicates.MOST_BESIDE)
    ]

    assert [[trips.index(each.trip_no) for each in some] for some in found] == [[2], [2, 0]]


async def test_trip_of_a_wrong_clock_is_judged_again_with_the_trip_that_counts(rig):
    """The longer one comes later, and is annulled in the end."""

    await add_drive(rig, GPS, clock_s=3_600, rows=slice(60, None))
    await rig.drain()
    seen = [await told(rig)]
    longer = await add_drive(rig, OBD)
    await rig.drain()
    seen.append(await told(rig))
    await annul(rig, longer)
    await rig.drain()

    assert [*seen, await told(rig)] == [([None], 1), (["duplicate", None], 1), ([None, "annulled"], 1)]


async def test_late_places_of_the_trip_that_counts_show_one_drive(rig):
    """A winding road: samples 25 s apart cut its bends, though they cover the same time."""

    def winding(clock_s, rows):
        town = box_dirt.town(1)
        lon = town["lon"] + 0.002 * np.sin(town["t"] * np.pi / 25)
        places = zip(town["t"].tolist(), town["lat"].tolist(), lon.tolist(), strict=True)
        samples = [sample(second + clock_s, float("nan"), lat=lat, lon=lon) for second, lat, lon in places]
        return [samples[row] for row in rows]

    longer = await rig.add_trip(winding(0, [*range(600), *range(600, 1_230, 25)]), sensor_id=GPS)
    await rig.add_trip(winding(3_600, range(60, 1_200)), sensor_id=OBD)
    await rig.drain()
    seen = [await told(rig)]
    late = b"".join(winding(0, range(600, 1_225)))
    await rig.write(lambda tx: add_microtrip(tx, rig.ids, longer, late))
    await rig.ask_again(longer)
    await rig.drain()

    assert [*seen, await told(rig)] == [(TWO, 2), (ONE, 1)]


async def test_one_sensor_that_drives_the_same_twice_has_two_drives(rig):
    await add_drive(rig, GPS)
    await add_drive(rig, GPS, clock_s=3_600)
    await rig.drain()

    assert await told(rig) == (TWO, 2)


async def test_deleted_sensors_of_two_types_are_two(rig):
    await add(rig, 0, 80, None)
    await add(rig, 0, 76, None, device_type="OBD")
    await rig.drain()

    assert await told(rig) == ([None, "duplicate"], 1)


async def test_other_vehicles_and_trips_without_a_score_do_not_count(rig):
    other = "44444444-0000-11b2-8080-808080808080"
    await rig.add_vehicle(other)
    await add(rig, 0, 60, GPS)
    await add(rig, 0, 80, OBD, vehicle_id=other)
    await add(rig, 0, 84, OBD, device_type="ADAS")
    await rig.add_trip(span(0, 88), sensor_id=THIRD, distance_m=2_999)
    await rig.drain()

    assert await told(rig) == ([None, None, "device_type", "too_short"], 2)


async def test_trip_below_a_duplicate_counts_when_nothing_that_counts_is_above_it(rig):
    """The third shares more than half with the second alone, and that one is a duplicate of the first."""

    await add(rig, 0, 92, GPS)
    await add(rig, 40, 116, OBD)
    await add(rig, 80, 112, THIRD)
    await rig.drain()
    before = await told(rig)
    await rig.write(lambda tx: tx.run(update(tables.trip).where(tables.trip.c.sensor_id == GPS).values(distance_m=1)))
    ((first,), *_) = await rig.rows(tables.trip, "no")
    await rig.ask_again(first)
    await rig.drain()

    assert before == ([None, "duplicate", None], 2)
    assert await told(rig) == (["too_short", None, "duplicate"], 1)


async def test_late_data_turns_it_round_and_back_again_when_it_is_annulled(rig):
    first = await add(rig, 0, 80, GPS)
    second = await add(rig, 0, 60, OBD)
    await rig.drain()
    seen = [await told(rig)]
    await rig.write(lambda tx: [add_microtrip(tx, rig.ids, second, each) for each in span(64, 100)])
    await rig.ask_again(second)
    await rig.drain()
    seen.append(await told(rig))
    await annul(rig, second)
    await rig.drain()
    _, seen = first, [*seen, await told(rig)]

    assert seen == [([None, "duplicate"], 1), (["duplicate", None], 1), ([None, "annulled"], 1)]


async def test_duplicate_has_no_events_and_gets_them_when_it_counts(rig):
    speeds = [*[50.0] * 10, 65, *[65.0] * 10]
    harsh = [sample(second, kmh) for second, kmh in enumerate(speeds)]

    longer = await rig.add_trip(span(0, 40), sensor_id=GPS, distance_m=METRES)
    await rig.add_trip(harsh, sensor_id=OBD, distance_m=METRES)
    await rig.drain()
    before = await rig.rows(tables.gps_event, "event_ms")
    await rig.write(lambda tx: tx.run(update(tables.trip).where(tables.trip.c.no == longer).values(distance_m=1)))
    await rig.ask_again(longer)
    await rig.drain()

    assert before == []
    assert await rig.rows(tables.gps_event, "event_ms") == [(START_MS + 10_000,)]
    assert await told(rig) == (["too_short", None], 1)


async def test_rescoring_keeps_what_was_decided_and_a_try_tells_of_no_change(rig):
    await add(rig, 0, 80, GPS)
    await add(rig, 0, 76, OBD)
    await rig.drain()
    before = await told(rig)
    everything = Choice(everything=True)
    tried = await rescore.tried(rig.store, rig.scorer._rules, everything, policy=None, progress=lambda _: None)
    done = await rescore.rescored(rig.store, rig.scorer, everything, clock=lambda: rig.now_ms, progress=lambda _: None)
    after, outcomes = await told(rig), [(each.judged, each.same) for each in (tried, done)]

    assert before == after == ([None, "duplicate"], 1)
    assert outcomes == [(2, 2), (2, 2)]


async def test_rescoring_scores_also_what_it_has_a_bearing_on(rig):
    """The trip that is not chosen counts at the end of the command, without a server."""

    await add(rig, 0, 80, GPS)
    await add(rig, 0, 76, OBD)
    await rig.drain()
    await rig.write(
        lambda tx: tx.run(
            update(tables.trip)
            .where(tables.trip.c.sensor_id == GPS)
            .values(distance_m=1, company_id=VEHICLE, start_ms=1)
        )
    )
    await rescore.rescored(
        rig.store,
        rig.scorer,
        Choice(everything=True, company_id=CompanyId(VEHICLE)),
        clock=lambda: rig.now_ms,
        progress=lambda _: None,
    )

    assert await told(rig) == (["too_short", None], 1)


async def test_explanation_names_the_trip_that_counts(rig):
    await add(rig, 0, 80, GPS)
    await add(rig, 0, 76, OBD)
    await rig.drain()
    (first,), (second,) = await rig.rows(tables.trip, "id")
    actor = Actor(UserId(COMPANY), Authority.COMPANY_ADMIN, CompanyId(COMPANY))
    named = [
        (await rig.store.read(lambda tx, of=of: reads.to_explain(tx, actor=actor, of=of))).counting
        for of in (first, second)
    ]

    assert named == [None, first]


async def test_cover_goes_with_the_score_that_a_trip_would_have(rig):
    no = await add(rig, 0, 80, GPS)
    await rig.drain()
    kept = await rig.rows(tables.trip_cover, "trip_no", "vehicle_id", "begin_ms", "end_ms")
    await rig.write(lambda tx: tx.run(update(tables.trip).values(distance_m=1)))
    await rig.ask_again(no)
    await rig.drain()
    job = await rig.store.read(lambda tx: scores.as_if_asked(tx, no))
    left, reason = await rig.rows(tables.trip_cover, "trip_no"), job.not_scored

    assert kept == [(no, VEHICLE, START_MS, START_MS + 80_000)]
    assert (left, reason) == ([], "too_short")
