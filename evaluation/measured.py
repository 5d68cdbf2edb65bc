"""The kernel's and the peers' events of made drives against the true ones.

Not here: real drives (`real.py`), drives without speeds (`speedless.py`).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from tests.support import made_drives

from evaluation import made, peer
from evaluation.cases import CERTAINTY, GATED, REPORTED, Case
from evaluation.made import Drive, Truths
from tripline.scoring import certainty, kernel, policy
from tripline.scoring.drives import Floats, Ints
from tripline.scoring.findings import Findings
from tripline.scoring.rules import Column, EventType, Rules
from tripline.scoring.score import NotScored, TripScore

KINDS: Final = tuple(made.TYPICAL)
ALL: Final = "all"
"""All kinds of events together."""
SLACK: Final = 1.5
"""An event counts as right up to so many intervals (of at least a second) outside its manoeuvre."""
EPOCH_S: Final = 1_735_689_600
RULES: Final = Rules()
FAR_S: Final = 1e6
"""Longer than any drive."""


class Events(NamedTuple):
    """Events of several drives; equally long arrays."""

    drive: Ints
    kind: Ints
    at_s: Floats


class Tally(NamedTuple):
    """How many events are right, how many there are, and how many there should be."""

    right: int
    found: int
    true: int


Judge = Callable[[list[Drive]], Events]


def harsh_events(found: Findings) -> Events:
    """The harsh events among the findings."""
    events = found.events
    harsh = events.type != EventType.OVERSPEED
    return Events(events.trip[harsh], events.type[harsh].astype(np.int64), events.time_ms[harsh] / 1_000 - EPOCH_S)


def by_program(drives: list[Drive]) -> Events:
    """The program's events."""
    return harsh_events(findings(drives))


def by_peer(drives: list[Drive], *, by_positions: bool = False) -> Events:
    """The peer's, by the device's speeds or by differences of positions."""
    rows = [
        (number, kind, at_s)
        for number, drive in enumerate(drives)
        for kind, at_s in peer.events(drive, by_positions=by_positions)
    ]
    drive, kind, at_s = np.array(rows).reshape(-1, 3).T
    return Events(drive.astype(np.int64), kind.astype(np.int64), at_s)


OURS: Final = "Tripline"
PEERS: Final[dict[str, Judge]] = {
    "two thresholds": by_peer,
    "two thresholds, speed from positions": partial(by_peer, by_positions=True),
}


def findings(drives: Iterable[Drive], rules: Rules = RULES) -> Findings:
    """What the kernel finds in these drives."""
    plain = [{name: column for name, column in drive.items() if name != "metres"} for drive in drives]
    return kernel.findings(made_drives.drives(*plain), rules)


def accuracy(count: int, cases: Iterable[Case] = GATED + REPORTED) -> list[dict[str, Any]]:
    """Precision and recall by case, class, judge and kind, on so many drives of each class."""
    rows = []
    for case in cases:
        receiver = case.receiver
        slack_s = SLACK * max(receiver.interval_s, 1) + receiver.smoothing_s[1]
        judges: dict[str, Judge] = {OURS: by_program} | (PEERS if case.peers else {})
        for column in Column:
            pairs = [made.drive(seed, column, receiver, case.manner) for seed in range(count)]
            drives = [case.fault(drive) if case.fault else drive for drive, _ in pairs]
            for name, judge in judges.items():
                counted = tallies(judge(drives), [truths for _, truths in pairs], slack_s=slack_s)
                rows += [
                    {
                        "case": case.name,
                        "class": column.name.lower(),
                        "judge": name,
                        "interval": receiver.interval_s,
                        "step": receiver.step_kmh,
                        "kind": kind,
                        **tally._asdict(),
                        "precision": tally.right / tally.found if tally.found else None,
                        "recall": tally.right / tally.true if tally.true else None,
                    }
                    for kind, tally in counted.items()
                ]
    return rows


def certain(count: int) -> list[dict[str, Any]]:
    """The share of events that are real in each cell of the table of certainty, measured and as the table has it."""
    rows = {(row["case"], row["class"]): row for row in accuracy(count, CERTAINTY.values()) if row["kind"] == ALL}
    return [
        {
            "case": case.name,
            "class": column.name.lower(),
            "found": row["found"],
            "measured": row["precision"],
            "table": certainty.MEASURED[source, step][round(seconds * 1_000)][column],
        }
        for (source, step, seconds), case in CERTAINTY.items()
        for column in Column
        for row in [rows[case.name, column.name.lower()]]
    ]


def tallies(events: Events, truths: Sequence[Truths], *, slack_s: float) -> dict[str, Tally]:
    """The tally of each kind and of all. An event is right once, within its manoeuvre and the slack."""
    at = events.drive * FAR_S + events.at_s
    begin, end = (
        np.concatenate([number * FAR_S + times for number, times in enumerate(each)])
        for each in ([true.begin_s - slack_s for true in truths], [true.end_s + slack_s for true in truths])
    )
    kinds = np.concatenate([true.kind for true in truths])
    counted = {}
    for kind in KINDS:
        own, mine = at[events.kind == kind], kinds == kind
        near = np.searchsorted(begin[mine], own, side="right") - 1
        inside = (near >= 0) & (own <= np.append(end[mine], -np.inf)[near])
        counted[kind.name.lower()] = Tally(np.unique(near[inside]).size, own.size, int(mine.sum()))
    return counted | {ALL: Tally(*np.sum(list(counted.values()), axis=0).tolist())}


def verdict(drive: Drive, rules: Rules = RULES) -> TripScore | NotScored:
    """The program's verdict on a drive."""
    return policy.judged(findings([drive], rules), rules)[0]
