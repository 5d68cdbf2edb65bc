"""Scores of real drives: thinned, and made dirty.

Not here: real drives without speeds (`speedless.py`).
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec.structs import replace
from tests.support import box_dirt, dirty

import tripline.simulator
from evaluation import peer
from evaluation.made import Drive
from evaluation.measured import RULES, verdict
from evaluation.sampling import every
from tripline.scoring.rules import Column
from tripline.scoring.score import TripScore

FOLDER: Final = Path(tripline.simulator.__file__).parent / "drives"
FAULTS: Final = {name: box_dirt.Kind(fault) for name, fault in dirty.SAME.items()} | {
    name: kind for name, kind in box_dirt.KINDS.items() if not kind.wire
}
"""Faults of devices, and how the drives are to be judged."""


@cache
def recordings() -> dict[str, Drive]:
    """The real drives, by name; times begin at 0."""
    drives = {}
    for file in sorted(FOLDER.glob("*.csv")):
        t_ms, lat, lon, speed = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=(0, 1, 2, 3)).T
        drives[file.stem] = {"t": (t_ms - t_ms[0]) / 1_000, "lat": lat, "lon": lon, "speed": speed}
    return drives


def scored_recordings() -> dict[str, tuple[Drive, TripScore]]:
    """The real drives that have a score, with it."""
    judged = {name: (drive, verdict(drive)) for name, drive in recordings().items()}
    return {name: (drive, told) for name, (drive, told) in judged.items() if isinstance(told, TripScore)}


def thinned() -> list[dict[str, Any]]:
    """Score and number of harsh events of each real drive at every sample, and at every second, third, fourth one.

    A drive thinned to n seconds is judged n times, each time beginning at another sample: `score` is the mean, `off`
    the greatest difference of one of them from the score at every sample.
    """
    rows = []
    for name, (drive, full) in scored_recordings().items():
        for column in Column:
            whole = {**drive, "column": column}
            for step in (1, 2, 3, 4):
                parts = every(step)(whole)
                told = [each for each in map(verdict, parts) if isinstance(each, TripScore)]
                if step == 1:
                    base = told[0].score
                naive = [peer.score(each) for each in parts]
                rows.append(
                    {
                        "drive": name,
                        "class": column.name.lower(),
                        "interval": step,
                        "km": round(full.distance_m / 1_000, 1),
                        "score": float(np.mean([each.score for each in told])),
                        "off": max(abs(each.score - base) for each in told),
                        "events": float(np.mean([each.accel + each.de_accel for each in told])),
                        "judged": len(told) / step,
                        "peer": float(np.mean(naive)),
                    }
                )
    return rows


def dirtied() -> list[dict[str, Any]]:
    """Each fault done to each real drive: how many are judged rightly, the greatest change of the score, refusals."""
    rows = []
    unharsh = replace(RULES, scoring=replace(RULES.scoring, harsh_weight=0))
    clean = [
        ({**drive, "metres": full.distance_m}, full.score, verdict(drive, unharsh).score, peer.score(drive))
        for drive, full in scored_recordings().values()
    ]
    for name, kind in FAULTS.items():
        right, changes, reasons, naive = 0, [], [], []
        for drive, score, without, by_peer in clean:
            faulty = kind.make(drive)
            found = verdict(faulty)
            naive.append(abs(peer.score(faulty) - by_peer))
            if isinstance(found, TripScore):
                changes.append(abs(found.score - score))
                right += kind.permits(None, found.score, clean=score, unharsh=without)
            else:
                reasons.append(found.value)
                right += kind.permits(found.value, None, clean=score, unharsh=without)
        rows.append(
            {
                "case": name,
                "drives": len(clean),
                "right": right,
                "refused": len(reasons),
                "reasons": sorted(set(reasons)),
                "change": max(changes, default=None),
                "peer": max(naive),
            }
        )
    return rows
