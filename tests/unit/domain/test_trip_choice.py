"""Rules by which a sample, a trip message or an event finds its trip: number and time (spec/device-messages 4.4)."""

from typing import Any

import pytest

from tripline.domain import trips as trip_choice
from tripline.domain.ids import RowNo, TripId
from tripline.domain.trips import MARGIN_MS, LiveTrip, State, Told

GAP_MS = 1_800_000


def live(no: int = 1, first_ms: int = 0, last_ms: int = 10_000, **changes: Any) -> LiveTrip:
    values = {"state": State.LAPSED, "tid": 7, "device_type": "GPS", "parking": False, "vehicle_id": None,
              "user_id": None, "first_ms": first_ms, "last_ms": last_ms}  # fmt: skip
    return LiveTrip(RowNo(no), TripId(str(no)), **(values | changes))


def settled(no: int = 1, first_ms: int = 0, last_ms: int = 10_000, **changes: Any) -> LiveTrip:
    return live(no, first_ms, last_ms, state=State.COMPLETE, until_ms=last_ms + MARGIN_MS, **changes)


def of_sample(
    *known: LiveTrip, at: int, to: int | None = None, tid: int | None = 7, kind: str = "GPS", parking: bool = False
) -> int | None:
    trip = trip_choice.of_sample(known, Told(tid, kind, parking, at, at if to is None else to), GAP_MS)
    return None if trip is None else trip.no


def of_message(
    *known: LiveTrip, at: int, to: int | None = None, tid: int | None = 7, kind: str = "GPS", parking: bool = False
) -> int | None:
    trip = trip_choice.of_message(known, Told(tid, kind, parking, at, at if to is None else to), GAP_MS)
    return None if trip is None else trip.no


def of_event(*known: LiveTrip, at: int, tid: int | None = 7) -> int | None:
    trip = trip_choice.of_event(known, tid, at, GAP_MS)
    return None if trip is None else trip.no


@pytest.mark.parametrize(
    ("at", "belongs"),
    [
        (0, True),
        (5_000, True),
        (10_000 + GAP_MS, True),
        (10_001 + GAP_MS, False),
        (-GAP_MS, True),
        (-GAP_MS - 1, False),
    ],
)
@pytest.mark.parametrize("state", list(State))
def test_i1_sample_belongs_in_the_trips_time_and_within_the_gap_of_it(at, belongs, state):
    assert of_sample(live(state=state), at=at) == (1 if belongs else None)


@pytest.mark.parametrize(("trip_tid", "tid", "belongs"), [(7, 7, True), (7, 8, False), (7, None, False),
                                                          (None, 7, False), (None, None, True)])  # fmt: skip
def test_i1_missing_number_is_a_number_of_its_own(trip_tid, tid, belongs):
    assert of_sample(live(tid=trip_tid), at=5_000, tid=tid) == (1 if belongs else None)


@pytest.mark.parametrize(("at", "belongs"), [(10_000 + MARGIN_MS, True), (10_001 + MARGIN_MS, False), (-5, True)])
def test_i4_samples_a_minute_behind_the_stated_end_are_of_another_trip(at, belongs):
    assert of_sample(settled(), at=at) == (1 if belongs else None)


def test_i1_sample_in_the_time_of_a_trip_belongs_to_it_rather_than_to_one_near():
    assert of_sample(live(1), live(2, 20_000, 30_000), at=20_000) == 2


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_i1_sample_between_two_trips_belongs_to_the_one_with_the_smaller_row_number(order):
    early, late = live(order[0]), live(order[1], GAP_MS, GAP_MS + 5)

    assert of_sample(*sorted((early, late), key=lambda each: each.no), at=GAP_MS - 1) == 1


def test_i1_sample_behind_two_trips_belongs_to_the_nearer():
    assert of_sample(live(1), live(2, 20_000, 30_000), at=40_000) == 2
    assert of_sample(live(1, 20_000, 30_000), live(2), at=-40_000) == 2


@pytest.mark.parametrize(("kind", "parking", "expected"), [("BLACKBOX", True, None), ("GPS", True, 1)])
def test_i6_only_a_black_box_tells_driving_from_parking(kind, parking, expected):
    assert of_sample(live(device_type=kind), at=5_000, kind=kind, parking=parking) == expected


def test_i6_a_drive_behind_parking_is_not_the_drive_before_it():
    parked = live(2, 11_000, 20_000, device_type="BLACKBOX", parking=True)
    drive = live(1, device_type="BLACKBOX")

    assert of_sample(drive, parked, at=21_000, kind="BLACKBOX") is None
    assert of_sample(drive, parked, at=10_500, kind="BLACKBOX") == 1
    later = live(3, 21_000, 30_000, device_type="BLACKBOX")
    assert of_sample(parked, later, at=-5, kind="BLACKBOX") is None


@pytest.mark.parametrize(
    ("trip_tid", "tid", "at", "expected"),
    [
        (None, 7, 5_000, 1),
        (7, None, 5_000, 1),
        (None, 7, -5, None),
        (7, None, -5, None),
        (7, 7, -5, 1),
        (7, 8, 5, None),
    ],
)
def test_i2_samples_join_a_trip_that_only_has_a_message(trip_tid, tid, at, expected):
    assert of_sample(settled(tid=trip_tid, is_bare=True), at=at, tid=tid) == expected


def test_i6_a_trip_without_samples_takes_either_kind():
    bare = settled(device_type="BLACKBOX", is_bare=True)

    assert of_sample(bare, at=5, kind="BLACKBOX", parking=True) == 1


@pytest.mark.parametrize(
    ("at", "to", "expected"),
    [
        (0, 10_000, 1),
        (-9, -1, 1),
        (-9, -MARGIN_MS - 1, None),
        (10_000 + GAP_MS, 10_500 + GAP_MS, 1),
        (10_001 + GAP_MS, 10_500 + GAP_MS, None),
    ],
)
def test_i2_message_completes_a_trip_in_its_time_or_within_the_gap_before_it(at, to, expected):
    assert of_message(live(), at=min(at, to), to=to) == expected


@pytest.mark.parametrize(("trip_tid", "tid", "fits"), [(7, 7, True), (7, 8, False), (7, None, True), (None, 7, True)])
def test_i2_a_missing_number_fits_either_side_of_a_message(trip_tid, tid, fits):
    assert of_message(live(tid=trip_tid), at=5, tid=tid) == (1 if fits else None)
    assert of_event(live(tid=trip_tid), at=5, tid=tid) == (1 if fits else None)


def test_i2_message_never_completes_a_trip_twice():
    assert of_message(settled(), at=0, to=10_000) is None


def test_i2_message_rather_completes_a_trip_in_its_time_then_its_number_then_the_last():
    assert of_message(live(1), live(2, 20_000, 30_000), at=0, to=10_000) == 1
    assert of_message(live(1), live(2, tid=None), at=0, to=10_000) == 1
    assert of_message(live(1), live(2, 20_000, 30_000), at=0, to=30_000) == 2
    assert of_message(live(1), live(2, 20_000, 30_000), at=40_000) == 2


def test_i6_message_rather_completes_a_trip_of_its_kind():
    drive = live(1, device_type="BLACKBOX")
    parked = live(2, 11_000, 20_000, device_type="BLACKBOX", parking=True)

    assert of_message(drive, parked, at=15_000, kind="BLACKBOX") == 1
    assert of_message(parked, at=0, to=parked.first_ms - 1, kind="BLACKBOX") is None
    assert of_message(parked, at=15_000, kind="BLACKBOX") == 2


def test_i2_first_piece_of_a_broken_drive_is_the_earliest_without_a_message():
    last = live(4, 9 * GAP_MS, 9 * GAP_MS + 5)
    known = [live(1), live(2, 4 * GAP_MS, 5 * GAP_MS), live(3, 2 * GAP_MS, 2 * GAP_MS, tid=8), last]

    assert trip_choice.first_piece(known, last, 5_000).no == 1
    assert trip_choice.first_piece(known, last, 10_001).no == 2
    assert trip_choice.first_piece(known, last, 8 * GAP_MS) is last
    assert trip_choice.first_piece([settled(1), last], last, 0) is last


def test_event_belongs_to_the_trip_of_its_time_then_of_its_number_then_the_nearest():
    assert of_event(live(1), live(2, 20_000, 30_000), at=5_000, tid=None) == 1
    assert of_event(live(1, tid=None), live(2), at=5_000) == 2
    assert of_event(live(1), live(2, 20_000, 30_000), at=16_000) == 2
    assert of_event(settled(), at=10_001 + MARGIN_MS) is None
    assert of_event(live(), at=10_001 + GAP_MS) is None
