"""Trips as a fleet sees them, told through a running server: how they end, when they are scored, and why not."""

import json
from typing import Any

import pytest
from tests.support import servers, waits, worlds
from tests.support.fleet import Registered, device_token
from tests.support.worlds import World

from tripline.domain import ids

START_MS = 1_780_000_000_000
STEPS = 400
METRES = 6_655
"""Length of the drive: 399 steps of 16.68 m."""
PATIENCE_S = 30
AS_ONE = "samples closer together than `scoring.instant_ms` count as one"
NO_SAMPLES = f"it has fewer than two samples with a time of their own; {AS_ONE}"
NO_POSITION = f"fewer than two of its samples with a time of their own have a valid position; {AS_ONE}"


def item(step: int, **more: Any) -> dict[str, Any]:
    """One second of a calm drive northwards at 60 km/h."""
    return {"tid": 1, "lat": 37.5 + step * 0.00015, "lon": 127.0, "sp": 60, "clt": START_MS + step * 1_000, **more}


def drive(steps: int = STEPS, *, every: int = 1, ty: int = 2, **more: Any) -> bytes:
    """The drive in one publish."""
    items = [item(step, **more) for step in range(0, steps, every)]
    return json.dumps({"ty": ty, "ts": items[-1]["clt"], "pld": items}).encode()


def trip_message(*, ty: int = 1, **payload: Any) -> bytes:
    end_ms = START_MS + (STEPS - 1) * 1_000
    return json.dumps({"ty": ty, "ts": end_ms, "pld": {"tid": 1, "stt": START_MS, "edt": end_ms, **payload}}).encode()


def judged(world: World, sensor_id: str) -> str:
    """Id of the sensor's only trip, once it is closed and no scoring job is left."""
    found = waits.seen(
        lambda: world.rows(
            "SELECT id FROM trip WHERE sensor_id = ? AND state <> 'OPEN'"
            " AND NOT EXISTS (SELECT 1 FROM scoring_job WHERE trip_no = trip.no)",
            sensor_id,
        ),
        within_s=PATIENCE_S,
    )
    ((trip_id,),) = found
    return trip_id


def score(world: World, trip_id: str) -> tuple[int, dict[str, Any]]:
    """Status and body of the trip's score."""
    answer = world.company.http.get(f"/api/tre/v1_3/trip/{trip_id}/analytics/drivingScore")
    return answer.status_code, answer.json()


def scores(world: World, box: Registered) -> list[dict[str, Any]]:
    return world.company.get(f"/api/tre/v1_3/vehicle/{box.vehicle_id}/analytics/drivingScore", limit=10)["data"]


def test_h7_drive_in_one_publish_is_judged_by_its_sample_times(world: World) -> None:
    box = world.box()

    world.send(box, drive(), trip_message())

    (record,) = waits.seen(lambda: scores(world, box), within_s=PATIENCE_S)
    assert {key: record[key] for key in ("score", "accel", "deAccel", "overSpeed", "dist")} == {
        "score": 100.0, "accel": 0, "deAccel": 0, "overSpeed": 0, "dist": METRES,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sensor_type", "messages", "why"),
    [
        ("GPS", [drive(100), trip_message()], "it is shorter than the minimum distance for scoring (too_short)"),
        ("GPS", [drive(every=5), trip_message(dis=9_000)], "its samples are too far apart (sparse)"),
        ("GPS", [drive(lat=0, lon=0), trip_message(dis=9_000)], f"{NO_POSITION} (no_position)"),
        ("ADAS", [drive(ty=6), trip_message(ty=5)], "devices of its type are not scored (device_type)"),
        ("BLACKBOX", [drive(ty=8, **{"try": 2}), trip_message(ty=7, **{"try": 2})], "it is a parking record (parking)"),
        ("GPS", [trip_message(dis=9_000)], f"{NO_SAMPLES} (no_samples)"),
        ("GPS", [drive(1), trip_message(dis=9_000)], f"{NO_SAMPLES} (no_samples)"),
    ],
)
def test_trip_that_is_not_scored_says_why(world: World, sensor_type: str, messages: list[bytes], why: str) -> None:
    box = world.box(sensor_type)

    world.send(box, *messages)
    status, body = score(world, judged(world, box.sensor_id))

    assert (status, body["errorCode"], body["message"]) == (404, 32, f"The trip is not scored: {why}.")


def test_open_trip_has_no_score_yet(world: World) -> None:
    box = world.box()

    world.send(box, drive())
    (trip,) = world.trips(box)

    assert score(world, trip["id"]["id"])[1]["message"] == "The trip has no score yet: it has not ended."


def unmapped_box(world: World) -> Registered:
    """A sensor on no vehicle, and a vehicle without sensor."""
    number = next(world.numbers)
    token = device_token()
    sensor = world.company.post(
        "/api/tre/v1/sensor", {"serialNo": f"SN-{number:06d}", "type": "GPS", "credentialsId": token}
    )
    vehicle = world.company.post("/api/tre/v1/vehicle", {"vehicleNo": f"{number:02d}B{number:04d}", "mileage": 1000})
    return Registered(vehicle["id"]["id"], vehicle["vehicleNo"], sensor["id"]["id"], token)


def test_h16_trip_of_an_unmapped_sensor_is_stored_and_says_why_it_has_no_score(world: World) -> None:
    box = unmapped_box(world)

    world.send(box, drive(), trip_message(dis=9_000))
    trip_id = judged(world, box.sensor_id)
    status, body = score(world, trip_id)
    page = world.company.get(f"/api/tre/v1/trip/{trip_id}/microtrips", limit=10)

    assert status == 404
    assert body["message"] == "The trip is not scored: its sensor was not mounted on a vehicle (unmapped)."
    assert [record["vehicleId"] for record in page["data"]] == [{"id": ids.PLACEHOLDER}]
    assert world.trips(box) == []


def test_sensor_mapped_while_its_trip_is_open_begins_a_trip_of_the_vehicle(world: World) -> None:
    box = unmapped_box(world)

    world.send(box, drive(100))
    world.company.post(f"/api/tre/v1/sensor/{box.sensor_id}/vehicle/{box.vehicle_id}")
    world.send(box, json.dumps({"ty": 2, "pld": [item(step) for step in range(100, STEPS)]}).encode(), trip_message())

    (record,) = waits.seen(lambda: scores(world, box), within_s=PATIENCE_S)
    trips = world.rows(
        "SELECT vehicle_id, state, not_scored, start_ms FROM trip WHERE sensor_id = ? ORDER BY no", box.sensor_id
    )
    assert [row[:3] for row in trips] == [(None, "LAPSED", "unmapped"), (box.vehicle_id, "COMPLETE", None)]
    assert record["dist"] == pytest.approx(METRES * 299 / 399, abs=1)
    assert [trip["id"] for trip in world.trips(box)] == [record["id"]]


def test_i3_trip_message_sent_again_leaves_the_score_untouched(world: World) -> None:
    box = world.box()
    world.send(box, drive(), trip_message(dis=6_000))
    first = waits.seen(lambda: scores(world, box), within_s=PATIENCE_S)

    world.send(box, drive(), trip_message(dis=6_000), trip_message(dis=6_100))
    trip_id = judged(world, box.sensor_id)

    assert scores(world, box) == first
    assert score(world, trip_id) == (200, first[0])


@pytest.mark.deep
@pytest.mark.slow
def test_i1_i2_trip_ends_by_silence_after_a_restart_and_a_late_message_has_it_scored_again(tmp_path) -> None:
    quickly = {"TRIPLINE_INGEST_TRIP_GAP_MINUTES": "0.01"}
    with worlds.running(tmp_path / "data") as killed:
        box = killed.box()
        killed.send(box, drive())
        assert killed.trips(box)[0]["endTs"] is None
        killed.server.kill()
        with servers.serving(tmp_path / "data", *servers.same_listeners(killed.server), variables=quickly) as again:
            world = World(again, killed.company, killed.numbers)
            (by_silence,) = waits.seen(lambda: scores(world, box), within_s=PATIENCE_S)
            (lapsed,) = world.trips(box)
            world.send(box, trip_message(dis=6_000))
            (by_message,) = waits.seen(
                lambda: [one for one in scores(world, box) if one["dist"] == 6_000], within_s=PATIENCE_S
            )
            (complete,) = world.trips(box)
            total = world.company.get(f"/api/tre/v1_3/vehicle/{box.vehicle_id}/analytics/drivingScore/stat")

    assert (lapsed["endTs"], lapsed["payload"]) == (START_MS + (STEPS - 1) * 1_000, None)
    assert (complete["id"], complete["payload"]["dis"]) == (lapsed["id"], 6_000)
    assert (by_silence["id"], by_silence["dist"], by_message["id"]) == (lapsed["id"], METRES, lapsed["id"])
    assert (total["count"], total["distance"]) == (1, 6_000)
