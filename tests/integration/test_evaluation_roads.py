"""The evaluation of the matcher: its gates hold on the shipped extract, and a matcher that is worse misses them."""

import json

import pytest
from evaluation import roads

from tripline.roads import candidates


def run(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["evaluation.roads", "--drives", "16", "--out", str(tmp_path)])
    code = roads.main()
    return code, capsys.readouterr().out, json.loads((tmp_path / "roads.json").read_text("utf-8"))["rows"]


def test_gates_hold_and_every_row_is_told(monkeypatch, capsys, tmp_path):
    code, told, rows = run(monkeypatch, capsys, tmp_path)

    assert (code, "MISSED" in told) == (0, False)
    assert [(row["kind"], row["noise"], row["interval"]) for row in rows] == [
        (kind, noise, interval) for kind in ("white", "drift") for noise in (5, 10, 15) for interval in (1, 2, 3, 5)
    ]
    assert min(row["right_limit"] for row in rows) == pytest.approx(0.98, abs=0.03)


def test_matcher_without_directions_and_distances_misses_them(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(candidates, "SIGMA_M", 1_000.0)
    monkeypatch.setattr(candidates, "HEADING", 0.0)

    code, told, _ = run(monkeypatch, capsys, tmp_path)

    assert (code, "MISSED" in told) == (1, True)
