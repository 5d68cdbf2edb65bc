"""What is measured: precision and recall on made drives, real drives thinned, real drives made dirty."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from tests.support import dirty, made_drives

import tripline.simulator
from evaluation import made, peer
from evaluation.made import Drive, Truth
from tripline.scoring import kernel, policy
from tripline.scoring.findings import Findings
from tripline.scoring.rules import Column, EventType, Rules
from tripline.scoring.score import NotScored, TripScore

HARSH: Final = (EventType.START, EventType.ACCELERATION, EventType.DECELERATION, EventType.STOP)
SMOOTHING_S: Final = (0.0, 0.5, 1.0)
INTERVALS_S: Final = (1.0, 2.0, 3.0, 4.0)
LONG_S: Final = 2.5
"""Shorter manoeuvres cannot be seen at one sample in two seconds."""
SLACK: Final = 1.5
"""An event counts as right up to so many intervals outside its manoeuvre."""
EPOCH_S: Final = 1_735_689_600
REAL: Final = Path(tripline.simulator.__file__).parent / "drives"
RULES: Final = Rules()

Event = tuple[EventType, float]
Judge = Callable[[list[Drive]], list[list[Event]]]
"""From drives to the events of each."""


def by_program(drives: list[Drive]) -> list[list[Event]]:
    """The program's events."""
    found = findings(drives).events
    events: list[list[Event]] = [[] for _ in drives]
    for trip, kind, at_ms in zip(found.trip.tolist(), found.type.tolist(), found.time_ms.tolist(), strict=True):
        events[trip].append((EventType(kind), at_ms / 1_000 - EPOCH_S))
    return events


def by_peer(drives: list[Drive]) -> list[list[Event]]:
    """The peer's, by the device's speeds."""
    return [peer.events(each) for each in drives]


def by_positions(drives: list[Drive]) -> list[list[Event]]:
    """The peer's, by differences of positions."""
    return [peer.events(each, by_positions=True) for each in drives]


JUDGES: Final[dict[str, Judge]] = {
    "Tripline": by_program,
    "two thresholds": by_peer,
    "two thresholds, speed from positions": by_positions,
}


def findings(drives: Iterable[Drive]) -> Findings:
    """What the kernel finds in these drives."""
    plain = [{name: column for name, column in drive.items() if name != "metres"} for drive in drives]
    return kernel.findings(made_drives.drives(*plain), RULES)


def accuracy(count: int) -> list[dict[str, Any]]:
    """Precision and recall by judge, class, smoothing, interval and kind, on so many drives of each class.

    `long`: the same of manoeuvres that last `LONG_S` and more; shorter ones are neither asked for nor counted as wrong.
    """
    rows = []
    for column in Column:
        for smoothing_s in SMOOTHING_S:
            for interval_s in INTERVALS_S:
                drives, truths = zip(
                    *(
                        made.drive(seed, column, smoothing_s=smoothing_s, interval_s=interval_s)
                        for seed in range(count)
                    ),
                    strict=True,
                )
                for name, judge in JUDGES.items():
                    events = judge(list(drives))
                    for long in (False, True):
                        told = tallies(events, truths, slack_s=SLACK * interval_s + smoothing_s, long=long)
                        rows += [
                            {
                                "judge": name,
                                "class": column.name.lower(),
                                "smoothing": smoothing_s,
                                "interval": interval_s,
                                "long": long,
                                "kind": kind.name.lower(),
                                "true": true,
                                "found": found,
                                "precision": both / found if found else None,
                                "recall": both / true if true else None,
                            }
                            for kind, (both, found, true) in told.items()
                        ]
    return rows


def tallies(
    events: Iterable[list[Event]], truths: Iterable[list[Truth]], *, slack_s: float, long: bool
) -> dict[EventType, tuple[int, int, int]]:
    """For each kind: (found and true, found, true). An event is right once, within its manoeuvre and the slack."""
    counts = {kind: [0, 0, 0] for kind in HARSH}
    for found, true in zip(events, truths, strict=True):
        left = list(true)
        asked = [each for each in true if not long or each.end_s - each.begin_s >= LONG_S]
        for each in asked:
            counts[each.kind][2] += 1
        for kind, at_s in found:
            if kind not in counts:
                continue
            near = [x for x in left if x.kind is kind and x.begin_s - slack_s <= at_s <= x.end_s + slack_s]
            if near and near[0] not in asked:
                left.remove(near[0])
                continue
            counts[kind][1] += 1
            if near:
                left.remove(near[0])
                counts[kind][0] += 1
    return {kind: (both, found, true) for kind, (both, found, true) in counts.items()}


@cache
def recordings() -> dict[str, Drive]:
    """The real drives, by name; times begin at 0."""
    drives = {}
    for file in sorted(REAL.glob("*.csv")):
        t_ms, lat, lon, speed = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=(0, 1, 2, 3)).T
        drives[file.stem] = {"t": (t_ms - t_ms[0]) / 1_000, "lat": lat, "lon": lon, "speed": speed}
    return drives


def verdict(drive: Drive) -> TripScore | NotScored:
    """The program's verdict on a drive."""
    return policy.judged(findings([drive]), RULES)[0]


def scored_recordings() -> dict[str, tuple[Drive, TripScore]]:
    """The real drives that have a score, with it."""
    judged = {name: (drive, verdict(drive)) for name, drive in recordings().items()}
    return {name: (drive, told) for name, (drive, told) in judged.items() if isinstance(told, TripScore)}


def thinned() -> list[dict[str, Any]]:
    """Score and number of harsh events of each real drive at every sample, and at every second, third, fourth one.

    A drive thinned to n seconds is judged n times, each time beginning at another sample; the mean counts.
    """
    rows = []
    for name, (drive, full) in scored_recordings().items():
        for column in Column:
            whole = {**drive, "column": column}
            for step in (1, 2, 3, 4):
                parts = [_from(whole, first, step) for first in range(step)]
                told = [each for each in map(verdict, parts) if isinstance(each, TripScore)]
                naive = [peer.score(each) for each in parts]
                rows.append(
                    {
                        "drive": name,
                        "class": column.name.lower(),
                        "interval": step,
                        "km": round(full.distance_m / 1_000, 1),
                        "score": float(np.mean([each.score for each in told])),
                        "events": float(np.mean([each.accel + each.de_accel for each in told])),
                        "judged": len(told) / step,
                        "peer": float(np.mean(naive)),
                    }
                )
    return rows


def _from(drive: Drive, first: int, step: int) -> Drive:
    return {name: column[first::step] if np.ndim(column) else column for name, column in drive.items()}


def dirtied() -> list[dict[str, Any]]:
    """Each fault done to each real drive: the greatest change of the score, or how often it was refused and why."""
    rows = []
    clean = {
        name: ({**drive, "metres": full.distance_m}, full, peer.score(drive))
        for name, (drive, full) in scored_recordings().items()
    }
    for refused, cases in ((False, dirty.SAME), (True, dirty.REFUSED)):
        for case, fault in cases.items():
            told = [(verdict(fault(drive)), full) for drive, full, _ in clean.values()]
            reasons = [each.value for each, _ in told if isinstance(each, NotScored)]
            changes = [abs(each.score - full.score) for each, full in told if isinstance(each, TripScore)]
            naive = [abs(peer.score(fault(drive)) - before) for drive, _, before in clean.values()]
            rows.append(
                {
                    "case": case,
                    "drives": len(told),
                    "refuse": refused,
                    "refused": len(reasons),
                    "reasons": sorted(set(reasons)),
                    "change": max(changes, default=None),
                    "peer": max(naive),
                }
            )
    return rows
