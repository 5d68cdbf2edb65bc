"""Packed samples become arrays: one layout on both sides, only usable samples, the right column."""

import struct

import numpy as np
import pytest
from tests.support.scoring_rows import START_MS, sample

from tripline.domain import samples
from tripline.scoring.rules import Column
from tripline.services.scores import arrays
from tripline.services.scores.arrays import Track

NAN = float("nan")


def loaded(*packed, category=None, device_type="GPS", stated_m=None):
    return arrays.loaded([Track(b"".join(parts), category, device_type, stated_m) for parts in packed])


def test_layout_equals_the_packed_record():
    codes = {"<i8": "q", "<f8": "d", "<i2": "h", "<u2": "H"}

    assert "<" + "".join(codes[arrays.PACKED[name].str] for name in arrays.PACKED.names) == samples.LAYOUT
    assert arrays.PACKED.itemsize == struct.calcsize(samples.LAYOUT) == samples.RECORD.size


def test_samples_of_several_trips_come_out_as_sent():
    drives = loaded([sample(0, 50), sample(1, NAN, lat=37, lon=128, em=0x28)], [], [sample(5, 20.5)]).drives

    assert drives.starts.tolist() == [0, 2, 2, 3]
    assert drives.time_ms.tolist() == [START_MS, START_MS + 1_000, START_MS + 5_000]
    assert (drives.lat.tolist(), drives.lon.tolist()) == ([36, 37, 36], [127, 128, 127])
    assert np.nan_to_num(drives.speed_kmh, nan=-1).tolist() == [50, -1, 20.5]
    assert drives.em.tolist() == [-1, 0x28, -1]


def test_samples_without_own_time_parking_or_position_are_left_out():
    both = samples.FLAG_OWN_TIME | samples.FLAG_PARKING
    parts = [
        sample(0, 50),
        sample(1, 50, flags=0),
        sample(2, 50, flags=both),
        sample(3, 50, lat=NAN),
        sample(4, 50, lon=NAN),
    ]

    result = loaded(parts, parts[1:])

    assert result.drives.time_ms.tolist() == [START_MS]
    assert result.drives.starts.tolist() == [0, 1, 1]
    assert result.timed.tolist() == [3, 2]


@pytest.mark.parametrize(("wrong", "untimed"), [(0, False), (2, False), (3, True), (20, True)])
def test_trip_with_more_than_a_tenth_of_wrong_times_is_untimed(wrong, untimed):
    parts = [sample(second, 50, flags=samples.FLAG_WRONG_TIME) for second in range(wrong)]
    parts += [sample(second, 50) for second in range(wrong, 20)]
    drives = loaded([sample(0, 50, flags=0)] * 9, parts, []).drives

    assert drives.untimed.tolist() == [False, untimed, False]
    assert drives.starts.tolist() == [0, 0, 20 - wrong, 20 - wrong]


def test_no_trips_give_empty_arrays():
    assert len(loaded().drives) == 0


def test_trips_without_any_sample_give_empty_arrays():
    result = loaded([], [])

    assert (result.drives.starts.tolist(), result.timed.tolist()) == ([0, 0, 0], [0, 0])


def test_manoeuvre_bits_absent_everywhere_are_no_array():
    assert loaded([sample(0, 50)]).drives.em is None


def test_cut_samples_are_an_error():
    with pytest.raises(ValueError, match="35 bytes are not whole samples of 36"):
        loaded([sample(0, 50)[:-1]])


@pytest.mark.parametrize(
    ("category", "column"),
    [
        ("TRUCK", Column.TRUCK),
        ("truck", Column.TRUCK),
        ("BUS", Column.BUS),
        ("TAXI", Column.CAR),
        ("PERSONAL", Column.CAR),
        ("ETC", Column.CAR),
        ("", Column.CAR),
        (None, Column.CAR),
    ],
)
def test_category_decides_the_column(category, column):
    assert loaded([], category=category).drives.column.tolist() == [column]


@pytest.mark.parametrize(("device_type", "obd"), [("OBD", True), ("GPS", False), ("BLACKBOX", False)])
def test_only_obd_trips_are_judged_by_manoeuvre_bits(device_type, obd):
    assert loaded([], device_type=device_type).drives.obd.tolist() == [obd]


def test_stated_distance_is_taken_over():
    assert loaded([], stated_m=4_321.0).drives.stated_m.tolist() == [4_321]
    assert np.isnan(loaded([]).drives.stated_m).tolist() == [True]
