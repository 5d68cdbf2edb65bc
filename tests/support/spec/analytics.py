"""Checks of the analytics operations and their parameters, and of what must hold for a trip to be scored."""

from tests.support.spec.checks import row, rows
from tests.support.spec.world import START_MS, TRIP_EVERY_MS, UNKNOWN, World, drive

HEADING = "Analytics (all GET)"
PAGES = {
    "/api/tre/v1_3/vehicle/{vehicleId}/analytics/drivingScore": ("driven", "scores"),
    "/api/tre/v1_2/driver/{driverId}/analytics/drivingScore": ("driver", "scores"),
    "/api/tre/v1_3/vehicle/{vehicleId}/analytics/gpsEvent": ("driven", "events"),
    "/api/tre/v1_2/driver/{driverId}/analytics/gpsEvent": ("driver", "events"),
}


def address(path: str, of: str) -> str:
    """The path with this id in it."""
    before, _, after = path.partition("{")
    return before + of + after.partition("}")[2]


def _page(world: World, path: str) -> None:
    of, what = PAGES[path]
    asked = address(path, world.ids[of])
    expected = {"data": getattr(world, what), "nextPageLink": None, "hasNext": False}
    assert world.page("operator", asked) == expected
    assert world.page("driver", asked) == expected  # who drove it, with a right on the vehicle
    for who in ("other", "partner"):
        assert world.refused(who, "GET", asked, limit=5) == (403, 20)
    assert world.refused("operator", "GET", address(path, UNKNOWN), limit=5) == (404, 32)
    assert world.refused("operator", "POST", asked) == (405, 31)


rows(HEADING, PAGES, _page)


@row(f"{HEADING}: /api/tre/v1_3/vehicle/{{vehicleId}}/analytics/drivingScore/stat")
def accumulated_score(world: World) -> None:
    path = "/api/tre/v1_3/vehicle/{}/analytics/drivingScore/stat"
    assert world.good("operator", "GET", path.format(world.ids["driven"]))["count"] == 2
    assert world.refused("operator", "GET", path.format(world.ids["vehicle"])) == (404, 32)
    assert world.refused("operator", "GET", path.format("x")) == (400, 31)
    assert world.refused("other", "GET", path.format(world.ids["driven"])) == (403, 20)


@row(f"{HEADING}: /api/tre/v1_3/trip/{{tripId}}/analytics/drivingScore")
def score_of_a_trip(world: World) -> None:
    path = "/api/tre/v1_3/trip/{}/analytics/drivingScore"
    for score in world.scores:
        assert world.good("operator", "GET", path.format(score["id"]["id"])) == score
        assert world.refused("other", "GET", path.format(score["id"]["id"])) == (403, 20)
    assert world.refused("operator", "GET", path.format(UNKNOWN)) == (404, 32)


@row(f"{HEADING}: vehicleId / driverId")
def ids_in_paths_are_uuids_in_either_letter_case(world: World) -> None:
    for path, (of, what) in PAGES.items():
        assert world.page("operator", address(path, world.ids[of].upper()))["data"] == getattr(world, what)
        assert world.refused("operator", "GET", address(path, "x"), limit=5) == (400, 31)


@row(f"{HEADING}: limit")
def limit_is_required_and_cut_at_a_thousand(world: World) -> None:
    for path, (of, what) in PAGES.items():
        asked = address(path, world.ids[of])
        for wrong in ({}, {"limit": ""}, {"limit": "x"}, {"limit": 0}, {"limit": -1}, {"limit": "1.5"}):
            assert world.refused("operator", "GET", asked, **wrong) == (400, 31), wrong
        for limit, shown in ((1, 1), (1000, 100), (1001, 100)):
            assert len(world.page("operator", asked, limit=limit)["data"]) == min(shown, len(getattr(world, what)))


@row(f"{HEADING}: idOffset")
def id_offset_is_the_last_item_of_the_page_before(world: World) -> None:
    for path, (of, what) in PAGES.items():
        asked = address(path, world.ids[of])
        expected = getattr(world, what)
        walked, link = [], {"limit": 1}
        while link:
            page = world.page("operator", asked, **{name: value for name, value in link.items() if value is not None})
            walked += page["data"]
            link = page["nextPageLink"]
        assert walked == expected
        assert world.refused("operator", "GET", asked, limit=1, idOffset="x") == (400, 31)


@row(f"{HEADING}: startTime", f"{HEADING}: endTime")
def times_are_inclusive_ms_or_seconds(world: World) -> None:
    for path, (of, what) in PAGES.items():
        asked = address(path, world.ids[of])
        expected = getattr(world, what)
        last = expected[0]["createdTime"]
        newest = [each for each in expected if each["createdTime"] >= last]
        assert world.page("operator", asked, startTime=last)["data"] == newest
        assert world.page("operator", asked, startTime=last + 1)["data"] == []
        assert world.page("operator", asked, endTime=last)["data"] == expected
        assert world.page("operator", asked, endTime=1_000_000_000)["data"] == []  # seconds
        for name in ("startTime", "endTime"):
            assert world.refused("operator", "GET", asked, limit=5, **{name: "x"}) == (400, 31)


@row(f"{HEADING}: ascOrder")
def order_is_newest_first_unless_ascending(world: World) -> None:
    for path, (of, what) in PAGES.items():
        asked = address(path, world.ids[of])
        expected = getattr(world, what)
        for value in ("false", "False", ""):
            assert world.page("operator", asked, ascOrder=value)["data"] == expected
        assert world.page("operator", asked, ascOrder="TRUE")["data"] == expected[::-1]
        assert world.refused("operator", "GET", asked, limit=5, ascOrder="x") == (400, 31)


@row("Limits: microtrip period for scoring", "Limits: minimum trip distance for scoring", "Limits: score scale")
def short_and_sparse_trips_are_not_scored(world: World) -> None:
    sensor, vehicle = world.sensor("operator"), world.vehicle("operator")
    world.good("operator", "POST", f"/sensor/{sensor['id']['id']}/vehicle/{vehicle['id']['id']}")
    kinds = {
        "short": drive(START_MS, 1, speeds=[60.0] * 150),  # 2.5 km
        "sparse": drive(START_MS + TRIP_EVERY_MS, 2, step_ms=5_000, speeds=[60.0] * 300),
        "good": drive(START_MS + 2 * TRIP_EVERY_MS, 3, speeds=[60.0] * 300),  # 5 km
    }
    for bodies in kinds.values():
        world.publish(sensor["credentialsId"], bodies)
    path = f"/api/tre/v1_3/vehicle/{vehicle['id']['id']}/analytics/drivingScore"
    (score,) = world.awaited(path, 1)
    trips = world.page("operator", f"/vehicle/{vehicle['id']['id']}/trips")["data"]
    assert [trip["startTs"] for trip in trips if trip["id"] == score["id"]] == [START_MS + 2 * TRIP_EVERY_MS]
    assert (len(trips), score["score"]) == (3, 100.0)
