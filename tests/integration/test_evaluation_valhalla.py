"""The comparison with Valhalla: both matchers get the same points, and every case is told."""

import json

import pytest
from evaluation import valhalla
from tests.support import road_servers

pytestmark = pytest.mark.deep


def run(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["evaluation.valhalla", "--drives", "2", "--out", str(tmp_path)])
    return valhalla.main(), capsys.readouterr().out


def test_every_case_is_told_for_both_matchers(monkeypatch, capsys, tmp_path):
    road_servers.need("the comparison with Valhalla")
    code, told = run(monkeypatch, capsys, tmp_path)
    facts = json.loads((tmp_path / "valhalla.json").read_text("utf-8"))
    rows, forms = facts["rows"], facts["forms"]

    classes = len(rows[0]["ours"]["classes"])
    assert (code, len(rows), len(told.splitlines())) == (0, 36, 38 + 2 + classes + len(forms))
    assert all(list(row["ours"]["classes"]) == list(row["valhalla"]["classes"]) for row in rows)
    assert len(forms) > 10
    assert all(set(form[name]) == set(valhalla.FIGURES) for form in forms for name in ("ours", "valhalla"))
    assert any(form["ours"] != form["valhalla"] for form in forms)
    clear = [row for row in rows if row["kind"] != "town"]
    assert min(row[name]["right_limit"] for row in clear for name in ("ours", "valhalla")) > 0.85
    assert all(row["ours"] != row["valhalla"] for row in rows)


def test_without_the_programs_nothing_is_compared(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(road_servers, "PROGRAMS", tmp_path / "valhalla" / "bin")
    code, told = run(monkeypatch, capsys, tmp_path)

    assert (code, told.startswith("Valhalla is not installed"), list(tmp_path.iterdir())) == (0, True, [])
