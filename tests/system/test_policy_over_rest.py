"""Policy 2 over REST on real drives: what it would do, from which trip on it counts, stored trips by it."""

import asyncio
import json
import ssl
from typing import Any, NamedTuple

import pytest
from tests.support import producers, servers, waits
from tests.support.device import CarefulDevice
from tests.support.fleet import Company, Registered

DRIVES = ("drive_05.csv", "drive_15.csv", "drive_17.csv", "drive_01.csv")
"""Each with brakings of 6 km/h per second and more; the last is driven when policy 2 is chosen already."""
SECOND_MS = producers.FIRST_TRIP_MS + producers.TRIP_EVERY_MS
"""When the second trip begins."""
PATIENCE_S = 30


class Judged(NamedTuple):
    """What REST says of a vehicle's trips, the first driven first."""

    scores: list[dict[str, Any]]
    explanations: list[dict[str, Any]]
    events: list[tuple[int, int]]
    """When and what."""
    event_ids: set[str]
    total: dict[str, Any]

    @property
    def values(self) -> list[float]:
        return [each["score"] for each in self.scores]


class Played(NamedTuple):
    """Answers in the order asked."""

    before: Judged
    preview: dict[str, Any]
    unmoved: Judged
    chosen: dict[str, Any]
    rescoring: dict[str, Any]
    after: Judged
    driven: Judged
    whole: Judged


def messages(trip: int) -> list[bytes]:
    drive = producers.Drive(DRIVES[trip], producers.recordings.read(producers.recordings.FOLDER / DRIVES[trip]).points)
    return [json.dumps(each).encode() for each in drive.bodies(trip, together=30)]


def judged(company: Company, vehicle: Registered, count: int) -> Judged:
    """What is told once so many trips have a score."""
    analytics = f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/analytics"
    scores = waits.seen(
        lambda: company.get(f"{analytics}/drivingScore", limit=10)["data"],
        lambda found: len(found) >= count,
        within_s=PATIENCE_S,
    )
    trips = company.get(f"/api/tre/v1/vehicle/{vehicle.vehicle_id}/trips", limit=10)["data"]
    order = [trip["id"]["id"] for trip in sorted(trips, key=lambda trip: trip["startTs"])]
    scores.sort(key=lambda score: order.index(score["id"]["id"]))
    path = "/api/tre/v1_3/trip/{}/analytics/drivingScore/explanation"
    events = company.get(f"{analytics}/gpsEvent", limit=1_000)["data"]
    return Judged(
        scores,
        [company.get(path.format(each)) for each in order],
        sorted((event["eventTs"], event["eventTy"]) for event in events),
        {event["id"]["id"] for event in events},
        company.get(f"{analytics}/drivingScore/stat/explanation"),
    )


def rescored(company: Company, path: str, from_ms: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Choose policy 2 from then on and score stored trips by it; what was chosen, and the rescoring at its end."""
    answer = company.http.put(path, json={"policy": 2, "fromTime": from_ms, "rescore": True})
    assert answer.status_code == 200, answer.text
    chosen = waits.seen(
        lambda: company.get(path), lambda found: found["rescoring"]["state"] != "RUNNING", within_s=PATIENCE_S
    )
    return chosen, chosen["rescoring"]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    with (
        servers.serving(tmp_path_factory.mktemp("policy") / "data") as server,
        Company(server.api, server.data) as company,
    ):
        vehicle = company.vehicle_with_sensor(1)
        path = f"/api/tre/v1_3/company/{company.record['id']['id']}/scoring"
        tls = ssl.create_default_context(cafile=str(server.ca))

        def drive(*trips: int) -> None:
            box = CarefulDevice(vehicle.token, server.device_host, server.device_port, tls)
            asyncio.run(box.play([each for trip in trips for each in messages(trip)]))

        drive(0, 1, 2)
        before = judged(company, vehicle, 3)
        preview = company.post(f"{path}/preview", {"policy": 2})
        unmoved = judged(company, vehicle, 3)
        chosen, rescoring = rescored(company, path, SECOND_MS)
        after = judged(company, vehicle, 3)
        drive(3)
        driven = judged(company, vehicle, 4)
        rescored(company, path, 0)
        return Played(before, preview, unmoved, chosen, rescoring, after, driven, judged(company, vehicle, 4))


def test_preview_says_what_scoring_by_the_policy_does_then(played: Played) -> None:
    changes = [abs(two - one) for one, two in zip(played.before.values, played.whole.values, strict=False)]

    assert min(changes) > 0.1
    assert (played.preview["trips"], played.preview["moved"], played.preview["lost"]) == (3, 3, 0)
    assert played.preview["greatestChange"] == pytest.approx(max(changes), abs=1e-9)
    assert played.preview["meanChange"] == pytest.approx(sum(changes) / 3, abs=1e-9)


def test_preview_changes_nothing(played: Played) -> None:
    assert played.unmoved == played.before


def test_policy_counts_from_its_date_on(played: Played) -> None:
    assert played.chosen["inForce"] == 2
    assert (played.rescoring["state"], played.rescoring["moved"]) == ("DONE", 2)
    assert [each["policy"] for each in played.before.explanations] == [1, 1, 1]
    assert [each["policy"] for each in played.after.explanations] == [1, 2, 2]
    assert [each["policy"] for each in played.driven.explanations] == [1, 2, 2, 2]
    assert [each["policy"] for each in played.whole.explanations] == [2, 2, 2, 2]
    assert played.after.scores[0] == played.before.scores[0]
    assert all(new < old for new, old in zip(played.after.values[1:], played.before.values[1:], strict=True))


def test_counts_and_events_keep_their_meaning(played: Played) -> None:
    counts = ("accel", "deAccel", "overSpeed", "dist")

    assert played.after.events == played.before.events != []
    for one, two in zip(played.before.scores, played.whole.scores, strict=False):
        assert [one[name] for name in counts] == [two[name] for name in counts]


@pytest.mark.parametrize("name", ["before", "after", "driven", "whole"])
def test_costs_add_up_and_every_event_is_explained(played: Played, name: str) -> None:
    told: Judged = getattr(played, name)
    found = []
    for score, explanation in zip(told.scores, told.explanations, strict=True):
        style = [*explanation["braking"], *explanation["corners"]]
        items = [*explanation["harshEvents"], *explanation["overspeed"], *style]
        found += [each["id"]["id"] for each in explanation["harshEvents"]]
        found += [each["id"] for stretch in explanation["overspeed"] for each in stretch["ids"]]
        assert sum(each["cost"] for each in items) == pytest.approx(100 - score["score"], abs=1e-9)
        assert explanation["explainedScore"] == explanation["score"] == score["score"]
        assert bool(style) == (explanation["policy"] == 2)
        assert explanation["unexplained"] == []

    assert sorted(found) == sorted(told.event_ids)
    assert sum(each["cost"] for each in told.total["trips"]) == pytest.approx(100 - told.total["score"], abs=1e-9)
