"""The dirt that boxes in the field send, over MQTTS to REST: a drive keeps its score, or is refused with the reason.

One server; each kind of `box_dirt` has a vehicle of its own, which drives the same drive. Not here: the kinds on real
drives (`tests/unit/scoring/test_box_dirt.py`), and older faults (`test_dirty_drives.py`).
"""

import asyncio
import ssl
import time
from typing import Final, NamedTuple

import pytest
from evaluation import made, speedless
from evaluation.sampling import uneven
from tests.support import box_dirt, dirty, servers
from tests.support.device import CarefulDevice
from tests.support.fleet import Company, Registered
from tests.system.test_dirty_drives import mounted_too

from tripline.scoring.rules import Column

pytestmark = pytest.mark.deep

ITEMS = 50
"""Samples in one message."""
AT_ONCE = 8
PATIENCE_S = 90
"""A drive that grew after its end is judged a minute later."""
EARLIER_S = 3 * 3_600
"""The drive began so long ago: an hour ahead is still in the past."""
CLEAN = "clean"
APART = {"an hour ahead for 100 samples": "too_short"}
"""Kinds some of whose samples are a trip of their own, 30 minutes from the drive, and why that has no score."""


class Outcome(NamedTuple):
    """The verdict on a trip."""

    reason: str | None
    """Why it has no score; "open": it has not ended."""
    score: float | None
    harsh_known: bool | None
    harsh_source: str | None


def clean_drive() -> dirty.Drive:
    """20 minutes at 30, 35 and 45 km/h."""
    return box_dirt.town(7, kmh=(30.0, 35.0, 45.0))


def outcomes(company: Company, vehicle: Registered, sent: int, deadline: float) -> list[Outcome]:
    """The verdicts on the vehicle's trips, once all of them are judged by so many samples together."""
    while True:
        page = company.get(f"/api/tre/v1/vehicle/{vehicle.vehicle_id}/trips", limit=10)["data"]
        trips = [company.get(f"/api/tre/v1/trip/{trip['id']['id']}") for trip in page]
        scores = company.get(f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/analytics/drivingScore", limit=10)["data"]
        scored = {each["id"]["id"]: each["score"] for each in scores}
        found = [
            Outcome(
                "open" if trip["endTs"] is None else trip["notScored"],
                scored.get(trip["id"]["id"]),
                trip["harshKnown"],
                None if trip["quality"] is None else trip["quality"]["harshSource"],
            )
            for trip in trips
        ]
        judged = [trip["quality"] for trip in trips if trip["quality"] is not None]
        whole = sum(each["samples"] + each["dropped"] for each in judged) == sent
        if (whole and all(each.reason or each.score is not None for each in found)) or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


SPEEDS: Final = "exact speeds"
EXACT: Final = "exact positions"
UNEVEN: Final = "exact positions at uneven times"


def with_manoeuvres() -> dict[str, dirty.Drive]:
    """A drive with harsh manoeuvres, by its speeds and by exact positions alone."""
    drive, _ = made.drive(2, Column.CAR, speedless.EXACT)
    (seldom,) = uneven(drive)
    return {SPEEDS: drive, EXACT: dirty.no_speed(drive), UNEVEN: dirty.no_speed(seldom)}


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Outcome]]:
    """The verdicts on each dirty drive."""
    clean, start_ms = clean_drive(), round((time.time() - EARLIER_S) * 1_000)
    drives = {CLEAN: clean} | {name: kind.make(clean) for name, kind in box_dirt.KINDS.items()} | with_manoeuvres()
    with (
        servers.serving(tmp_path_factory.mktemp("dirt") / "data") as server,
        Company(server.api, server.data) as company,
    ):
        tls = ssl.create_default_context(cafile=str(server.ca))
        vehicles, waiting = {}, []
        sent = {name: drive["t"].size for name, drive in drives.items()} | dict.fromkeys(
            box_dirt.SECOND_SENSOR, 2 * clean["t"].size
        )
        for number, (name, drive) in enumerate(drives.items()):
            vehicles[name] = company.vehicle_with_sensor(number)
            waiting.append((vehicles[name].token, dirty.messages(drive, start_ms, items=ITEMS)))
        for number, (name, second) in enumerate(box_dirt.SECOND_SENSOR.items(), len(drives)):
            vehicle = vehicles[name] = company.vehicle_with_sensor(number)
            waiting.append((vehicle.token, dirty.messages(clean, start_ms, items=ITEMS)))
            other = mounted_too(company, vehicle, 900 + number)
            waiting.append((other.token, dirty.messages(second(clean), start_ms, items=ITEMS)))

        async def play() -> None:
            while waiting:
                token, messages = waiting.pop()
                await CarefulDevice(token, server.device_host, server.device_port, tls).play(messages)

        async def all_of_them() -> None:
            await asyncio.gather(*(play() for _ in range(AT_ONCE)))

        asyncio.run(all_of_them())
        deadline = time.monotonic() + PATIENCE_S
        return {name: outcomes(company, vehicle, sent[name], deadline) for name, vehicle in vehicles.items()}


def test_clean_drive_is_scored_with_its_one_harsh_start(driven):
    (found,) = driven[CLEAN]

    assert found == (None, pytest.approx(96, abs=1), True, "speeds")


@pytest.mark.parametrize("name", box_dirt.KINDS)
def test_dirty_drive_keeps_its_score_or_is_refused(driven, name):
    clean = driven[CLEAN][0].score
    assert clean is not None
    kind = box_dirt.KINDS[name]

    drives = [each for each in driven[name] if name not in APART or each.reason != APART[name]]
    assert len(drives) == 1
    assert len(driven[name]) == 1 + (name in APART)
    assert kind.permits(drives[0].reason, drives[0].score, clean=clean, unharsh=100.0), driven[name]


def test_exact_positions_show_harsh_driving_at_one_a_second_alone(driven):
    (speeds,), (exact,), (seldom,) = (driven[name] for name in (SPEEDS, EXACT, UNEVEN))

    assert speeds.score is not None
    assert speeds.score < 90
    assert exact == (None, pytest.approx(speeds.score, abs=2), True, "positions")
    assert seldom == (None, 100.0, False, "sparse")


@pytest.mark.parametrize("name", box_dirt.SECOND_SENSOR)
def test_drive_of_two_sensors_counts_once_though_one_clock_is_wrong(driven, name):
    reasons = sorted(str(each.reason) for each in driven[name])

    assert reasons == ["None", "duplicate"], driven[name]
