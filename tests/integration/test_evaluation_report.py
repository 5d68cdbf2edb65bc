"""The report on how right the scores are: its gates, its page, its exit code."""

import json

import pytest
from evaluation import __main__ as evaluate
from evaluation import measured, report

from tripline.scoring import quality


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A whole report on few drives, and what the command said."""
    folder = tmp_path_factory.mktemp("evaluation")
    found = {"accuracy": measured.accuracy(2), "thinned": measured.thinned(), "dirty": measured.dirtied()}
    return found, report.written(found, folder, drives=2)


def test_report_tells_every_gate_and_draws_every_plot(small):
    _, page = small
    text = page.read_text("utf-8")
    facts = json.loads((page.parent / "report.json").read_text("utf-8"))

    assert len(facts["gates"]) == 9
    assert text.count("<svg") == 3 * 4 * 2 + 3 + 1
    assert all(gate["what"] in text for gate in facts["gates"])
    assert {row["kind"] for row in facts["accuracy"]} == {"start", "acceleration", "deceleration", "stop"}
    assert "http" not in text


def test_certainty_that_explanations_tell_is_what_is_measured(small):
    """On so few manoeuvres within a tenth; `docs/scoring.md` has the figures of the whole report."""
    for period_ms, told in quality.MEASURED.items():
        rows = [
            row
            for row in small[0]["accuracy"]
            if (row["judge"], row["interval"], row["long"]) == (report.OURS, period_ms / 1_000, False)
            and row["smoothing"] <= 0.5
        ]
        right = sum((row["precision"] or 0) * row["found"] for row in rows)

        assert right / sum(row["found"] for row in rows) == pytest.approx(told, abs=0.1)


def test_gates_of_real_drives_hold(small):
    real = [gate for gate in report.gates(small[0]) if "real" in gate["what"] or "drives" in gate["what"]]

    assert [gate["holds"] for gate in real] == [True] * 4


def test_gate_that_is_missed_is_told(small, monkeypatch, capsys, tmp_path):
    found, _ = small
    worse = {**found, "dirty": [{**row, "change": 2.1} if not row["refuse"] else row for row in found["dirty"]]}
    for name, rows in (("accuracy", lambda _: worse["accuracy"]), ("thinned", lambda: worse["thinned"])):
        monkeypatch.setattr(measured, name, rows)
    monkeypatch.setattr(measured, "dirtied", lambda: worse["dirty"])
    monkeypatch.setattr("sys.argv", ["evaluation", "--out", str(tmp_path)])

    assert evaluate.main() == 1
    assert "MISSED     2.10  gate 2  dirty drives" in capsys.readouterr().out
