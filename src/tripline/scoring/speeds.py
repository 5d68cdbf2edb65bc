"""Speed where the device gave none: distance over a window of samples divided by its time.

Never the difference of two single positions: on real traces that gave precision 0.04 to 0.07 for braking.
"""

import numpy as np

from tripline.scoring.drives import Drives, Floats
from tripline.scoring.geometry import haversine_m
from tripline.scoring.rules import Rules


def filled(drives: Drives, rules: Rules) -> Floats:
    """The speed of each sample, km/h: the device's own, else from positions; NaN where neither is possible.

    The window has `harsh.speed_window` samples around the sample, moved inwards at the ends of the trip. A window that
    lasts longer than its intervals may (`harsh.rate_max_ms` each) gives no speed, nor does a trip with fewer samples.
    """
    missing = np.flatnonzero(np.isnan(drives.speed_kmh))
    if not missing.size:
        return drives.speed_kmh
    trips = drives.at(missing)
    steps = rules.harsh.speed_window - 1
    begin = np.maximum(missing - steps // 2, drives.starts[trips])
    begin = np.minimum(begin, drives.starts[trips + 1] - rules.harsh.speed_window)
    inside = begin >= drives.starts[trips]
    missing, begin = missing[inside], begin[inside]
    end = begin + steps
    span_ms = drives.time_ms[end] - drives.time_ms[begin]
    metres = haversine_m(drives.lat[begin], drives.lon[begin], drives.lat[end], drives.lon[end])
    speed = drives.speed_kmh.copy()
    speed[missing] = np.where(span_ms <= steps * rules.harsh.rate_max_ms, metres * 3_600 / span_ms, np.nan)
    return speed
