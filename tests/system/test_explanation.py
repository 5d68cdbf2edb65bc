"""The explanation of a score over REST: every event of the page is in it, costs add up, and who may not see it."""

import asyncio
import ssl

import httpx
import pytest
from tests.support import drives, servers, waits
from tests.support.device import CarefulDevice
from tests.support.fleet import Company
from tests.support.spec import world

START_MS = 1_780_000_000_000
PATIENCE_S = 30
UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


@pytest.fixture(scope="module")
def driven(tmp_path_factory):
    """A company whose vehicle drove a trip with events and one that is too short for a score, and another company."""
    with (
        servers.serving(tmp_path_factory.mktemp("explained") / "data") as server,
        Company(server.api, server.data) as company,
        Company(server.api, server.data, service_type="others") as other,
    ):
        vehicle = company.vehicle_with_sensor(1)
        tls = ssl.create_default_context(cafile=str(server.ca))
        box = CarefulDevice(vehicle.token, server.device_host, server.device_port, tls)
        asyncio.run(box.play([*world.drive(START_MS, 1), *drives.straight_trip(2, START_MS + 7_200_000, samples=40)]))
        yield company, other, vehicle, judged(company, vehicle)


def judged(company, vehicle):
    """Ids of the vehicle's two trips, the first driven first, once both are judged."""

    def explained():
        trips = company.get(f"/api/tre/v1/vehicle/{vehicle.vehicle_id}/trips", limit=10)["data"]
        ids = [trip["id"]["id"] for trip in sorted(trips, key=lambda trip: trip["startTs"] or 0)]
        return [each for each in ids if company.http.get(path_of(each)).status_code == 200]

    return waits.seen(explained, lambda ids: len(ids) == 2, within_s=PATIENCE_S)


def path_of(trip_id):
    return f"/api/tre/v1_3/trip/{trip_id}/analytics/drivingScore/explanation"


def test_every_event_of_the_page_is_in_the_explanation_and_costs_add_up(driven):
    company, _, vehicle, (trip_id, _) = driven
    events = company.get(f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/analytics/gpsEvent", limit=100)["data"]
    score = company.get(f"/api/tre/v1_3/trip/{trip_id}/analytics/drivingScore")

    told = company.get(path_of(trip_id))

    in_stretches = [each["id"] for stretch in told["overspeed"] for each in stretch["ids"]]
    assert sorted([each["id"]["id"] for each in told["harshEvents"]] + in_stretches) == sorted(
        each["id"]["id"] for each in events
    )
    costs = [each["cost"] for each in (*told["harshEvents"], *told["overspeed"])]
    assert sum(costs) == pytest.approx(100 - score["score"], abs=1e-9)
    assert (told["id"]["id"], told["score"], told["createdTime"]) == (trip_id, score["score"], score["createdTime"])
    assert (told["policy"], told["explainedBy"], told["explainedScore"]) == (1, 1, told["score"])
    assert (told["dist"], told["notScored"], told["unexplained"]) == (score["dist"], None, [])
    at = {each["eventTs"]: each for each in events}
    for each in told["harshEvents"]:
        event = at[each["eventTs"]]
        assert (each["eventTy"], each["posLat"]) == (event["eventTy"], event["posLat"])
        assert each["speed"] == pytest.approx(event["speedMh"] / 1_000)
        assert each["rate"] >= each["threshold"] > 0
    assert told["quality"]["samples"] == len(world.SPEEDS)
    assert told["measures"]["overLimit"]["0"] >= told["measures"]["overLimit"]["10"] > 0


def test_trip_without_a_score_says_why(driven):
    company, _, _, (_, trip_id) = driven

    told = company.get(path_of(trip_id))

    assert (told["score"], told["notScored"], told["policy"]) == (None, "too_short", None)
    assert (told["harshEvents"], told["overspeed"], told["explainedScore"]) == ([], [], None)
    assert told["quality"]["samples"] == 40


def test_strangers_and_unknown_trips_are_refused(driven):
    company, other, _, (trip_id, _) = driven

    answers = [
        other.http.get(path_of(trip_id)),
        company.http.get(path_of(UNKNOWN)),
        company.http.get(path_of("x")),
        httpx.get(f"{company.http.base_url}{path_of(trip_id)}"),
    ]

    assert [answer.status_code for answer in answers] == [403, 404, 400, 401]
