"""Percentiles of a group by badness, in at most 502 steps."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

STEPS: Final = 500
"""Steps of a large group. A step's width is 0.2 points at most, so percentiles are right to 0.1; a group with fewer
members has exact ones."""
LOWEST: Final = -1.0
"""Below every badness; the first step begins here."""


class Steps(NamedTuple):
    """The steps of a group: a list for each column, in the order of badness."""

    badness: list[float]
    percentile: list[float]
    """At exactly this badness."""
    above: list[float]
    """At any badness between this one and the next step's."""


def steps(badness: ArrayLike) -> Steps:
    """The steps of a group, by the badness of each member in any order. The group must have a member."""
    values, counts = np.unique(np.asarray(badness, np.float64), return_counts=True)
    up_to = np.cumsum(counts)
    below = up_to - counts
    group, most = int(up_to[-1]), int(up_to[-1]) // STEPS
    found = Steps([LOWEST], [100.0], [])
    at, passed = -1, 0
    while at < len(values) - 1:
        at = int(np.searchsorted(below, passed + most, side="right")) - 1
        found.above.append(_above(group, passed, int(below[at]) - passed))
        passed = int(up_to[at])
        found.badness.append(float(values[at]))
        found.percentile.append(100 * (group - passed + int(counts[at]) / 2) / group)
    found.above.append(_above(group, passed, 0))
    return found


def _above(group: int, passed: int, inside: int) -> float:
    """The percentile after a step: the middle of its members, or a newcomer's place if it has none."""
    worse = group - passed - inside / 2 if inside else min(group - passed, group - 1) + 0.5
    return 100 * worse / group
