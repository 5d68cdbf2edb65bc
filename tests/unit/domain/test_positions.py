"""Live positions: which sample is the newest, its heading, and the state (spec/positions L1 to L5)."""

import math

import pytest

from tripline.domain import positions, samples
from tripline.domain.ids import VehicleId
from tripline.domain.positions import Position, State

VEHICLE = VehicleId("v")
T = 1_735_689_600_000
METRE = 1 / 111_195


def sample(at: int, lat: float = 35.0, lon: float = 129.0, speed: float = 50.0, flags: int = 1) -> bytes:
    return samples.RECORD.pack(T + at, lat, lon, speed, samples.NO_FLAGS, flags)


def position(*some: bytes) -> Position:
    return positions.position(VEHICLE, b"".join(some))


@pytest.mark.parametrize(
    ("north", "east", "heading"),
    [(1, 0, 0.0), (1, 1, 45.0), (0, 1, 90.0), (-1, 0, 180.0), (0, -1, 270.0), (1, -0.0001, 0.0)],
)
def test_heading_is_the_direction_from_two_samples_before(north, east, heading):
    scale = math.cos(math.radians(60))
    path = [sample(at * 1000, 60 + north * at / 1e4, 20 + east * at / 1e4 / scale) for at in range(3)]

    assert position(*path).heading_deg == pytest.approx(heading, abs=0.1)


def test_eastern_one_of_two_samples_of_one_time_is_the_newer_wherever_a_message_has_it():
    eastern, western = sample(2000, lon=129.1), sample(2000, lon=129.0)
    message = b"".join([eastern, sample(0), sample(1000), western])

    tail = positions.newest(b"", message, last_ms=T + 2000)

    assert positions.last_of(tail) == eastern


@pytest.mark.parametrize("at", range(-2000, 4000, 500))
def test_past_samples_are_those_that_leave_the_newest_ones_as_they_are(at):
    tail = b"".join([sample(0), sample(1000), sample(2000)])
    merged = positions.newest(tail, sample(at), last_ms=T + at)

    assert positions.is_past(tail, T + at) is (at < 0)
    assert merged == tail or not positions.is_past(tail, T + at)
    assert not positions.is_past(tail[samples.RECORD.size :], T + at)


def test_heading_across_the_date_line_is_east():
    assert position(sample(0, 0.1, 179.9999), sample(1000, 0.1, -179.9999)).heading_deg == 90.0


@pytest.mark.parametrize(("speed", "heading"), [(4.99, None), (5.0, 0.0), (math.nan, 0.0)])
def test_heading_is_null_below_five_kilometres_an_hour(speed, heading):
    path = sample(0), sample(1000, 35 + 20 * METRE, speed=speed)

    assert position(*path).heading_deg == heading


@pytest.mark.parametrize(
    "before",
    [
        (),
        (sample(-31_000),),
        (sample(-1000, 35 + 18.5 * METRE),),
    ],
    ids=["alone", "too long ago", "at the same place"],
)
def test_heading_is_null_where_positions_say_nothing(before):
    assert position(*before, sample(0, 35 + 20 * METRE)).heading_deg is None


@pytest.mark.parametrize(
    ("before", "speed"),
    [((), None), ((sample(-2000),), 36.0), ((sample(-499),), None), ((sample(-90_000), sample(-1000)), 72.0)],
)
def test_unknown_speed_is_made_of_positions(before, speed):
    found = position(*before, sample(0, 35 + 20 * METRE, speed=math.nan)).speed_kmh

    assert found == (None if speed is None else pytest.approx(speed, rel=1e-3))


@pytest.mark.parametrize("speed", [-1.0, -0.1, 255.0, 300.1, 65_535.0, math.inf, -math.inf])
def test_speed_that_nothing_drives_is_made_of_positions(speed):
    before = sample(-2000, 35 - 20 * METRE, speed=speed)

    found = position(before, sample(0, speed=speed))

    assert (found.speed_kmh, found.heading_deg) == (pytest.approx(36.0, rel=1e-3), 0.0)
    assert found.state(T) is State.DRIVING
    assert position(sample(0, speed=speed)).speed_kmh is None


def test_speed_up_to_the_fastest_is_the_device_s_own():
    assert [position(sample(0, speed=speed)).speed_kmh for speed in (0.0, 254.9, 255.1, 300.0)] == [
        0,
        254.9,
        255.1,
        300,
    ]
    assert positions.position(VEHICLE, sample(0, speed=201.0), fastest_kmh=200.0).speed_kmh is None


def test_way_that_nothing_drives_gives_no_speed():
    found = position(sample(-1000, 36.0, speed=math.nan), sample(0, speed=math.nan))

    assert (found.speed_kmh, found.heading_deg) == (None, None)


MINUTE, DAY = 60_000, 86_400_000


@pytest.mark.parametrize(
    ("speed", "parking", "age_ms", "state"),
    [
        (5.0, False, 0, State.DRIVING),
        (5.0, False, -5 * MINUTE, State.DRIVING),
        (5.0, False, 5 * MINUTE, State.DRIVING),
        (5.0, False, 5 * MINUTE + 1, State.OFFLINE),
        (4.9, False, 5 * MINUTE, State.STOPPED),
        (None, False, 0, State.STOPPED),
        (0.0, False, 5 * MINUTE + 1, State.PARKED),
        (None, False, 7 * DAY, State.PARKED),
        (0.0, False, 7 * DAY + 1, State.OFFLINE),
        (0.0, True, 0, State.PARKED),
        (30.0, True, 0, State.PARKED),
        (0.0, True, 7 * DAY + 1, State.OFFLINE),
    ],
)
def test_state_follows_from_age_speed_and_parking(speed, parking, age_ms, state):
    assert Position(VEHICLE, T, 35.0, 129.0, speed, None, parking).state(T + age_ms) is state
