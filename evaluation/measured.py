"""The measurements: events of made drives, and scores of real drives thinned, without speeds, and made dirty."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec.structs import replace
from tests.support import box_dirt, dirty, made_drives

import tripline.simulator
from evaluation import made, peer
from evaluation.cases import GATED, REPORTED, Case
from evaluation.made import Drive, Truths
from tripline.scoring import kernel, policy
from tripline.scoring.drives import Floats, Ints
from tripline.scoring.findings import Findings
from tripline.scoring.rules import Column, EventType, Harsh, Rules
from tripline.scoring.score import NotScored, TripScore

KINDS: Final = tuple(made.TYPICAL)
ALL: Final = "all"
"""All kinds of events together."""
SLACK: Final = 1.5
"""An event counts as right up to so many intervals (of at least a second) outside its manoeuvre."""
EPOCH_S: Final = 1_735_689_600
REAL: Final = Path(tripline.simulator.__file__).parent / "drives"
RULES: Final = Rules()
SPEEDLESS_NOISE_M: Final = (0.0, 1.0, 3.0, 5.0)
"""White noise added to the positions of real drives without speeds."""
NEAR_MISS: Final = 0.7
NEAR_S: Final = 10.0
"""An event without speeds is false if no speed changes by `NEAR_MISS` thresholds within so many seconds."""
EXACT: Final = made.Receiver(step_kmh=0.1, noise_kmh=0, smoothing_s=(0, 0), noise_m=0)
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


@cache
def recordings() -> dict[str, Drive]:
    """The real drives, by name; times begin at 0."""
    drives = {}
    for file in sorted(REAL.glob("*.csv")):
        t_ms, lat, lon, speed = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=(0, 1, 2, 3)).T
        drives[file.stem] = {"t": (t_ms - t_ms[0]) / 1_000, "lat": lat, "lon": lon, "speed": speed}
    return drives


def verdict(drive: Drive, rules: Rules = RULES) -> TripScore | NotScored:
    """The program's verdict on a drive."""
    return policy.judged(findings([drive], rules), rules)[0]


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
                parts = _every(step)(whole)
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


def speedless() -> list[dict[str, Any]]:
    """False harsh events of the real drives without speeds, by class, added noise of positions, and sampling."""
    near_misses = replace(RULES, harsh=replace(RULES.harsh, **_scaled(RULES.harsh, NEAR_MISS)))
    rows = []
    for column in Column:
        drives = [{**drive, "column": column} for drive in recordings().values()]
        known = [harsh_events(findings([drive], near_misses)).at_s for drive in drives]
        for noise_m in SPEEDLESS_NOISE_M:
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
                        "events": len(near),
                        "false": sum(bool(each > NEAR_S) for each in near),
                    }
                )
    return rows


def _scaled(table: Harsh, factor: float) -> dict[str, tuple[float, ...]]:
    """All thresholds, multiplied."""
    values = {name: getattr(table, name) for name in table.__struct_fields__}
    return {name: tuple(factor * each for each in row) for name, row in values.items() if isinstance(row, tuple)}


def exact(count: int) -> list[dict[str, Any]]:
    """How far scores by exact positions alone are from those by speeds, on so many made drives of each class."""
    rows = []
    for manner, driving in ((made.Manner(harsh_share=0), "calm"), (made.USUAL, "usual")):
        for column in Column:
            drives = [made.drive(seed, column, EXACT, manner)[0] for seed in range(count)]
            for name, picked in SAMPLINGS.items():
                parts = [part for drive in drives for part in picked(drive)]
                verdicts = [policy.judged(findings(each), RULES) for each in (parts, map(dirty.no_speed, parts))]
                off = [
                    abs(bare.score - full.score) if isinstance(bare, TripScore) else 100.0
                    for full, bare in zip(*verdicts, strict=True)
                    if isinstance(full, TripScore)
                ]
                rows.append(
                    {
                        "class": column.name.lower(),
                        "driving": driving,
                        "sampling": name,
                        "drives": len(off),
                        "mean": float(np.mean(off)),
                        "most": max(off),
                    }
                )
    return rows


def _uneven(drive: Drive) -> list[Drive]:
    """Samples 1, 2 or 5 apart."""
    at = np.cumsum(np.random.default_rng(4).choice([1, 2, 5], drive["t"].size))
    return [dirty.rows_of(drive, at[at < drive["t"].size])]


def _every(step: int) -> Callable[[Drive], list[Drive]]:
    """Every so many samples, from each of the first ones on."""
    return lambda drive: [dirty.rows_of(drive, slice(first, None, step)) for first in range(step)]


SAMPLINGS: Final[dict[str, Callable[[Drive], list[Drive]]]] = {
    "1 s": _every(1),
    "2 s": _every(2),
    "3 s": _every(3),
    "4 s": _every(4),
    "1, 2 or 5 s": _uneven,
}
"""From a drive with a sample a second to one or several with fewer."""


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


FAULTS: Final = {name: box_dirt.Kind(fault) for name, fault in dirty.SAME.items()} | {
    name: kind for name, kind in box_dirt.KINDS.items() if not kind.wire
}
"""Faults of devices, and how the drives are to be judged."""
