"""The fit of speeds to their path: a device that reports metres per second must not score 100.

The path runs through positions averaged over five seconds: 10 m of white noise alone would make it half as long again.
The distance by speed is compared for each kilometre, and the median of the kilometres decides: one position far off
must not reject a trip. The unit behind a ratio: `quality.py`.
"""

from typing import Final, NamedTuple

import numpy as np

from tripline.scoring.drives import Drives, Flags, Floats, Ints
from tripline.scoring.geometry import steps_m
from tripline.scoring.rules import Rules

AVERAGED_MS: Final = 5_000
MOST: Final = 50
"""Most samples that are averaged: five seconds of a device that sends ten times a second."""
STRETCH_M: Final = 1_000.0
MOVING_MPS: Final = 3.0
"""Metres per second; a step below it by both speed and path is ignored, because standing receivers drift."""


class _Steps(NamedTuple):
    """Steps from one run of averaged samples to the next; equally long arrays."""

    path: Floats
    """Metres by positions."""
    driven: Floats
    """Metres by speed."""
    trips: Ints


class _Runs(NamedTuple):
    """Runs of samples that are averaged; equally long arrays."""

    begins: Ints
    """The first sample of each."""
    trips: Ints


def ratios(drives: Drives, speed_kmh: Floats, intervals_ms: Ints, long: Ints, rules: Rules) -> Floats:
    """Shape n: the median, over each trip's kilometres, of distance by speed to path; NaN without a whole kilometre.

    `speed_kmh`: the device's. `long`: the intervals that might be gaps.
    """
    found = np.full(len(drives), np.nan)
    many = _many(drives, intervals_ms, long, rules)
    for each in np.unique(many[many > 0]).tolist():
        _medians(found, _steps(drives, speed_kmh, many == each, each, rules))
    return found


def _many(drives: Drives, intervals_ms: Ints, long: Ints, rules: Rules) -> Ints:
    """The number of samples of each trip that make five seconds, without gaps; 0: fewer than two samples."""
    counts = np.diff(drives.starts)
    many = np.zeros(len(drives), np.int64)
    some = counts > 1
    lasting = drives.time_ms[drives.starts[1:][some] - 1] - drives.time_ms[drives.starts[:-1][some]]
    gaps = long[intervals_ms[long] > rules.guards.gap_ms]
    lasting = lasting - np.bincount(drives.at(gaps), weights=intervals_ms[gaps], minlength=len(drives))[some]
    many[some] = np.clip(np.rint(AVERAGED_MS * (counts[some] - 1) / np.maximum(lasting, 1)), 1, MOST)
    return many


def _steps(drives: Drives, speed_kmh: Floats, wanted: Flags, many: int, rules: Rules) -> _Steps:
    """The steps of the wanted trips (shape n), between each run of `many` samples and the next."""
    begins, trips = _runs(drives.starts, wanted, many)
    places = begins + np.arange(many)[:, None]
    lat, lon, speed = (_sums(column, places) for column in (drives.lat, drives.lon, speed_kmh))
    lat /= many
    lon /= many
    path = steps_m(lat, lon)
    time_ms = drives.time_ms[places]
    whole = time_ms[-1] - time_ms[0] <= AVERAGED_MS * 1.5  # no gap inside
    lasting = np.diff(time_ms.sum(axis=0)) * (0.001 / many)
    driven = (speed[1:] + speed[:-1]) * lasting
    driven *= 1 / (7.2 * many)
    used = whole[1:] & whole[:-1]
    used &= trips[1:] == trips[:-1]
    used &= lasting <= rules.guards.gap_ms / 1_000
    used &= path <= rules.guards.fastest_mps * lasting
    # False as well where `driven` is unknown: NaN is the greatest.
    used &= np.maximum(path, driven) >= MOVING_MPS * lasting
    kept = np.flatnonzero(used)
    return _Steps(path[kept].astype(np.float64), driven[kept], trips[kept])


def _runs(starts: Ints, wanted: Flags, many: int) -> _Runs:
    """Cut the wanted trips into whole runs.

    Each trip is cut from its own first sample, so that its ratio does not depend on the other trips of the block.
    """
    counts = np.diff(starts) // many * wanted
    trips = np.repeat(np.arange(counts.size), counts)
    within = np.arange(trips.size) - np.repeat(np.cumsum(counts) - counts, counts)
    begins: Ints = starts[trips] + within * many
    return _Runs(begins, trips)


def _sums(column: Floats, places: Ints) -> Floats:
    """The sum of each run. `places`: shape many x runs."""
    sums: Floats = column[places[0]]
    for place in places[1:]:
        sums += column[place]
    return sums


def _medians(found: Floats, steps: _Steps) -> None:
    """Enter the median ratio of each trip's whole kilometres of path."""
    path, driven, trips = steps
    if not path.size:
        return
    millimetres = np.rint(path * 1_000).astype(np.int64)  # integers: sums do not depend on the other trips
    along = np.cumsum(millimetres)
    first = np.flatnonzero(np.append(True, trips[1:] != trips[:-1]))
    along -= np.repeat(along[first] - millimetres[first], np.diff(np.append(first, path.size)))
    stretch = along // round(STRETCH_M * 1_000)
    begins = np.flatnonzero(np.append(True, (stretch[1:] != stretch[:-1]) | (trips[1:] != trips[:-1])))
    length = np.add.reduceat(path, begins)
    of = trips[begins]
    long = np.zeros(found.size, np.bool_)
    long[of[stretch[begins] >= 1]] = True
    whole = (length >= STRETCH_M / 2) & long[of]
    ratio, of = np.add.reduceat(driven, begins)[whole] / length[whole], of[whole]
    order = np.lexsort((ratio, of))
    ratio, of = ratio[order], of[order]
    own, start, count = np.unique(of, return_index=True, return_counts=True)
    found[own] = (ratio[start + (count - 1) // 2] + ratio[start + count // 2]) / 2
