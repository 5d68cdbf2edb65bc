"""From what was measured to gates, a page with plots, and JSON."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import jinja2

from evaluation import made, plots, speedless
from evaluation.cases import GATED, REPORTED, Case
from evaluation.measured import ALL, KINDS, OURS, PEERS, RULES
from evaluation.sampling import SAMPLINGS
from tripline.scoring.rules import Column

CLASSES: Final = tuple(column.name.lower() for column in Column)
THINNED_POINTS: Final = 3.0
SINGLE_POINTS: Final = 15.0
EXACT_POINTS: Final = 2.0
EXACT_SAMPLING: Final = "1 s"
"""Exact positions this close have to show harsh driving."""
CERTAIN: Final = 0.01
Rows = list[dict[str, Any]]


def gates(measured: Mapping[str, Rows]) -> Rows:
    """The gates: what each asks for, the figure, and whether it is met."""
    return [
        *_accuracy_gates(measured["accuracy"]),
        *_thinned_gates(measured["thinned"]),
        *_speedless_gates(measured["speedless"]),
        *_exact_gates(measured["exact"]),
        _dirty_gate(measured["dirty"]),
        _certainty_gate(measured["certain"]),
    ]


def _accuracy_gates(rows: Rows) -> Rows:
    found = []
    for case in GATED:
        for column, asked in case.asked.items():
            row = _row(rows, case, column)
            for which, gate in asked._asdict().items():
                figure, of = row[which] or 0.0, "found" if which == "precision" else "true"
                what = f"{which} of a {row['class']}: {case.name}"
                found.append(_gate(what, gate, figure, figure >= gate, f"{row[of]} {of}"))
    return found


def _thinned_gates(rows: Rows) -> Rows:
    found = []
    for column in CLASSES:
        means = thinned_means(rows, column)
        changes = {interval: abs(told["score"] - means[1]["score"]) for interval, told in means.items()}
        worst = max(changes, key=changes.__getitem__)
        what = f"mean score of thinned real drives, points off that at 1 s: {column}"
        found.append(_gate(what, THINNED_POINTS, changes[worst], changes[worst] <= THINNED_POINTS, f"at {worst} s"))
        row = max((row for row in rows if row["class"] == column), key=lambda row: row["off"])
        what = f"single thinned real drive, points off that at 1 s: {column}"
        where = f"{row['drive']} at {row['interval']} s"
        found.append(_gate(what, SINGLE_POINTS, row["off"], row["off"] <= SINGLE_POINTS, where))
    return found


def _speedless_gates(rows: Rows) -> Rows:
    found = []
    for column in CLASSES:
        own = _chosen(rows, column)
        known = _sum(own, "km") - _sum(own, "unknown")
        false, where = (
            _sum(own, "false"),
            f"{_sum(own, 'km'):,} km, {known:,} of them known, {_sum(own, 'events')} events",
        )
        found.append(_gate(f"false harsh events of real drives without speeds: {column}", 0, false, not false, where))
    return found


def _exact_gates(rows: Rows) -> Rows:
    found = []
    for driving, which in (("calm", "most"), ("usual", "mean")):
        for column in CLASSES:
            own = [row for row in _chosen(rows, column, driving=driving) if row["known"]]
            worst = max(own, key=lambda row: row[which])
            what = f"{which} of made {driving} drives without speeds, points off those with speeds: {column}"
            where = f"a sample each {worst['sampling']}, {worst['known']} drives"
            found.append(_gate(what, EXACT_POINTS, worst[which], worst[which] <= EXACT_POINTS, where))
    unknown = sum(row["drives"] - row["known"] for row in rows if row["sampling"] == EXACT_SAMPLING)
    what = f"made drives with exact positions each {EXACT_SAMPLING} whose harsh driving is unknown"
    return [*found, _gate(what, 0, unknown, not unknown, "")]


def _certainty_gate(rows: Rows) -> dict[str, Any]:
    """The table is rounded down and ends at 0.99."""
    worst = max(rows, key=lambda row: abs(min(row["measured"] or 0.0, 0.995) - row["table"]))
    off = abs(min(worst["measured"] or 0.0, 0.995) - worst["table"])
    what = "certainty of events in explanations, off the measured one"
    return _gate(what, CERTAIN, off, off <= CERTAIN, f"{worst['case']}, {worst['class']}, {worst['found']} found")


def _dirty_gate(rows: Rows) -> dict[str, Any]:
    wrong = [f"{row['case']} ({row['drives'] - row['right']})" for row in rows if row["right"] < row["drives"]]
    what = "faults whose drives are neither within 2 points of the clean ones nor rightly refused"
    return _gate(what, 0, len(wrong), not wrong, ", ".join(wrong))


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
        missed=[gate for gate in judged if not gate["holds"]],
        drives=drives,
        noise=[" ".join(each.split()).split("**") for each in (made.__doc__ or "").split("\n\n")[1:]],
        manoeuvres=_sum([_row(accuracy, GATED[0], column) for column in Column], "true"),
        classes=CLASSES,
        tables={"Gated": _table(accuracy, GATED), "Reported, without a gate": _table(accuracy, REPORTED)},
        accuracy_legend=plots.legend(["precision", "recall"]),
        plots={"Gated": _accuracy_plots(accuracy, GATED), "Reported": _accuracy_plots(accuracy, REPORTED)},
        gated=[case.name for case in GATED],
        single=_single(accuracy),
        peer_cases=[case.name for case in _with_peers()],
        peers=_peers(accuracy),
        thinned_legend=plots.legend(CLASSES),
        thinned_plots=_thinned_plots(measured["thinned"]),
        thinned=measured["thinned"],
        names=sorted({row["drive"] for row in measured["thinned"]}),
        samplings=list(SAMPLINGS),
        near={"miss": speedless.NEAR_MISS, "seconds": speedless.NEAR_S},
        speedless=[
            {"class": column, "noise": noise_m, "at": _chosen(measured["speedless"], column, noise=noise_m)}
            for column in CLASSES
            for noise_m in speedless.NOISE_M
        ],
        exact=[
            {"class": column, "driving": driving, "at": _chosen(measured["exact"], column, driving=driving)}
            for column in CLASSES
            for driving in ("calm", "usual")
        ],
        dirty_legend=plots.legend(["Tripline", "two thresholds"]),
        dirty_plot=plots.bars(
            "greatest change of a score, points",
            {row["case"]: (row["change"], row["peer"]) for row in measured["dirty"] if row["change"] is not None},
            most=100,
        ),
        farthest=max(row["off"] for row in measured["thinned"] if row["class"] == "car"),
        refused=[row for row in measured["dirty"] if row["refused"]],
        rules=RULES,
    )
    page.write_text(text, "utf-8")
    return page


def _gate(what: str, gate: float, found: float, holds: bool, where: str) -> dict[str, Any]:
    figure = f"{found:,}" if isinstance(found, int) else f"{found:.2f}"
    return {"what": what, "gate": gate, "found": found, "figure": figure, "holds": holds, "where": where}


def _row(rows: Rows, case: Case, column: Column, *, kind: str = ALL, judge: str = OURS) -> dict[str, Any]:
    """The figures of one case, class and kind."""
    wanted = (case.name, column.name.lower(), kind, judge)
    return next(row for row in rows if (row["case"], row["class"], row["kind"], row["judge"]) == wanted)


def _chosen(rows: Rows, column: str, **wanted: Any) -> Rows:
    return [row for row in rows if row["class"] == column and all(row[name] == each for name, each in wanted.items())]


def _table(rows: Rows, cases: Iterable[Case]) -> Rows:
    """For each case the figures of each class, beside what its gate asks for."""
    return [{"case": case.name, "at": [_cell(rows, case, column) for column in Column]} for case in cases]


def _cell(rows: Rows, case: Case, column: Column) -> dict[str, Any]:
    row, asked = _row(rows, case, column), case.asked.get(column)
    missed = asked is not None and any((row[which] or 0) < gate for which, gate in asked._asdict().items())
    return row | {"asked": asked, "missed": missed}


def _accuracy_plots(rows: Rows, cases: Iterable[Case]) -> list[str]:
    """Precision and recall of each case, a plot for each class."""
    found = []
    for column in Column:
        own = {case.name: _row(rows, case, column) for case in cases}
        figures = {name: (row["precision"] or 0.0, row["recall"] or 0.0) for name, row in own.items()}
        marks = {case.name: tuple(case.asked[column]) for case in cases if column in case.asked}
        found.append(plots.bars(column.name.lower(), figures, most=1, marks=marks))
    return found


def _single(rows: Rows) -> Rows:
    """Of each class and kind the figures of each gated case."""
    return [
        {
            "class": column.name.lower(),
            "kind": kind.name.lower(),
            "at": [_row(rows, case, column, kind=kind.name.lower()) for case in GATED],
        }
        for column in Column
        for kind in KINDS
    ]


def _with_peers() -> list[Case]:
    return [case for case in GATED + REPORTED if case.peers]


def _peers(rows: Rows) -> Rows:
    """Precision and recall over all kinds and classes, of each judge in each case that peers judge."""
    found = []
    for judge in (OURS, *PEERS):
        row: dict[str, Any] = {"judge": judge, "at": []}
        for case in _with_peers():
            own = [_row(rows, case, column, judge=judge) for column in Column]
            right = _sum(own, "right")
            row["at"].append((right / (_sum(own, "found") or 1), right / _sum(own, "true")))
        found.append(row)
    return found


def _sum(rows: Iterable[dict[str, Any]], name: str) -> int:
    return int(sum(row[name] for row in rows))


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
