"""A vehicle's day as a page: its sentence, sums, rows, days around it, and an empty day."""

import datetime as dt
import re
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import delete, insert, update
from tests.support import day_world
from tests.support.day_world import HOUR_MS, MIDNIGHT_MS
from tests.support.portal import Browser, Page

from tripline.domain.samples import FLAG_OWN_TIME, RECORD
from tripline.services.scores import reads
from tripline.store.tables import driving_score, microtrip, trip


@pytest.fixture
async def world(app):
    return await day_world.three_trips(app)


async def shown(world, *dates, name="P", before=lambda tx, world: None):
    """The page of each day."""
    await world.app.store.write(lambda tx: before(tx, world))
    browser = Browser(world.app, world.logins[name])
    return [await browser.get(f"/fleet/vehicles/{world.ids['V']}/days{date}") for date in dates]


def texts(answer):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.text))


async def test_day_names_drives_stops_and_the_other_day_of_a_trip_over_midnight(world):
    (before, day) = await shown(world, "/2024-12-31", "/2025-01-01")

    assert re.search(r"<h1>[^<]+, Jan 1, 2025: 2 trips, 12.5 km, 2 hr of driving</h1>", day.text)
    assert re.search(r"<h1>[^<]+, Dec 31, 2024: 1 trip, 7.5 km, 1 hr of driving</h1>", before.text)
    rows = re.findall(r"<tr data-row>(.*?)</tr>", day.text, re.DOTALL)
    words = [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", row)).strip() for row in rows]
    way = "37.5000, 127.0000 → 37.5000, 127.4000"
    assert words[0].startswith(f"Trip Dec 31, 2024, 23:00 – 01:00 {way} 2 hr {way} 2.5 km")
    assert words[1].startswith("Stop 01:00 – 03:00 37.5000, 127.4000 2 hr 37.5000, 127.4000")
    assert words[2].startswith("Trip 03:00 – 04:00 – none 1 hr – none 10.0 km Not scored")
    assert words[3].startswith("Stop 04:00 – Jan 2, 2025, 06:00 – none 26 hr")
    assert "A trip over midnight" in day.text
    links = Page(day.text).hrefs
    assert f"/trips/{day_world.trip_id(1)}" in links
    around = [f"/fleet/vehicles/{world.ids['V']}/days/{each}" for each in ("2024-12-31", "2025-01-02")]
    assert set(around) <= set(links)


async def test_empty_day_leads_to_the_days_with_trips_around_it(world):
    (early, late) = await shown(world, "/2024-12-30", "/2025-01-03")

    base = f"/fleet/vehicles/{world.ids['V']}/days"
    assert "No trip on this day" in early.text
    assert "Next trip: Dec 31, 2024" in early.text
    assert "Last trip before: Jan 2, 2025" in late.text
    assert f"{base}/2025-01-02" in Page(late.text).hrefs


@pytest.mark.parametrize(
    ("date", "hours", "around", "marks", "clock"),
    [
        ("2024-03-31", 23, ("2024-03-30", "2024-04-01"), {"00:00": 0.0, "03:00": 8.696, "21:00": 86.957}, "04:00"),
        ("2024-10-27", 25, ("2024-10-26", "2024-10-28"), {"00:00": 0.0, "03:00": 16.0, "21:00": 88.0}, "02:00"),
    ],
)
async def test_day_with_a_change_of_the_clock_has_23_or_25_hours(world, date, hours, around, marks, clock):
    zone = ZoneInfo("Europe/Berlin")
    begin_ms = round(dt.datetime.fromisoformat(date).replace(tzinfo=zone).timestamp() * 1_000)

    def drive(tx):
        # Over the midnight before, over the change of the clock, and over the midnight behind.
        for no, since, until in ((1, -1, 1), (2, 1.5, 3), (3, hours - 1, hours + 1)):
            ends = {"start_ms": begin_ms + int(since * HOUR_MS), "end_ms": begin_ms + int(until * HOUR_MS)}
            tx.run(update(trip).where(trip.c.no == no).values(**ends))
        path = day_world.samples((begin_ms - HOUR_MS, 127.0), (begin_ms - 1, 127.3), (begin_ms + HOUR_MS, 127.4))
        tx.run(update(microtrip).where(microtrip.c.trip_no == 1).values(samples=path))

    await world.app.store.write(drive)
    world.app.change(time_zone=zone)
    browser = Browser(world.app, world.logins["P"])
    base = f"/fleet/vehicles/{world.ids['V']}/days"
    told = await world.app.get(world.logins["P"], day_world.address(world, f"days/{date}"))
    (before, day, behind) = [await browser.get(f"{base}/{each}") for each in (around[0], date, around[1])]

    assert (told["startTime"], told["endTime"]) == (begin_ms, begin_ms + hours * HOUR_MS)
    assert "3 trips, 22.5 km, 3 hr 30 min of driving" in day.text
    assert "1 trip, 7.5 km, 1 hr of driving" in before.text
    assert "1 trip, 10.0 km, 1 hr of driving" in behind.text
    assert {f"{base}/{each}" for each in around} <= set(Page(day.text).hrefs)
    drawn = dict(re.findall(r'<text class="day-hour[^"]*" x="([0-9.]+)%" y="40">([0-9:]+)</text>', day.text))
    assert {text: float(x) for x, text in drawn.items() if text in marks} == marks
    assert f"01:30 – {clock}" in texts(day)


async def test_score_of_the_day_stands_beside_its_known_limits_and_number_of_trips(world):
    def score(tx, world):
        values = {
            "trip_no": 2,
            "trip_id": day_world.trip_id(2),
            "created_ms": 1,
            "company_id": world.of("P").company_id,
        }
        values |= {"vehicle_id": world.ids["V"], "score": 80.0, "distance_m": 5_000.0, "policy": 1, "day": 20_089}
        values |= dict.fromkeys(("accel", "de_accel", "over_speed", "over_speed_s", "driving_ms", "known_m"), 0)
        tx.run(insert(driving_score), values)

    (day,) = await shown(world, "/2025-01-01", before=score)

    assert "80.0 · limits unknown" in texts(day)


async def test_idling_is_standing_of_five_minutes_on_the_day_alone(world):
    def stand(tx, world):
        first = MIDNIGHT_MS - 2 * 60_000
        still = [first + second * 1_000 for second in range(0, 600, 10)]
        later = [MIDNIGHT_MS + 3 * HOUR_MS + second * 1_000 for second in range(0, 240, 10)]
        for no, moments in ((1, still), (2, later)):
            packed = b"".join(RECORD.pack(ms, 37.5, 127.0, 0.0, -1, FLAG_OWN_TIME) for ms in moments)
            tx.run(delete(microtrip).where(microtrip.c.trip_no == no))
            row = {"no": 10 + no, "trip_no": no, "id": f"i{no}", "ty": 1, "payload": b"[]", "samples": packed}
            tx.run(insert(microtrip), row)

    await world.app.store.write(lambda tx: stand(tx, world))
    days = ("2024-12-31", "2025-01-01", "2025-01-02")
    days = [await world.app.get(world.of("P"), day_world.address(world, f"days/{day}")) for day in days]

    assert [each["idling"] for each in days] == [120, 470, 0]


async def test_track_of_the_day_has_its_samples_alone(world):
    days = ("2024-12-31", "2025-01-01", "2025-01-02")
    tracks = [await world.app.get(world.of("P"), day_world.address(world, f"days/{day}/track")) for day in days]
    packed = {"accept-encoding": "gzip"}
    address = f"/api/tre/v1_3/vehicle/{world.ids['V']}/days/2025-01-01/track"
    before, day, after, small = *tracks, await Browser(world.app, world.of("P")).get(address, **packed)

    assert before["samples"]["lon"] == [127.0, 127.3]
    assert day["samples"] == {"ts": [MIDNIGHT_MS + HOUR_MS], "lat": [37.5], "lon": [127.4], "speed": [50.0]}
    assert (after["count"], after["samples"]["ts"]) == (0, [])
    assert (small.headers["content-encoding"], small.json()) == ("gzip", day)


async def test_day_of_too_many_samples_has_no_idling_and_no_track(world, monkeypatch):
    monkeypatch.setattr(reads, "EXPLAINED", 2)

    address = day_world.address(world, "days/2025-01-01")
    track = await world.app.call(world.of("P"), "GET", f"{address}/track")
    day = await world.app.get(world.of("P"), address)

    assert day["idling"] is None
    assert (track.status_code, track.json()["errorCode"]) == (400, 31)
    assert "'date': the trips of this day have more than 2 samples" in track.json()["message"]


async def test_way_to_a_day_leads_to_today_or_the_chosen_one(world):
    answers = await shown(world, "", "?date=2025-01-01", "?date=odd", "/odd")

    base = f"/fleet/vehicles/{world.ids['V']}/days"
    today, chosen, *wrong = answers
    assert re.fullmatch(rf"{base}/\d{{4}}-\d\d-\d\d", today.headers["location"])
    assert chosen.headers["location"] == f"{base}/2025-01-01"
    assert [each.status_code for each in wrong] == [400, 400]


async def test_duplicate_is_a_row_and_in_no_sum(world):
    def repeat(tx, world):
        tx.run(update(trip).where(trip.c.no == 2).values(not_scored="duplicate"))

    (day,) = await shown(world, "/2025-01-01", before=repeat)

    assert re.search(r"<h1>[^<]+: 1 trip, 2.5 km, 2 hr of driving</h1>", day.text)
    assert f"/trips/{day_world.trip_id(2)}" in Page(day.text).hrefs


async def test_vehicle_trip_list_and_map_lead_to_the_day(world):
    browser, vehicle = Browser(world.app, world.of("P")), world.ids["V"]
    addresses = (
        f"/fleet/vehicles/{vehicle}",
        f"/trips?vehicle={vehicle}",
        f"/trips/{day_world.trip_id(1)}",
        "/map",
    )
    (record, listed, one, live) = [(await browser.get(each)).text for each in addresses]

    days = f"/fleet/vehicles/{vehicle}/days"
    assert days in Page(record).hrefs
    assert days in Page(listed).hrefs
    assert f"{days}/2024-12-31" in Page(one).hrefs
    assert 'data-days="/days/"' in live
