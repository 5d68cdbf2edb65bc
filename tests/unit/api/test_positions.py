"""Live positions over REST: who sees which, what changed since a cursor, and what left a reader's reach."""

import base64

import pytest
from sqlalchemy import insert, update
from tests.support import delegating, fleet_rows, reaching, rest

from tripline.ports.maps import PlaceName, RoadHere
from tripline.scoring.rules import Column
from tripline.services.live import positions as service
from tripline.store import positions, tables

NOW = rest.NOW_MS


def path(of) -> str:
    return f"/company/{of.company_id}/positions"


async def mounted(app, owner, number="12가3456") -> tuple[str, str]:
    """A vehicle and the sensor on it."""
    vehicle = await delegating.new_vehicle(app, owner, number)
    return vehicle, await on(app, owner, vehicle, number)


async def on(app, owner, vehicle, number) -> str:
    """Another sensor on the vehicle."""
    sensor = app.ids.next(now_ms=NOW)
    row = fleet_rows.sensor(sensor, owner.company_id, service_type="ace", vehicle_id=vehicle, serial_no=number)
    await app.store.write(lambda tx: reaching.run(tx, insert(tables.sensor), row))
    return sensor


async def move(app, vehicle, sensor, at=NOW, lat=35.0, speed=50.0):
    given = (vehicle, at, lat, 129.0, speed, 90.0, False, None, sensor)
    await app.store.write(lambda tx: positions.write(tx, given), locked=True)


async def ask(app, login, of, since=None, limit=100):
    query = {"limit": limit} | ({} if since is None else {"since": since})
    return await app.get(login, path(of), **query)


def seen(page) -> tuple[list[str], list[str]]:
    return [each["vehicleId"]["id"] for each in page["data"]], [each["id"] for each in page["left"]]


async def test_position_record_has_every_field_and_the_state_of_now(app: rest.Rest, admin):
    vehicle, sensor = await mounted(app, admin)
    empty = await ask(app, admin, admin)
    await move(app, vehicle, sensor)
    page = await ask(app, admin, admin, empty["since"])

    assert (empty["data"], empty["left"], empty["hasNext"]) == ([], [], False)
    assert page["data"] == [
        {"vehicleId": {"id": vehicle}, "ts": NOW, "lat": 35.0, "lon": 129.0, "speed": 50.0, "heading": 90.0,
         "state": "DRIVING"}
    ]  # fmt: skip


class Street:
    """Implements the look-ups of `RoadMatcher` and `PlaceNames` for one street; trucks have a limit of their own."""

    def road_at(self, spot):
        return RoadHere("High Street", 30.0 if spot.column is Column.TRUCK else 50.0) if spot.lat == 35.0 else None

    def named(self, points, *, language):
        return [PlaceName("Side Street", {"en": "Town", "ko": "마을"}[language]) for _ in points]


async def test_vehicle_has_its_position_with_limit_place_and_newest_trip(app: rest.Rest, admin):
    app.change(roads=Street(), places=Street())
    vehicle, sensor = await mounted(app, admin)
    missing = await app.refused(admin, "GET", f"/vehicle/{vehicle}/position")
    await move(app, vehicle, sensor)
    first = await app.get(admin, f"/vehicle/{vehicle}/position")
    trip = await app.store.write(delegating.scored_trip(app, admin, vehicle, admin))
    await app.store.write(
        lambda tx: tx.run(update(tables.vehicle).values(category="TRUCK", latest_trip_id=trip)), locked=True
    )
    of_truck = await app.get(admin, f"/vehicle/{vehicle}/position")
    await move(app, vehicle, sensor, at=NOW + 1, lat=36.0)
    elsewhere = await app.get(admin, f"/vehicle/{vehicle}/position")

    assert missing == (404, 32, "The vehicle has no position yet.")
    assert first == {
        "vehicleId": {"id": vehicle}, "ts": NOW, "lat": 35.0, "lon": 129.0, "speed": 50.0, "heading": 90.0,
        "state": "DRIVING", "speedLimit": 50.0, "place": "High Street, Town", "latestTripId": None, "shareable": True,
    }  # fmt: skip
    assert of_truck == first | {"speedLimit": 30.0, "latestTripId": {"id": trip}}
    assert (elsewhere["speedLimit"], elsewhere["place"]) == (None, "Side Street, Town")


async def test_vehicle_is_shareable_for_those_who_may_share_it(app: rest.Rest, of):
    vehicle, sensor = await mounted(app, of.owner)
    driver = await delegating.driver(app, of.owner, "oh")
    director = await delegating.director(app, of.owner, "yu")
    await delegating.give(app, of.owner, driver, vehicle, drive=True)
    await delegating.give(app, of.owner, director, vehicle)
    await move(app, vehicle, sensor)
    found = [await app.get(each, f"/vehicle/{vehicle}/position") for each in (of.operator, of.owner, director, driver)]

    assert [each["shareable"] for each in found] == [True, True, True, False]
    assert [each["speedLimit"] for each in found] == [None] * 4


async def test_since_answers_only_what_changed(app: rest.Rest, admin):
    first, second = [await mounted(app, admin, number) for number in ("1", "2")]
    for each in (first, second):
        await move(app, *each)
    whole = await ask(app, admin, admin)
    nothing = await ask(app, admin, admin, whole["since"])
    await move(app, *second, at=NOW + 1, lat=36.0)
    await move(app, *first, at=NOW - 1, lat=37.0)  # late
    changed = await ask(app, admin, admin, nothing["since"])
    first, second, whole, nothing, changed = first[0], second[0], seen(whole), seen(nothing), seen(changed)

    assert (whole, nothing, changed) == ((sorted([first, second]), []), ([], []), ([second], []))


async def test_pages_give_every_vehicle_also_when_all_move_between_them(app: rest.Rest, admin):
    fleet = [await mounted(app, admin, str(number)) for number in range(5)]
    page, answered = {"hasNext": True, "since": None}, []
    for step in range(20):
        if step < 4:
            for each in fleet:
                await move(app, *each, at=NOW + step, lat=35 + step)
        page = await ask(app, admin, admin, page["since"], limit=2)
        answered += [(each["vehicleId"]["id"], each["lat"]) for each in page["data"]]
    fleet = sorted(vehicle for vehicle, _ in fleet)

    assert [vehicle for vehicle, _ in answered[:5]] == fleet  # nobody waits for those that move again and again
    assert dict(answered) == dict.fromkeys(fleet, 38.0)


async def test_delegated_vehicle_comes_and_leaves_without_moving(app: rest.Rest, of):
    vehicle, sensor = await mounted(app, of.owner)
    await move(app, vehicle, sensor)
    await delegating.register(app, of.owner, of.borrower)
    before = await ask(app, of.borrower, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, vehicle)
    came = await ask(app, of.borrower, of.borrower, before["since"])
    await delegating.take_back(app, of.owner, of.borrower, vehicle)
    went = await ask(app, of.borrower, of.borrower, came["since"])
    again = await ask(app, of.borrower, of.borrower, went["since"])
    others = [seen(await ask(app, each, each)) for each in (of.operator, of.owner, of.below, of.other)]
    of_partner = seen(await ask(app, of.operator, of.owner))
    borrower = [seen(each) for each in (before, came, went, again)]

    assert borrower == [([], []), ([vehicle], []), ([], [vehicle]), ([], [])]
    assert others == [([vehicle], []), ([vehicle], []), ([], []), ([], [])]
    assert of_partner == ([vehicle], [])


@pytest.mark.parametrize("drive", [False, True], ids=["delegated director", "driver"])
async def test_right_on_a_vehicle_brings_its_position_and_takes_it_away(app: rest.Rest, admin, drive):
    person = await (delegating.driver if drive else delegating.director)(app, admin, "oh")
    vehicle, sensor = await mounted(app, admin)
    await move(app, vehicle, sensor)
    before = await ask(app, person, person)
    await delegating.give(app, admin, person, vehicle, drive=drive)
    came = await ask(app, person, person, before["since"])
    await app.delete(admin, f"{delegating.rights(person, drive=drive)}/{vehicle}")
    went = await ask(app, person, person, came["since"])

    assert [seen(each) for each in (before, came, went)] == [([], []), ([vehicle], []), ([], [vehicle])]


async def test_managing_director_sees_the_vehicle_while_he_manages_it(app: rest.Rest, admin):
    one, other = [await delegating.director(app, admin, name) for name in ("oh", "yu")]
    vehicle, sensor = await mounted(app, admin)
    await move(app, vehicle, sensor)
    await app.post(admin, f"/vehicle/{vehicle}/director/{one.user_id}")
    first = await ask(app, one, one)
    empty = await ask(app, other, other)
    await app.post(admin, f"/vehicle/{vehicle}/director/{other.user_id}")
    went, came = await ask(app, one, one, first["since"]), await ask(app, other, other, empty["since"])
    await app.delete(admin, f"/vehicle/{vehicle}/director/{other.user_id}")
    gone = await ask(app, other, other, came["since"])
    answers = [seen(each) for each in (first, empty, went, came, gone)]

    assert answers == [([vehicle], []), ([], []), ([], [vehicle]), ([vehicle], []), ([], [vehicle])]


@pytest.mark.parametrize("deleted", ["vehicle", "sensor"])
async def test_deleting_erases_the_position_and_tells_everybody_who_saw_it(app: rest.Rest, of, deleted):
    vehicle, sensor = await mounted(app, of.owner)
    driver = await delegating.driver(app, of.owner, "oh")
    await delegating.give(app, of.owner, driver, vehicle, drive=True)
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, vehicle)
    await move(app, vehicle, sensor)
    readers = (of.operator, of.owner, of.borrower, driver)
    before = [await ask(app, each, each) for each in readers]
    await app.delete(of.owner, f"/vehicle/{vehicle}" if deleted == "vehicle" else f"/sensor/{sensor}")
    await move(app, vehicle, sensor, at=NOW + 1)  # noted before, and written after the deletion
    after = [await ask(app, each, each, page["since"]) for each, page in zip(readers, before, strict=True)]
    kept = await app.store.read(lambda tx: tx.all(tables.vehicle_position.select()))

    assert [seen(each) for each in before] == [([vehicle], [])] * 4
    assert [seen(each) for each in after] == [([], [vehicle])] * 4
    assert kept == []


async def test_position_stays_while_another_sensor_is_on_the_vehicle_and_goes_with_the_last_one(app: rest.Rest, admin):
    vehicle, first = await mounted(app, admin)
    second = await on(app, admin, vehicle, "second")
    await move(app, vehicle, first)
    pages = [await ask(app, admin, admin)]
    for sensor in (first, second):
        await app.delete(admin, f"/sensor/{sensor}")
        pages.append(await ask(app, admin, admin, pages[-1]["since"]))

    assert [seen(page) for page in pages] == [([vehicle], []), ([], []), ([], [vehicle])]
    assert seen(await ask(app, admin, admin)) == ([], [])


async def test_sensor_that_is_on_no_vehicle_takes_no_position_with_it(app: rest.Rest, admin):
    vehicle, sensor = await mounted(app, admin)
    await move(app, vehicle, sensor)
    await app.delete(admin, f"/sensor/{sensor}/vehicle/{vehicle}")
    await app.delete(admin, f"/sensor/{sensor}")

    assert seen(await ask(app, admin, admin)) == ([vehicle], [])


async def test_cursor_of_somebody_else_or_of_long_ago_or_of_nobody_is_refused(app: rest.Rest, of):
    page = await ask(app, of.operator, of.operator)
    since = page["since"]
    good = base64.urlsafe_b64decode(since + "==")
    forged = [
        good.replace(b',""]', b',"x"]'),
        good.replace(b",0,", b",9,", 1),
        good.replace(b",0,", b",-1,", 1),
        good.replace(b",0,", b",99999999999999999999,", 1),
        good[:-1],
        b"[]",
        b"\xff",
    ]
    asked = [(of.operator, of.owner, since), (of.owner, of.owner, since)]
    asked += [(of.operator, of.operator, base64.urlsafe_b64encode(each).decode()) for each in forged]
    asked += [(of.operator, of.operator, each) for each in ("x", "é", "[]", "0", since + "A")]
    refused = [
        (await app.call(login, "GET", path(company), limit=5, since=text)).status_code for login, company, text in asked
    ]
    app.now_ms = NOW + service.CURSOR_MS
    fresh = await app.call(of.operator, "GET", path(of.operator), limit=5, since=since)

    assert refused == [400] * len(refused)
    assert fresh.status_code in (200, 401)


async def test_forgotten_changes_of_reach_are_older_than_any_cursor(app: rest.Rest):
    rows = [
        {"holder_id": "h", "change_no": number, "vehicle_id": "v", "seen_ms": seen_ms}
        for number, seen_ms in ((1, NOW - 10), (2, NOW - 9), (3, None))
    ]
    await app.store.write(lambda tx: tx.run(insert(tables.position_reach), rows))

    def purge(tx):
        return positions.purge(tx, now_ms=NOW, keep_ms=9, limit=10)

    purged = await app.store.write(purge, locked=True)
    columns = tables.position_reach.c
    left = await app.store.read(lambda tx: tx.all(tables.position_reach.select().order_by(columns.change_no)))

    assert (purged, [(row.change_no, row.seen_ms) for row in left]) == (1, [(2, NOW - 9), (3, NOW)])
