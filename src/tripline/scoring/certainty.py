"""The certainty of a harsh event at a sampling period, as measured on synthetic drives (`docs/scoring.md`, 8).

Free of numpy, like `quality.py`. Not here: the measurement (`make evaluate`), or the share of real events that are
missed: at slow sampling that differs much between classes and kinds.
"""

import itertools
from typing import Final

MEASURED: Final = {1_000: 0.99, 2_000: 0.96, 3_000: 0.95, 4_000: 0.87}
"""Period, ms -> the share of events found by speed that are real: all kinds and classes together, for a receiver that
smooths over half a second. Rounded down."""
LONGEST_MS: Final = 4_500
"""Longest period that was measured."""


def at_period(period_ms: int) -> float | None:
    """The certainty at this mean interval between samples, 0 to 1, interpolated; None: not measured."""
    if not 0 < period_ms <= LONGEST_MS:
        return None
    for (before_ms, before), (after_ms, after) in itertools.pairwise(MEASURED.items()):
        if period_ms <= after_ms:
            return before + max(period_ms - before_ms, 0) / (after_ms - before_ms) * (after - before)
    return MEASURED[max(MEASURED)]
