"""The trip of a sample, among any trips."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tripline.domain import trips as trip_choice
from tripline.domain.ids import RowNo, TripId
from tripline.domain.trips import MARGIN_MS, LiveTrip, State, Told

GAP_MS = 1_800_000
_spans = st.tuples(st.integers(0, 6), st.integers(0, 2)).map(lambda span: (span[0], span[0] + span[1]))
_trips = st.lists(
    st.tuples(_spans, st.sampled_from([1, 2, None]), st.booleans(), st.sampled_from(["LAPSED", "COMPLETE"])), max_size=6
)


@given(_trips, st.integers(0, 8), st.sampled_from([1, 2, None]), st.booleans())
def test_the_chosen_trip_accepts_the_sample_and_without_one_none_does(
    trips: list[Any], at: int, tid: int | None, parking: bool
) -> None:
    hour = 2 * GAP_MS
    known = [
        LiveTrip(
            *(RowNo(no), TripId(str(no))),
            state=State(state),
            tid=number,
            device_type="GPS",
            parking=parked,
            vehicle_id=None,
            user_id=None,
            first_ms=span[0] * hour,
            last_ms=span[1] * hour,
            until_ms=span[1] * hour + MARGIN_MS if state == "COMPLETE" else None,
        )
        for no, (span, number, parked, state) in enumerate(trips, 1)
    ]
    chosen = trip_choice.of_sample(known, Told(tid, "BLACKBOX", parking, at * hour, at * hour), GAP_MS)

    accept = [
        trip.no
        for trip in known
        if (trip.tid, trip.parking) == (tid, parking) and trip.first_ms <= at * hour <= trip.last_ms
    ]
    assert (chosen and chosen.no) == (accept[0] if accept else None)
