"""Certainty of harsh events: the share that is real, by their source, the step of the device's speeds, the sampling
period and the class of the vehicle.

The table is measured on made drives; the report of `make evaluate` compares it with its own figures. Free of numpy.
Not here: the share of real events that are missed (`docs/scoring.md`, 8).
"""

import itertools
from typing import Final

from tripline.scoring.quality import HarshSource, Quality
from tripline.scoring.rules import ByCategory

MEASURED: Final[dict[tuple[HarshSource, float], dict[int, ByCategory]]] = {
    (HarshSource.SPEEDS, 0.1): {
        1_000: (0.99, 0.99, 0.99),
        2_000: (0.98, 0.97, 0.98),
        3_000: (0.98, 0.96, 0.96),
        4_000: (0.73, 0.52, 0.58),
    },
    (HarshSource.SPEEDS, 1.0): {
        1_000: (0.99, 0.99, 0.99),
        2_000: (0.99, 0.98, 0.98),
        3_000: (0.98, 0.79, 0.78),
        4_000: (0.78, 0.5, 0.61),
    },
    (HarshSource.SPEEDS, 5.0): {
        1_000: (0.99, 0.99, 0.2),
        2_000: (0.87, 0.62, 0.94),
        3_000: (0.82, 0.44, 0.89),
        4_000: (0.79, 0.64, 0.63),
    },
    (HarshSource.POSITIONS, 0.0): {1_000: (0.99, 0.99, 0.99)},
}
"""Source and step (km/h) -> period (ms) -> shares, rounded down to hundredths, 0.99 at most."""
_BEYOND_MS: Final = 500
"""The last period of a row counts for this much longer ones."""


def of_events(found: Quality) -> float | None:
    """The share of the trip's harsh events that are real, 0 to 1, interpolated; None: not measured."""
    row = MEASURED.get((found.harsh_source, found.speed_step))
    if row is None or not 0 < found.period_ms <= max(row) + _BEYOND_MS:
        return None
    for (before_ms, before), (after_ms, after) in itertools.pairwise(row.items()):
        if found.period_ms <= after_ms:
            part = max(found.period_ms - before_ms, 0) / (after_ms - before_ms)
            return before[found.column] + part * (after[found.column] - before[found.column])
    return row[max(row)][found.column]
