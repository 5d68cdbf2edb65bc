"""What one would write in an afternoon: two thresholds on the change between neighbouring samples, nothing guarded.

Speeds come from the device, or (`by_positions`) from the distance between two positions. Every change beyond the
threshold is an event of its own. Distance is the sum of all steps; the score has the program's formula.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tripline.scoring import geometry
from tripline.scoring.rules import Column, EventType, Harsh, Rules

Event = tuple[EventType, float]
"""Its kind, and when, seconds."""


def events(drive: dict[str, Any], *, by_positions: bool = False) -> list[Event]:
    """The events of a drive."""
    seconds = np.maximum(np.diff(drive["t"]), 1e-3)
    speed = np.nan_to_num(drive["speed"])
    if by_positions:
        speed = np.append(0, geometry.steps_m(drive["lat"], drive["lon"]) / seconds * 3.6)
    column = drive.get("column", Column.CAR)
    rate = np.diff(speed) / seconds
    before, after, at = speed[:-1], speed[1:], drive["t"][1:]
    standing, table = Harsh().standing_kmh, Harsh()
    faster = _kinds(rate >= table.acceleration_above_20[column], before <= standing, at, "ACCELERATION", "START")
    slower = _kinds(-rate >= table.stop[column], after <= standing, at, "DECELERATION", "STOP")
    return sorted(faster + slower, key=lambda event: event[1])


def score(drive: dict[str, Any]) -> float:
    """The score of a drive."""
    km = float(geometry.steps_m(drive["lat"], drive["lon"]).sum()) / 1_000
    over = int((np.nan_to_num(drive["speed"]) > 1.1 * Rules().scoring.default_limit_kmh).sum())
    scoring = Rules().scoring
    burden = scoring.harsh_weight * len(events(drive)) + scoring.overspeed_weight * over
    return 100 * math.exp(-burden / km)


def _kinds(
    chosen: NDArray[np.bool_], ends: NDArray[np.bool_], at: NDArray[np.float64], moving: str, standing: str
) -> list[Event]:
    return [(EventType[standing if ends[i] else moving], float(at[i])) for i in np.flatnonzero(chosen)]
