"""Twelve real drives of one car, judged by each column of thresholds.

Published rates for a larger set of the same recordings, per 100 km: car 2 / 5 / 0 / 0.3 (start, acceleration,
deceleration, stop), bus 5 / 19 / 2.4 / 0.8, truck 12 / 29 / 8 / 1.6. These twelve (109 km) are livelier, so what speeds
up and what slows down must each lie within a factor of three of the published rates, or two events where they are few.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.support import synthetic

import tripline.simulator
from tripline.scoring import kernel, policy
from tripline.scoring.rules import Column, EventType, Rules
from tripline.scoring.score import NotScored, TripScore

HARSH = (EventType.START, EventType.ACCELERATION, EventType.DECELERATION, EventType.STOP)
FOLDER = Path(tripline.simulator.__file__).parent / "drives"
PUBLISHED = {Column.CAR: (2, 5, 0, 0.3), Column.BUS: (5, 19, 2.4, 0.8), Column.TRUCK: (12, 29, 8, 1.6)}


@cache
def recordings():
    columns = []
    for file in sorted(FOLDER.glob("*.csv")):
        t_ms, lat, lon, speed = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=(0, 1, 2, 3)).T
        columns.append({"t": t_ms / 1_000, "lat": lat, "lon": lon, "speed": speed})
    return columns


def drives(column):
    arrays = synthetic.as_arrays(recordings())
    arrays.column[:] = column
    return arrays


def counts(column):
    found = kernel.findings(drives(column), Rules())
    return tuple(int(found.counts(kind).sum()) for kind in HARSH)


@pytest.mark.parametrize(
    ("column", "expected"),
    [(Column.CAR, (8, 6, 0, 1)), (Column.BUS, (21, 23, 3, 6)), (Column.TRUCK, (33, 34, 12, 7))],
)
def test_counts_over_all_drives_stay_as_they_are(column, expected):
    assert counts(column) == expected


@pytest.mark.parametrize("column", list(Column))
def test_rates_per_100_km_are_near_the_published(column):
    km = kernel.findings(drives(column), Rules()).distance_m.sum() / 1_000

    found, published = counts(column), PUBLISHED[column]
    for first in (0, 2):
        count, expected = sum(found[first : first + 2]), sum(published[first : first + 2]) * km / 100
        assert expected / 3 - 2 <= count <= max(expected * 3, expected + 2)


def test_lower_thresholds_find_more():
    car, bus, truck = (counts(column) for column in Column)

    assert all(a <= b <= c for a, b, c in zip(car, bus, truck, strict=True))


def test_drives_longer_than_3_km_are_scored_and_shorter_ones_are_not():
    verdicts = policy.judged(kernel.findings(drives(Column.CAR), Rules()), Rules())

    assert [verdict for verdict in verdicts if verdict == NotScored.TOO_SHORT] == [NotScored.TOO_SHORT] * 3
    assert [isinstance(verdict, TripScore) for verdict in verdicts].count(True) == 9


def test_distance_agrees_with_the_speed_over_time():
    arrays = drives(Column.CAR)
    found = kernel.findings(arrays, Rules())

    for trip in np.flatnonzero(found.distance_m >= 3_000).tolist():
        metres = float(found.distance_m[trip])
        own = slice(arrays.starts[trip], arrays.starts[trip + 1])
        seconds = np.diff(arrays.time_ms[own]) / 1_000
        speed = arrays.speed_kmh[own] / 3.6
        assert metres == pytest.approx(float((seconds * (speed[1:] + speed[:-1]) / 2).sum()), rel=0.12)
