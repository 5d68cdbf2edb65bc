"""The report on how right the scores are: its gates, its page, its exit code."""

import html
import json

import pytest
from evaluation import __main__ as evaluate
from evaluation import cases, measured, real, report, speedless
from tests.support import dirty

from tripline.scoring import certainty


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A whole report on few drives, and what the command said."""
    folder = tmp_path_factory.mktemp("evaluation")
    found = {
        "accuracy": measured.accuracy(2),
        "thinned": real.thinned(),
        "speedless": speedless.false_events(),
        "exact": speedless.exact(1),
        "dirty": real.dirtied(),
        "certain": measured.certain(2),
    }
    return found, report.written(found, folder, drives=2)


def test_report_has_every_gate_table_and_plot(small):
    _, page = small
    text = page.read_text("utf-8")
    facts = json.loads((page.parent / "report.json").read_text("utf-8"))

    assert len(facts["gates"]) == 5 * 3 * 2 + 3 * 2 + 3 + 2 * 3 + 1 + 2
    assert text.count("<svg") == 2 * 3 + 3 + 1
    assert all(gate["what"] in text for gate in facts["gates"])
    assert all(f"<td>{html.escape(case.name)}</td>" in text for case in cases.GATED + cases.REPORTED)
    assert {row["kind"] for row in facts["accuracy"]} == {"start", "acceleration", "deceleration", "stop", "all"}
    assert "http" not in text


def test_gated_cell_below_its_gate_is_marked(small, tmp_path):
    found, _ = small
    worse = [
        row | {"recall": 0.5} if (row["case"], row["kind"]) == ("1 s", "all") else row for row in found["accuracy"]
    ]

    text = report.written({**found, "accuracy": worse}, tmp_path, drives=2).read_text("utf-8")

    assert text.count('<td class="missed">') >= 3
    assert "<li>recall of a truck: 1 s: 0.50, gate 0.88</li>" in text


def test_certainty_in_explanations_is_the_measured_one(small):
    """On so few manoeuvres within a tenth, together; `make evaluate` compares each cell."""
    rows = small[0]["certain"]
    cells = sum(3 * len(row) for row in certainty.MEASURED.values())

    assert len(rows) == cells == 3 * len(cases.CERTAINTY)
    assert all(row["table"] <= 0.99 for row in rows)
    every = sum(row["found"] for row in rows)
    right, told = (sum(row["found"] * (row[name] or 0) for row in rows) for name in ("measured", "table"))
    assert right / every == pytest.approx(told / every, abs=0.1)


def test_gates_of_real_drives_are_met(small):
    """Single thinned drives come close to their gate; `docs/scoring.md` names one that misses it."""
    gates = {gate["what"]: gate for gate in report.gates(small[0])}
    means = [gate["holds"] for what, gate in gates.items() if what.startswith("mean score of thinned")]
    single = [gate["found"] for what, gate in gates.items() if what.startswith("single thinned")]

    assert means == [True] * 3
    assert len(single) == 3 and max(single) <= 20


def test_older_faults_are_judged_rightly(small):
    rows = {row["case"]: row for row in small[0]["dirty"]}

    assert rows.keys() == real.FAULTS.keys()
    assert [name for name in dirty.SAME if rows[name]["right"] < 9] == []
    assert rows["speeds in m/s"]["reasons"] == ["speed_implausible"]
    assert rows["speeds in m/s"]["right"] == rows["speeds in m/s"]["refused"] == 9


def test_missed_gate_is_printed_and_fails_the_command(small, monkeypatch, capsys, tmp_path):
    found, _ = small
    worse = {**found, "dirty": [{**row, "right": 8} for row in found["dirty"]]}
    for module, name, rows in (
        (measured, "accuracy", "accuracy"),
        (real, "thinned", "thinned"),
        (speedless, "false_events", "speedless"),
        (speedless, "exact", "exact"),
        (real, "dirtied", "dirty"),
        (measured, "certain", "certain"),
    ):
        monkeypatch.setattr(module, name, lambda *_, rows=rows: worse[rows])
    monkeypatch.setattr("sys.argv", ["evaluation", "--out", str(tmp_path)])

    assert evaluate.main() == 1
    assert f"MISSED{len(real.FAULTS):>9}  gate 0  faults whose drives" in capsys.readouterr().out
