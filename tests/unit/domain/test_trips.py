"""The life of a trip as decisions on values (spec/device-messages 4.2, 4.4; spec/scoring 1)."""

import pytest

from tripline.domain import trips
from tripline.domain.ids import RowNo, TripId, UserId, VehicleId
from tripline.domain.trips import Cause, LiveTrip, State

VEHICLE = VehicleId("v")


def live(**changes: object) -> LiveTrip:
    values: dict[str, object] = {
        "state": State.OPEN,
        "tid": 41,
        "device_type": "GPS",
        "parking": False,
        "vehicle_id": VEHICLE,
        "user_id": UserId("u"),
        "first_ms": 0,
        "last_ms": 0,
    }
    return LiveTrip(RowNo(1), TripId("t"), **(values | changes))  # type: ignore[arg-type]


def test_next_every_move_leads_to_a_state_that_is_not_left_once_complete():
    assert {state for state, _ in trips.NEXT if state is not None} == {State.OPEN, State.LAPSED}
    assert set(trips.NEXT.values()) == set(State)


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        (State.COMPLETE, Cause.MESSAGE),
        (State.COMPLETE, Cause.SAMPLE),
        (State.LAPSED, Cause.SAMPLE),
        (State.LAPSED, Cause.SILENCE),
        (None, Cause.GAP),
    ],
)
def test_move_not_in_the_table_is_a_bug(state, cause):
    with pytest.raises(KeyError):
        trips.move(state, cause)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, (-5, 9)),
        ({"start_said": True}, (0, 9)),
        ({"end_said": True}, (-5, 7)),
        ({"is_bare": True}, (-5, 9)),
        ({"is_bare": True, "start_said": True, "end_said": True}, (0, 7)),
    ],
)
def test_t5_samples_move_the_times_that_no_message_states(said, expected):
    trip = live(first_ms=0, last_ms=7, **said)

    trip.grow(-5, 9)

    assert (trip.first_ms, trip.last_ms, trip.is_bare) == (*expected, False)


def test_t5_first_samples_of_a_message_without_times_replace_the_provisional_ones():
    trip = live(first_ms=100, last_ms=100, is_bare=True)

    trip.grow(3, 4)

    assert (trip.first_ms, trip.last_ms) == (3, 4)


@pytest.mark.parametrize(("start_ms", "end_ms"), [(None, None), (1, None), (None, 2), (1, 2), (-3, -2)])
def test_i3_message_key_says_the_times_that_the_message_says(start_ms, end_ms):
    key = trips.message_key(tid=None, start_ms=start_ms, end_ms=end_ms, ts=5, payload=b"{}")

    assert trips.said_times(key.text) == (start_ms, end_ms)


@pytest.mark.parametrize("device_type", ["GPS", "OBD", "BLACKBOX"])
def test_mapped_driving_trip_of_a_scored_device_type_goes_to_the_scorer(device_type):
    assert trips.why_not_scored(device_type=device_type, vehicle_id=VEHICLE, parking=False) is None


@pytest.mark.parametrize(
    ("device_type", "vehicle_id", "parking", "reason"),
    [
        ("ADAS", None, True, "device_type"),
        ("DTAG", VEHICLE, False, "device_type"),
        ("GPS", None, True, "unmapped"),
        ("BLACKBOX", VEHICLE, True, "parking"),
    ],
)
def test_first_reason_against_scoring_is_given(device_type, vehicle_id, parking, reason):
    assert trips.why_not_scored(device_type=device_type, vehicle_id=vehicle_id, parking=parking) == reason


def test_i3_message_key_is_number_start_and_end_whatever_else_is_said():
    keys = {
        trips.message_key(tid=41, start_ms=1, end_ms=2, ts=ts, payload=payload)
        for ts in (None, 3)
        for payload in (b"{}", b"[]")
    }

    assert keys == {("41:1:2", True)}


def test_i3_message_key_tells_a_missing_value_from_every_number():
    values = (None, 0, 1)
    keys = {
        trips.message_key(tid=tid, start_ms=start, end_ms=end, ts=None, payload=b"{}")
        for tid in values
        for start in values
        for end in values
    }

    assert len(keys) == 27


def test_i3_message_without_times_is_known_by_header_time_and_content_for_a_while():
    first = trips.message_key(tid=41, start_ms=None, end_ms=None, ts=7, payload=b"{}")

    assert first[1] is False
    assert first == trips.message_key(tid=41, start_ms=None, end_ms=None, ts=7, payload=b"{}")
    assert first != trips.message_key(tid=41, start_ms=None, end_ms=None, ts=8, payload=b"{}")
    assert first != trips.message_key(tid=41, start_ms=None, end_ms=None, ts=7, payload=b"{ }")
    assert len(trips.message_key(tid=-(2**63), start_ms=None, end_ms=None, ts=-(2**63), payload=b"").text) <= 64
