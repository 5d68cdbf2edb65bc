"""Samples without a fix: the receiver repeats its last position with speed 0 until it has one again.

Taken as driven, each loss would cost a harsh stop and a harsh start. Not here: positions that stay while the speed goes
on (`distances.py`).
"""

import numpy as np

from tripline.scoring.drives import Drives, Ints, Singles, ranges
from tripline.scoring.rules import Rules


def lost(drives: Drives, steps: Singles, intervals_ms: Ints, rules: Rules) -> Ints:
    """The samples with speed 0 at one position, up to a step that is longer than a start from standing reaches.

    `steps`, `intervals_ms`: from each sample to the next; steps between trips are 0.
    """
    still = drives.speed_kmh == 0
    last = np.flatnonzero(still[:-1] > still[1:])
    far = steps[last] > rules.guards.step_margin_mps * intervals_ms[last] / 1_000 + rules.guards.step_slack_m
    last = last[far & (intervals_ms[last] <= rules.harsh.rate_max_ms)]
    if not last.size:
        return last
    begins = drives.starts[drives.at(last)]
    same = np.append(False, steps == 0)
    same[begins] = False
    last = last[same[last] | (last == begins)]
    before = np.flatnonzero(~(same & still))
    before = before[np.searchsorted(before, last, side="right") - 1]
    return ranges(np.where(still[before], before, before + 1), last)
