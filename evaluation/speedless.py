"""Drives without speeds: false harsh events of real ones, and scores of made ones with exact positions."""

import itertools
from typing import Any, Final

import numpy as np
from msgspec.structs import replace
from tests.support import dirty

from evaluation import made
from evaluation.measured import FAR_S, RULES, findings, harsh_events
from evaluation.real import recordings
from evaluation.sampling import SAMPLINGS
from tripline.scoring import policy
from tripline.scoring.drives import Flags
from tripline.scoring.findings import Findings
from tripline.scoring.quality import HarshSource
from tripline.scoring.rules import Column, Harsh
from tripline.scoring.score import TripScore

NOISE_M: Final = (0.0, 1.0, 3.0, 5.0)
"""White noise added to the positions of real drives without speeds."""
NEAR_MISS: Final = 0.7
NEAR_S: Final = 10.0
"""An event without speeds is false if no speed changes by `NEAR_MISS` thresholds within so many seconds."""
EXACT: Final = made.Receiver(step_kmh=0.1, noise_kmh=0, smoothing_s=(0, 0), noise_m=0)


def false_events() -> list[dict[str, Any]]:
    """False harsh events of the real drives without speeds, by class, added noise of positions, and sampling.

    `unknown`: the km of trips whose harsh driving is unknown.
    """
    near_misses = replace(RULES, harsh=replace(RULES.harsh, **_scaled(RULES.harsh, NEAR_MISS)))
    rows = []
    for column in Column:
        drives = [{**drive, "column": column} for drive in recordings().values()]
        known = [harsh_events(findings([drive], near_misses)).at_s for drive in drives]
        for noise_m in NOISE_M:
            for name, picked in SAMPLINGS.items():
                parts = [picked(dirty.noise(dirty.no_speed(drive), noise_m)) for drive in drives]
                of_parts = [times for times, own in zip(known, parts, strict=True) for _ in own]
                found = findings(itertools.chain(*parts))
                events = harsh_events(found)
                near = [np.abs(of_parts[trip] - at_s).min(initial=FAR_S) for trip, _, at_s in zip(*events, strict=True)]
                rows.append(
                    {
                        "class": column.name.lower(),
                        "noise": noise_m,
                        "sampling": name,
                        "km": float(found.distance_m.sum()) / 1_000,
                        "unknown": float(found.distance_m[~_known(found)].sum()) / 1_000,
                        "events": len(near),
                        "false": sum(bool(each > NEAR_S) for each in near),
                    }
                )
    return rows


def _scaled(table: Harsh, factor: float) -> dict[str, tuple[float, ...]]:
    """All thresholds, multiplied."""
    values = {name: getattr(table, name) for name in table.__struct_fields__}
    return {name: tuple(factor * each for each in row) for name, row in values.items() if isinstance(row, tuple)}


def _known(found: Findings) -> Flags:
    """True for the trips whose harsh driving is known from positions."""
    known: Flags = found.harsh_source == HarshSource.POSITIONS
    return known


def exact(count: int) -> list[dict[str, Any]]:
    """How far scores by exact positions alone are from those by speeds, on so many made drives of each class.

    `known`: the drives whose harsh driving is known; `mean` and `most` are of these, None without one.
    """
    rows = []
    for manner, driving in ((made.Manner(harsh_share=0), "calm"), (made.USUAL, "usual")):
        for column in Column:
            drives = [made.drive(seed, column, EXACT, manner)[0] for seed in range(count)]
            for name, picked in SAMPLINGS.items():
                parts = [part for drive in drives for part in picked(drive)]
                full, bare = findings(parts), findings(map(dirty.no_speed, parts))
                known = _known(bare)
                off = [
                    abs(by_positions.score - by_speeds.score) if isinstance(by_positions, TripScore) else 100.0
                    for by_speeds, by_positions, shown in zip(
                        policy.judged(full, RULES), policy.judged(bare, RULES), known.tolist(), strict=True
                    )
                    if shown and isinstance(by_speeds, TripScore)
                ]
                rows.append(
                    {
                        "class": column.name.lower(),
                        "driving": driving,
                        "sampling": name,
                        "drives": len(parts),
                        "known": int(known.sum()),
                        "mean": float(np.mean(off)) if off else None,
                        "most": max(off, default=None),
                    }
                )
    return rows
