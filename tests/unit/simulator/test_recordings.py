"""Reading recorded drives."""

import pytest

from tripline.simulator import recordings
from tripline.simulator.recordings import Fault, Point, Track

HEADER = "t_ms,lat,lon,speed_kmh,accel_x_g"


def test_parse_file_with_extra_columns_uses_the_four_it_knows() -> None:
    track = recordings.parse(
        "a.csv", [HEADER, "1558644851000,41.25,-95.98,49.03,-0.174", "1558644852000,41.26,-95.99,,0.1"]
    )

    assert track == Track(
        "a.csv", (Point(1558644851000, 41.25, -95.98, 49.03), Point(1558644852000, 41.26, -95.99, None))
    )
    assert (track.start_ms, track.end_ms) == (1558644851000, 1558644852000)


def test_parse_file_without_speed_column_leaves_the_speed_open() -> None:
    track = recordings.parse("a.csv", ["lon,lat,t_ms", "-95.98,41.25,1558644851000"])

    assert track.points == (Point(1558644851000, 41.25, -95.98, None),)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("x,41.25,-95.98,49", "t_ms is not a number"),
        (",41.25,-95.98,49", "t_ms is not a number"),
        ("1262303999999,41.25,-95.98,49", "t_ms is out of range"),
        ("10000000000000,41.25,-95.98,49", "t_ms is out of range"),
        ("1558644850999,41.25,-95.98,49", "t_ms goes back"),
        ("1558644852000,90.01,-95.98,49", "lat is out of range"),
        ("1558644852000,41.25,180.01,49", "lon is out of range"),
        ("1558644852000,nan,-95.98,49", "lat is out of range"),
        ("1558644852000,0,0,49", "lat and lon are both 0"),
        ("1558644852000,41.25,-95.98,-1", "speed_kmh is out of range"),
        ("1558644852000,41.25,-95.98,fast", "speed_kmh is not a number"),
        ("1558644852000", "lat is not a number"),
    ],
)
def test_parse_faulty_row_is_left_out_and_named_by_line(row: str, reason: str) -> None:
    good = "1558644851000,41.25,-95.98,49.03"

    track = recordings.parse("a.csv", [HEADER, good, row, good])

    assert track.faults == (Fault(3, reason),)
    assert len(track.points) == 2


@pytest.mark.parametrize("row", ["1262304000000,90,180,1000", "9999999999999,-90,-180,0"])
def test_parse_row_at_the_limits_is_used(row: str) -> None:
    assert recordings.parse("a.csv", [HEADER, row]).faults == ()


def test_parse_file_without_header_names_the_missing_columns() -> None:
    with pytest.raises(recordings.TrackError, match=r"a.csv has no column t_ms, lat, lon"):
        recordings.parse("a.csv", ["1558644851000,41.25,-95.98,49.03"])


def test_parse_file_without_usable_row_is_refused() -> None:
    with pytest.raises(recordings.TrackError, match=r"a.csv has no usable row"):
        recordings.parse("a.csv", [HEADER, "x,y,z,"])


def test_ending_at_several_drives_keeps_their_order_and_inner_times() -> None:
    first = Track("1", (Point(2_000_000, 1, 1, None), Point(2_005_000, 1, 1, None)))
    second = Track("2", (Point(1_000_000, 2, 2, 5), Point(1_003_000, 2, 2, 5)))

    moved = recordings.ending_at([first, second], 9_000_000, pause_ms=60_000)

    assert moved == [
        Track("1", (Point(8_932_000, 1, 1, None), Point(8_937_000, 1, 1, None))),
        Track("2", (Point(8_997_000, 2, 2, 5), Point(9_000_000, 2, 2, 5))),
    ]
