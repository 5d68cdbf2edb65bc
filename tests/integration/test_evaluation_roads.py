"""The evaluation of the matcher: its gates hold on the shipped extract, and a matcher that is worse misses them."""

import copy
import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pytest
from evaluation import city, road_forms, road_page, roads
from evaluation.road_forms import FORMS
from evaluation.road_page import PLACES

from tripline.roads import candidates, countries

pytestmark = pytest.mark.deep


def kept(measure: Callable[..., Iterable[Any]]) -> Callable[..., list[Any]]:
    """The same measurement, which is made once for all tests, of as many drives as the first asked for."""
    found: list[Any] = []

    def again(*given: Any) -> list[Any]:
        if not found:
            found.extend(measure(*given))
        return copy.deepcopy(found)

    return again


MEASURED = {module: kept(module.measured) for module in (roads, road_forms, city)}
"""Measurements of the program as it is."""
DRAWN = kept(road_page._places)
"""Its pictures of places."""
WORLD = cache(roads.World.of)
DRIVES, IN_CITY = 16, 30
FEW = 4
"""Drives that tell a program that is much worse."""


@pytest.fixture(scope="module", autouse=True)
def _measured_first():
    """Measure before a test changes the program."""
    MEASURED[roads](WORLD(roads.MAP), DRIVES)
    MEASURED[road_forms](roads.MAP, DRIVES)
    MEASURED[city](IN_CITY)
    DRAWN(WORLD(roads.MAP))


def keep(monkeypatch, *modules):
    """Make the measurements of these modules once for all tests, as each world and the pictures."""
    monkeypatch.setattr(roads.World, "of", WORLD)
    monkeypatch.setattr(road_page, "_places", DRAWN)
    for module in modules:
        monkeypatch.setattr(module, "measured", MEASURED[module])


def run(monkeypatch, capsys, tmp_path, *, drives=DRIVES):
    monkeypatch.setattr("sys.argv", ["evaluation.roads", "--drives", str(drives), "--out", str(tmp_path)])
    code = roads.main()
    return code, capsys.readouterr().out, json.loads((tmp_path / "roads.json").read_text("utf-8"))


def test_gates_hold_and_every_row_is_told(monkeypatch, capsys, tmp_path):
    keep(monkeypatch, roads, road_forms, city)

    code, told, facts = run(monkeypatch, capsys, tmp_path)

    assert (code, "MISSED" in told) == (0, False)
    assert [(row["kind"], row["noise"], row["interval"]) for row in facts["rows"]] == [
        (kind, noise, interval)
        for kind, intervals in (("white", (1, 2, 3, 5)), ("drift", (1, 2, 3, 5)), ("tunnel", (1, 3)), ("town", (1, 3)))
        for noise in (5, 10, 15)
        for interval in intervals
    ]
    assert min(row["right_limit"] for row in facts["rows"] if row["kind"] == "white") >= 0.98
    assert {form["form"] for form in facts["forms"]} == set(FORMS)
    assert {form["on_road"] for form in facts["forms"]} == {1.0}
    page = (tmp_path / "roads.html").read_text("utf-8")
    assert page.count("<figure>") == PLACES
    assert all(form in page for form in FORMS)


def test_valhalla_stands_beside_us_where_it_had_the_same_drives(monkeypatch, capsys, tmp_path):
    keep(monkeypatch, roads, road_forms, city)
    seen = {"right_road": 0.1234, "right_limit": 1, "wrong": 0}
    of_class, of_form = seen | {"right_road": 0.2345}, seen | {"right_road": 0.3456}
    row = {"kind": "white", "noise": 5, "interval": 1, "valhalla": seen | {"classes": {"secondary": of_class}}}
    forms = [{"form": "walk", "valhalla": of_form}]
    shown = []
    for drives in (15, 16):
        (tmp_path / "valhalla.json").write_text(json.dumps({"drives": drives, "rows": [row], "forms": forms}), "utf-8")
        run(monkeypatch, capsys, tmp_path)
        page = (tmp_path / "roads.html").read_text("utf-8")
        shown.append([f"<td>{share}</td>" in page for share in ("0.1234", "0.2345", "0.3456")])

    assert shown == [[False] * 3, [True] * 3]


def test_matcher_without_directions_and_distances_misses_them(monkeypatch, capsys, tmp_path):
    keep(monkeypatch, road_forms, city)
    monkeypatch.setattr(candidates, "SIGMA_M", 1_000.0)
    monkeypatch.setattr(candidates, "HEADING", 0.0)

    code, told, _ = run(monkeypatch, capsys, tmp_path, drives=FEW)

    assert (code, "MISSED" in told) == (1, True)


def test_form_of_a_limit_that_is_not_read_misses_its_gate(monkeypatch, capsys, tmp_path):
    keep(monkeypatch, roads, city)
    monkeypatch.setattr(countries, "_BY_PLATE", {"KR": "GB"})

    code, told, facts = run(monkeypatch, capsys, tmp_path, drives=FEW)

    assert (code, "MISSED" in told) == (1, True)
    assert {form["form"] for form in facts["forms"] if form["on_road"] < 1} == {"KR:urban", "KR:rural"}
