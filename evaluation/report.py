"""From what was measured to gates, a page with plots, and JSON."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import jinja2

from evaluation import made, plots
from evaluation.measured import HARSH, INTERVALS_S, JUDGES, LONG_S, RULES, SMOOTHING_S

KINDS: Final = tuple(kind.name.lower() for kind in HARSH)
CLASSES: Final = ("car", "bus", "truck")
OURS: Final = next(iter(JUDGES))
AT_1_S: Final = 0.9
AT_2_S: Final = {"precision": 0.75, "recall": 0.65}
THINNED_POINTS: Final = 3.0
DIRTY_POINTS: Final = 2.0
ASKED: Final = tuple((interval, long, each) for interval, long in ((1.0, False), (2.0, True)) for each in (0.0, 0.5))
"""Interval, whether manoeuvres of `LONG_S` and more alone count, smoothing: what the gates ask for."""
Rows = list[dict[str, Any]]


def gates(measured: Mapping[str, Rows]) -> Rows:
    """What has to hold, the worst that was measured, and whether it holds."""
    found = [
        _least(measured["accuracy"], "at 1 s, smoothing up to 0.5 s", AT_1_S, which, interval=1.0, long=False)
        for which in ("precision", "recall")
    ]
    found += [
        _least(
            measured["accuracy"],
            f"at 2 s, manoeuvres of {LONG_S} s and more, smoothing up to 0.5 s",
            gate,
            which,
            interval=2.0,
            long=True,
        )
        for which, gate in AT_2_S.items()
    ]
    for interval in INTERVALS_S[1:]:
        changes = {column: _thinned_change(measured["thinned"], column, interval) for column in CLASSES}
        worst_class = max(CLASSES, key=changes.__getitem__)
        what = f"mean score of real drives thinned to {interval:g} s, points off that at 1 s"
        change = changes[worst_class]
        found.append(_gate(what, THINNED_POINTS, change, change <= THINNED_POINTS, f"thresholds of a {worst_class}"))
    kept = [row for row in measured["dirty"] if not row["refuse"]]
    worst = max(kept, key=lambda row: 100.0 if row["refused"] else row["change"])
    holds = not worst["refused"] and worst["change"] <= DIRTY_POINTS
    found.append(
        _gate(
            "dirty drives that are scored, points off the clean one",
            DIRTY_POINTS,
            worst["change"],
            holds,
            worst["case"],
        )
    )
    refused = [row for row in measured["dirty"] if row["refuse"]]
    wrong = [
        row["case"] for row in refused if row["reasons"] != ["speed_implausible"] or row["refused"] < row["drives"]
    ]
    found.append(_gate("speeds in another unit are refused, cases missed", 0, len(wrong), not wrong, ", ".join(wrong)))
    return found


def thinned_means(rows: Rows, column: str) -> dict[int, dict[str, float]]:
    """For each interval the mean score, the mean number of events and the peer's mean score over the drives."""
    sums: dict[int, Rows] = defaultdict(list)
    for row in rows:
        if row["class"] == column:
            sums[row["interval"]].append(row)
    return {
        interval: {name: sum(row[name] for row in own) / len(own) for name in ("score", "events", "peer")}
        for interval, own in sums.items()
    }


def _thinned_change(rows: Rows, column: str, interval: float) -> float:
    means = thinned_means(rows, column)
    return abs(means[round(interval)]["score"] - means[1]["score"])


def _farthest(rows: Rows) -> float:
    """How far the score of a single drive is from that at 1 s, at most, by the thresholds of a car."""
    scores = {(row["drive"], row["interval"]): row["score"] for row in rows if row["class"] == "car"}
    return max(abs(score - scores[name, 1]) for (name, _), score in scores.items())


def written(measured: Mapping[str, Rows], folder: Path, *, drives: int) -> Path:
    """Write `report.json` and `index.html`; the page."""
    folder.mkdir(parents=True, exist_ok=True)
    judged = gates(measured)
    facts = {"drives": drives, "gates": judged, **measured}
    (folder / "report.json").write_text(json.dumps(facts, indent=1), "utf-8")
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        (Path(__file__).parent / "report.html").read_text("utf-8")
    )
    page = folder / "index.html"
    accuracy = measured["accuracy"]
    text = template.render(
        gates=judged,
        drives=drives,
        noise=[" ".join(each.split()).split("**") for each in (made.__doc__ or "").split("\n\n")[1:]],
        manoeuvres=sum(row["true"] for row in _chosen(accuracy, judge=OURS, interval=1.0, smoothing=0.5, long=False)),
        accuracy_legend=plots.legend([f"smoothing {each:g} s" for each in SMOOTHING_S]),
        accuracy_plots=_accuracy_plots(accuracy),
        asked=[f"{interval:g} s, smoothing {smoothing:g} s" for interval, _, smoothing in ASKED],
        single=_single(accuracy),
        peers=_peers(accuracy),
        thinned_legend=plots.legend(CLASSES),
        thinned_plots=_thinned_plots(measured["thinned"]),
        thinned=measured["thinned"],
        names=sorted({row["drive"] for row in measured["thinned"]}),
        dirty_legend=plots.legend(["Tripline", "two thresholds"]),
        dirty_plot=plots.bars(
            "greatest change of a score, points",
            {row["case"]: (row["change"], row["peer"]) for row in measured["dirty"] if not row["refuse"]},
            most=100,
        ),
        farthest=_farthest(measured["thinned"]),
        refused=[row for row in measured["dirty"] if row["refuse"]],
        rules=RULES,
        long=LONG_S,
    )
    page.write_text(text, "utf-8")
    return page


def _gate(what: str, gate: float, found: float, holds: bool, where: str) -> dict[str, Any]:
    return {"what": what, "gate": gate, "found": found, "holds": holds, "where": where}


def _least(rows: Rows, what: str, gate: float, which: str, **wanted: Any) -> dict[str, Any]:
    """The least precision or recall of the program for any kind, class and smoothing up to 0.5 s."""
    asked = [row for row in _chosen(rows, judge=OURS, **wanted) if row["smoothing"] <= 0.5 and row[which] is not None]
    worst = min(asked, key=lambda row: row[which])
    where = f"{worst['kind']}, {worst['class']}, smoothing {worst['smoothing']:g} s, {worst['true']} true"
    return _gate(f"least {which} of any kind and class {what}", gate, worst[which], worst[which] >= gate, where)


def _chosen(rows: Rows, **wanted: Any) -> Rows:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _accuracy_plots(rows: Rows) -> list[tuple[str, list[str]]]:
    """For each class the plots of each kind: precision above recall."""
    found = []
    for column in CLASSES:
        drawn = []
        for which in ("precision", "recall"):
            for kind in KINDS:
                series = {
                    f"{smoothing}": [
                        (row["interval"], row[which])
                        for row in _chosen(
                            rows, judge=OURS, kind=kind, smoothing=smoothing, long=False, **{"class": column}
                        )
                        if row[which] is not None
                    ]
                    for smoothing in SMOOTHING_S
                }
                drawn.append(plots.lines(f"{kind}: {which}", series, x="seconds a sample", y=(0, 1), gate=AT_1_S))
        found.append((column, drawn))
    return found


def _single(rows: Rows) -> Rows:
    """Precision, recall and how many were true of each class and kind, where the gates ask for them."""
    return [
        {
            "class": column,
            "kind": kind,
            "at": [
                row
                for interval, long, smoothing in ASKED
                for row in _chosen(
                    rows,
                    judge=OURS,
                    kind=kind,
                    interval=interval,
                    long=long,
                    smoothing=smoothing,
                    **{"class": column},
                )
            ],
        }
        for column in CLASSES
        for kind in KINDS
    ]


def _peers(rows: Rows) -> Rows:
    """Precision and recall over all kinds and classes, of each judge at each interval, smoothing 0.5 s."""
    found = []
    for judge in JUDGES:
        row: dict[str, Any] = {"judge": judge, "at": []}
        for interval in INTERVALS_S:
            own = _chosen(rows, judge=judge, interval=interval, smoothing=0.5, long=False)
            both = sum((each["precision"] or 0) * each["found"] for each in own)
            row["at"].append((both / (_sum(own, "found") or 1), both / _sum(own, "true")))
        found.append(row)
    return found


def _sum(rows: Iterable[dict[str, Any]], name: str) -> float:
    return float(sum(row[name] for row in rows))


def _thinned_plots(rows: Rows) -> list[str]:
    means = {column: thinned_means(rows, column) for column in CLASSES}
    scores = {column: [(at, each["score"]) for at, each in told.items()] for column, told in means.items()}
    events = {
        column: [(at, each["events"] / (told[1]["events"] or 1)) for at, each in told.items()]
        for column, told in means.items()
    }
    naive = {column: [(at, each["peer"]) for at, each in told.items()] for column, told in means.items()}
    return [
        plots.lines("mean score", scores, x="seconds a sample", y=(0, 100)),
        plots.lines("harsh events, against 1 s", events, x="seconds a sample", y=(0, 2)),
        plots.lines("mean score, two thresholds", naive, x="seconds a sample", y=(0, 100)),
    ]
