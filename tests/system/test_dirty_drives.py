"""Real drives as worse devices would have sent them, over MQTTS to REST: the score stays, or is refused with a reason.

One server; each fault has a vehicle of its own, which drives the same drive. All recorded drives are sent at every
sample, and at every second, third, fourth and sixth one; made drives show that manoeuvres which begin between samples
have the right kind. Not here: each fault on every recorded drive (`tests/unit/scoring/test_dirty_drives.py`).
"""

import asyncio
import ssl
import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from evaluation import made, measured, real
from tests.support import dirty, fleet, servers
from tests.support.device import CarefulDevice
from tests.support.fleet import Company, Registered

from tripline.scoring.rules import Column

pytestmark = pytest.mark.deep

START_MS = 1_780_000_000_000
RECORDING = "drive_17"
"""3.6 km with two harsh accelerations and a harsh stop: one event more or less is ten points."""
PATIENCE_S = 60
AT_ONCE = 8
CLEAN, TWO_SENSORS, UNTIMED = "clean", "two sensors", "a tenth without a time"
CUT = ("clock back an hour", "clock back nine hours")
"""A step of over 30 minutes begins another trip (I1, A5): the kernel's tests alone show these faults within one."""
SAME = (*(name for name in dirty.SAME if name not in CUT), UNTIMED)
STEPS = (1, 2, 3, 4)
SPARSE = 6
"""Every so many seconds a sample is too seldom for a score."""
MADE = tuple((column, seed) for column in Column for seed in (1, 2))
"""Made drives: class and seed."""
LIVELY = made.Manner(harsh_share=0.5)
KEPT_TO_JUDGE = {
    "5 % of speeds missing": "filled_speeds",
    "2 % of speeds 255 or 65535": "filled_speeds",
    "2 % lone bad speeds": "lone_speeds",
    "one position a degree off": "replaced_steps",
    "em always 0": "constant_em",
    "clock back 20 s": "clock_steps",
    "10 m of noise": "scattered_positions",
    "a tenth twice": "merged",
}
"""Faults whose repair the explanation has to tell."""


class Told(NamedTuple):
    """What REST says of the trips of one vehicle, the first driven first."""

    trips: list[dict[str, Any]]
    explanations: list[dict[str, Any]]
    scores: list[dict[str, Any]]
    events: list[dict[str, Any]]


def recording() -> dirty.Drive:
    return real.recordings()[RECORDING] | {"metres": 3_646.0}


def untimed(drive: dirty.Drive) -> dirty.Drive:
    """One sample in ten has no time of its own; none of those at which the clean drive has an event."""
    rows = np.arange(drive["t"].size)
    change = np.abs(np.diff(drive["speed"], prepend=drive["speed"][0]))
    calm = np.array([change[max(row - 4, 0) : row + 6].max() < 7 for row in rows])
    return drive | {"untimed": calm & (rows % 10 == 4)}


def mounted_too(company: Company, vehicle: Registered, number: int) -> Registered:
    """A second sensor, an OBD dongle, on the vehicle."""
    token = fleet.device_token()
    sensor = company.post("/api/tre/v1/sensor", {"serialNo": f"SN-{number:06d}", "type": "OBD", "credentialsId": token})
    company.post(f"/api/tre/v1/sensor/{sensor['id']['id']}/vehicle/{vehicle.vehicle_id}")
    return replace(vehicle, sensor_id=sensor["id"]["id"], token=token)


def told(company: Company, vehicle: Registered, count: int) -> Told:
    """What REST says, once so many trips of the vehicle are judged."""
    analytics = f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/analytics"
    deadline = time.monotonic() + PATIENCE_S
    while True:
        page = company.get(f"/api/tre/v1/vehicle/{vehicle.vehicle_id}/trips", limit=10)["data"]
        trips = [company.get(f"/api/tre/v1/trip/{trip['id']['id']}") for trip in page]
        scores = company.get(f"{analytics}/drivingScore", limit=10)["data"]
        judged = [trip for trip in trips if trip["quality"] is not None]
        if len(judged) == count and len(scores) + sum(trip["notScored"] is not None for trip in trips) == count:
            break
        assert time.monotonic() < deadline, trips
        time.sleep(0.05)
    trips.sort(key=lambda trip: (trip["startTs"], trip["createdTime"]))
    path = "/api/tre/v1_3/trip/{}/analytics/drivingScore/explanation"
    return Told(
        trips,
        [company.get(path.format(trip["id"]["id"])) for trip in trips],
        scores,
        company.get(f"{analytics}/gpsEvent", limit=1_000)["data"],
    )


def cases() -> dict[str, tuple[dirty.Drive, str | None]]:
    """Every drive of one sensor, by name, with the vehicle's category."""
    clean = recording()
    drives = {CLEAN: clean, UNTIMED: untimed(clean)}
    drives |= {name: fault(clean) for name, fault in (dirty.SAME | dirty.REFUSED).items() if name not in CUT}
    for name in real.scored_recordings():
        whole = real.recordings()[name]
        drives |= {f"{name} at {step} s": dirty.thinned(step)(whole) for step in (*STEPS, SPARSE)}
    found: dict[str, tuple[dirty.Drive, str | None]] = {name: (drive, None) for name, drive in drives.items()}
    for column, seed in MADE:
        drive, _ = made.drive(seed, column, manner=LIVELY)
        del drive["column"]
        found[f"made {column.name} {seed}"] = drive, None if column is Column.CAR else column.name
    return found


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """What became of each drive."""
    clean, sent = recording(), cases()
    with (
        servers.serving(tmp_path_factory.mktemp("dirty") / "data") as server,
        Company(server.api, server.data) as company,
    ):
        tls = ssl.create_default_context(cafile=str(server.ca))

        async def play(waiting: list[tuple[str, list[bytes]]]) -> None:
            while waiting:
                token, messages = waiting.pop()
                await CarefulDevice(token, server.device_host, server.device_port, tls).play(messages)

        vehicles, waiting = {}, []
        for number, (name, (drive, category)) in enumerate(sent.items()):
            kind = "OBD" if "em" in drive else "GPS"
            vehicle = company.vehicle_with_sensor(number, sensor_type=kind, category=category)
            vehicles[name] = vehicle
            waiting.append((vehicle.token, dirty.messages(drive, START_MS)))
        both = vehicles[TWO_SENSORS] = company.vehicle_with_sensor(len(sent))
        shorter = {name: column[30:] if np.ndim(column) else column for name, column in clean.items()}
        waiting.append((both.token, dirty.messages(shorter, START_MS)))
        waiting.append((mounted_too(company, both, 900).token, dirty.messages(clean, START_MS)))

        async def all_of_them() -> None:
            await asyncio.gather(*(play(waiting) for _ in range(AT_ONCE)))

        asyncio.run(all_of_them())
        return {name: told(company, each, 2 if name == TWO_SENSORS else 1) for name, each in vehicles.items()}


def test_clean_drive_has_the_events_that_make_the_others_tell(driven: dict[str, Told]) -> None:
    ((score,), (trip,)) = driven[CLEAN].scores, driven[CLEAN].trips

    assert (score["accel"], score["deAccel"], score["overSpeed"]) == (2, 1, 0)
    assert score["score"] == pytest.approx(69.1, abs=0.1)
    assert (trip["notScored"], trip["limitKnown"], trip["quality"]["repairs"]) == (None, 0.0, {})
    assert (trip["quality"]["dropped"], trip["quality"]["distance"]) == (0, "own")


@pytest.mark.parametrize("case", SAME)
def test_dirty_drive_has_the_score_of_the_clean_one(driven: dict[str, Told], case: str) -> None:
    (clean,), (score,) = driven[CLEAN].scores, driven[case].scores

    assert score["score"] == pytest.approx(clean["score"], abs=2)
    assert score["dist"] == pytest.approx(clean["dist"], rel=0.05 if case in dirty.NOISY else 0.02)


@pytest.mark.parametrize(("case", "repair"), KEPT_TO_JUDGE.items())
def test_explanation_tells_what_was_mended(driven: dict[str, Told], case: str, repair: str) -> None:
    (explanation,), (trip,) = driven[case].explanations, driven[case].trips

    assert explanation["quality"]["repairs"][repair] > 0
    assert explanation["quality"] == trip["quality"]


@pytest.mark.parametrize("case", dirty.REFUSED)
def test_speeds_in_another_unit_are_refused_with_the_reason(driven: dict[str, Told], case: str) -> None:
    (explanation,), (trip,) = driven[case].explanations, driven[case].trips

    assert (driven[case].scores, driven[case].events) == ([], [])
    assert trip["notScored"] == explanation["notScored"] == "speed_implausible"
    assert explanation["quality"]["speedRatio"] < 0.85


@pytest.mark.parametrize("case", [*cases(), TWO_SENSORS])
def test_every_event_is_in_its_explanation_and_costs_add_up(driven: dict[str, Told], case: str) -> None:
    scores = {score["id"]["id"]: score["score"] for score in driven[case].scores}
    found = []
    for explanation in driven[case].explanations:
        items = [*explanation["harshEvents"], *explanation["overspeed"]]
        found += [each["id"]["id"] for each in explanation["harshEvents"]]
        found += [each["id"] for stretch in explanation["overspeed"] for each in stretch["ids"]]
        lacking = 100 - scores.get(explanation["id"]["id"], 100)
        assert sum(each["cost"] for each in items) == pytest.approx(lacking, abs=1e-9)
        assert explanation["unexplained"] == []

    assert sorted(found) == sorted(event["id"]["id"] for event in driven[case].events)


def test_drive_of_two_sensors_counts_once(driven: dict[str, Told]) -> None:
    longer, shorter = driven[TWO_SENSORS].trips
    of_longer, of_shorter = driven[TWO_SENSORS].explanations

    assert (longer["deviceType"], longer["notScored"], of_longer["duplicateOf"]) == ("OBD", None, None)
    assert (shorter["deviceType"], shorter["notScored"]) == ("GPS", "duplicate")
    assert of_shorter["duplicateOf"] == longer["id"]
    assert [score["id"] for score in driven[TWO_SENSORS].scores] == [longer["id"]]


def test_samples_without_a_time_of_their_own_take_no_part(driven: dict[str, Told]) -> None:
    (trip,) = driven[UNTIMED].trips

    assert trip["quality"]["dropped"] == untimed(recording())["untimed"].sum() > 20


@pytest.mark.parametrize("step", STEPS[1:])
def test_mean_score_of_thinned_drives_stays_within_three_points(driven: dict[str, Told], step: int) -> None:
    every, few = (
        [driven[f"{name} at {at} s"].scores[0]["score"] for name in real.scored_recordings()] for at in (1, step)
    )

    assert len(every) == 9
    assert np.mean(few) == pytest.approx(np.mean(every), abs=3)


def test_drives_with_too_few_samples_are_refused_with_the_reason(driven: dict[str, Told]) -> None:
    told = [driven[f"{name} at {SPARSE} s"] for name in real.scored_recordings()]

    assert [each.trips[0]["notScored"] for each in told] == ["sparse"] * 9
    assert [each.explanations[0]["notScored"] for each in told] == ["sparse"] * 9
    assert [each.events for each in told] == [[]] * 9


def test_manoeuvres_that_begin_between_samples_have_the_right_kind(driven: dict[str, Told]) -> None:
    rows, truths = [], []
    for number, (column, seed) in enumerate(MADE):
        events = driven[f"made {column.name} {seed}"].events
        rows += [(number, each["eventTy"], (each["eventTs"] - START_MS) / 1_000) for each in events]
        truths.append(made.drive(seed, column, manner=LIVELY)[1])
    drive, kind, at_s = np.array(rows).T
    found = measured.Events(drive.astype(np.int64), kind.astype(np.int64), at_s)

    for right, events_in, true in measured.tallies(found, truths, slack_s=2).values():
        assert true >= 15
        assert right >= 0.9 * max(events_in, true)
