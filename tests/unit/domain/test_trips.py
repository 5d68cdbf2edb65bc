"""The life of a trip as decisions on values (spec/device-messages 4.2, 4.4; spec/scoring 1)."""

import pytest

from tripline.domain import trips
from tripline.domain.ids import RowNo, TripId, UserId, VehicleId
from tripline.domain.trips import Cause, LiveTrip, State

GAP_MS = 1_800_000
REOPEN_MS = 600_000
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


def belongs(
    trip: LiveTrip, *, tid: int | None = 41, device_type: str = "GPS", parking: bool = False, at: int = 0
) -> bool:
    return trips.belongs(trip, tid, device_type, parking, at, GAP_MS)


def test_next_every_move_leads_to_a_state_that_is_not_left_once_complete() -> None:
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
def test_move_not_in_the_table_is_a_bug(state: State | None, cause: Cause) -> None:
    with pytest.raises(KeyError):
        trips.move(state, cause)


@pytest.mark.parametrize(
    ("at", "expected"), [(GAP_MS - 1, True), (GAP_MS, True), (GAP_MS + 1, False), (-GAP_MS * 2, True)]
)
def test_i1_sample_belongs_until_thirty_minutes_after_the_last(at: int, expected: bool) -> None:
    assert belongs(live(), at=at) is expected


@pytest.mark.parametrize(("tid", "expected"), [(41, True), (None, True), (42, False)])
def test_i1_microtrip_with_equal_or_missing_number_belongs(tid: int | None, expected: bool) -> None:
    assert belongs(live(), tid=tid) is expected


def test_i1_numbered_microtrip_does_not_belong_to_an_unnumbered_trip() -> None:
    assert not belongs(live(tid=None), tid=41)


@pytest.mark.parametrize(
    ("device_type", "parking", "expected"),
    [("BLACKBOX", False, True), ("BLACKBOX", True, False), ("GPS", True, True)],
)
def test_i6_change_of_parking_ends_only_black_box_trips(device_type: str, parking: bool, expected: bool) -> None:
    assert belongs(live(device_type=device_type), device_type=device_type, parking=parking) is expected


@pytest.mark.parametrize(
    ("trip_tid", "tid", "expected"), [(41, 41, True), (41, None, True), (None, 41, True), (41, 42, False)]
)
def test_i2_message_is_about_a_trip_unless_the_numbers_differ(
    trip_tid: int | None, tid: int | None, expected: bool
) -> None:
    assert trips.is_about(live(tid=trip_tid), tid) is expected


@pytest.mark.parametrize(("age_ms", "expected"), [(REOPEN_MS - 1, True), (REOPEN_MS, False), (REOPEN_MS + 1, False)])
def test_i2_late_message_completes_a_trip_that_ended_less_than_ten_minutes_ago(age_ms: int, expected: bool) -> None:
    trip = live(state=State.LAPSED, closed_ms=5_000)

    assert trips.may_complete(trip, 41, now_ms=5_000 + age_ms, reopen_ms=REOPEN_MS) is expected


@pytest.mark.parametrize("state", [State.OPEN, State.COMPLETE])
def test_i2_late_message_completes_only_a_lapsed_trip(state: State) -> None:
    assert not trips.may_complete(live(state=state, closed_ms=5_000), 41, now_ms=5_000, reopen_ms=REOPEN_MS)


@pytest.mark.parametrize(
    ("said", "first", "header", "expected"), [(1, 2, 3, 1), (None, 2, 3, 2), (None, None, 3, 3), (None, None, None, 4)]
)
def test_t5_start_is_stt_then_first_sample_then_header(
    said: int | None, first: int | None, header: int | None, expected: int
) -> None:
    assert trips.start_ms(said_ms=said, first_ms=first, header_ms=header, received_ms=4) == expected


@pytest.mark.parametrize(
    ("said", "last", "header", "expected"), [(1, 2, 3, 1), (None, 2, 3, 2), (None, None, 3, 3), (None, None, None, 4)]
)
def test_t5_end_is_edt_or_clt_then_last_sample_then_header(
    said: int | None, last: int | None, header: int | None, expected: int
) -> None:
    assert trips.end_ms(said_ms=said, last_ms=last, header_ms=header, received_ms=4) == expected


@pytest.mark.parametrize("device_type", ["GPS", "OBD", "BLACKBOX"])
def test_mapped_driving_trip_of_a_scored_device_type_goes_to_the_scorer(device_type: str) -> None:
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
def test_first_reason_against_scoring_is_given(
    device_type: str, vehicle_id: VehicleId | None, parking: bool, reason: str
) -> None:
    assert trips.why_not_scored(device_type=device_type, vehicle_id=vehicle_id, parking=parking) == reason


def test_i3_message_key_is_number_start_and_end_whatever_else_is_said() -> None:
    keys = {
        trips.message_key(tid=41, start_ms=1, end_ms=2, ts=ts, payload=payload)
        for ts in (None, 3)
        for payload in (b"{}", b"[]")
    }

    assert keys == {("41:1:2", True)}


def test_i3_message_key_tells_a_missing_value_from_every_number() -> None:
    values = (None, 0, 1)
    keys = {
        trips.message_key(tid=tid, start_ms=start, end_ms=end, ts=None, payload=b"{}")
        for tid in values
        for start in values
        for end in values
    }

    assert len(keys) == 27


def test_i3_message_without_times_is_known_by_header_time_and_content_for_a_while() -> None:
    first = trips.message_key(tid=41, start_ms=None, end_ms=None, ts=7, payload=b"{}")

    assert first[1] is False
    assert first == trips.message_key(tid=41, start_ms=None, end_ms=None, ts=7, payload=b"{}")
    assert first != trips.message_key(tid=41, start_ms=None, end_ms=None, ts=8, payload=b"{}")
    assert first != trips.message_key(tid=41, start_ms=None, end_ms=None, ts=7, payload=b"{ }")
    assert len(trips.message_key(tid=-(2**63), start_ms=None, end_ms=None, ts=-(2**63), payload=b"").text) <= 64
