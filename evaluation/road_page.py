"""The page about roads: tables and plots of what was measured, and drives drawn on their map."""

import json
from html import escape
from pathlib import Path
from typing import Any, Final

import jinja2
import numpy as np

from evaluation import city, plots
from evaluation.road_drives import KINDS, METRES, World, sampled
from tripline.roads import matcher
from tripline.roads.index import DEGREE_M, UNITS
from tripline.scoring.drives import Flags, Floats

DRAWN: Final = 16
"""Drives that are looked through for the worst places."""
PLACES: Final = 9
WIDE_M: Final = 500.0
"""Of a drawn place, each way."""
SIZE: Final = 420
"""Of its picture."""
_NOISE_M: Final = 15.0
_GREY, _SIDE, _TRUE, _RIGHT, _WRONG = "#9ca3af", "#d8dce2", "#a7f3d0", "#1d4ed8", "#dc2626"


def written(
    folder: Path, world: World, facts: dict[str, Any], *, gates: dict[int, float], wrong: float, gated_s: int
) -> Path:
    """Write `roads.html`; the page. A Valhalla server's figures stand in it when `valhalla.json` has as many drives."""
    rows = facts["rows"]
    theirs = folder / "valhalla.json"
    empty: dict[str, Any] = {"drives": None}
    told = json.loads(theirs.read_text("utf-8")) if theirs.exists() else empty
    same = told["drives"] == facts["drives"]
    other = told["rows"] if same else []
    by_form = {each["form"]: each["valhalla"] for each in told["forms"]} if same else {}
    by_case = {(row["kind"], row["noise"], row["interval"]): row["valhalla"] for row in other}
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        (Path(__file__).parent / "roads.html").read_text("utf-8")
    )
    page = folder / "roads.html"
    text = template.render(
        rows=[row | {"valhalla": by_case.get((row["kind"], row["noise"], row["interval"]))} for row in rows],
        forms=[form | {"valhalla": by_form.get(form["form"])} for form in facts["forms"]],
        by_class=[_of_classes(row, by_case) for row in rows if row["interval"] == 1],
        drives=facts["drives"],
        city=[row | {"holds": city.holds(row)} for row in facts["city"]],
        city_gate=city.MOST_FALSE_S,
        city_noise=city.GATED_M,
        kinds=KINDS,
        gates=gates,
        wrong=wrong,
        gated_s=gated_s,
        compared=bool(other),
        legend=plots.legend([f"{noise} m" for noise in gates]),
        limits=[_lines(rows, kind, "right_limit", "right limit", gates) for kind in KINDS],
        roads=[_lines(rows, kind, "right_road", "right road", gates) for kind in KINDS],
        classes_legend=plots.legend(["right road", "right limit"]),
        classes=[_classes(rows, noise) for noise in gates],
        noise_m=_NOISE_M,
        wide_m=WIDE_M,
        places=_places(world),
        colours={"road": _GREY, "true": _TRUE, "right": _RIGHT, "wrong": _WRONG},
    )
    page.write_text(text, "utf-8")
    return page


def _of_classes(row: dict[str, Any], by_case: dict[tuple[str, int, int], dict[str, Any]]) -> dict[str, Any]:
    """A case with its classes of road, each with Valhalla's figures where there are any."""
    theirs = by_case.get((row["kind"], row["noise"], row["interval"]), {}).get("classes", {})
    return row | {"classes": {name: own | {"valhalla": theirs.get(name)} for name, own in row["classes"].items()}}


def _lines(rows: list[dict[str, Any]], kind: str, which: str, what: str, gates: dict[int, float]) -> str:
    series = {
        f"{noise} m": [(row["interval"], row[which]) for row in rows if (row["kind"], row["noise"]) == (kind, noise)]
        for noise in gates
    }
    gate = min(gates.values()) if (kind, which) == ("white", "right_limit") else None
    return plots.lines(f"{kind}: {what}", series, x="seconds a sample", y=(0.7, 1.0), gate=gate)


def _classes(rows: list[dict[str, Any]], noise: int) -> str:
    (row,) = (each for each in rows if (each["kind"], each["noise"], each["interval"]) == ("white", noise, 1))
    shares = {
        f"{name} ({own['points']:,} points)": (own["right_road"] * 100, (own["right_limit"] or 0) * 100)
        for name, own in row["classes"].items()
    }
    return plots.bars(f"{noise} m of noise, one sample a second: % right", shares, most=100)


def _places(world: World) -> list[str]:
    """Pictures of the places where the most points of some drives are on a wrong road."""
    driven = [world.drive(seed, metres=METRES) for seed in range(DRAWN)]
    own, truth = sampled(driven, noise_m=_NOISE_M, interval_s=1, seed=15)
    found = matcher.matched(world.index, own)
    # Along a street whose pieces are ways of their own a point on the next piece is no mistake to look at.
    link, name = world.index.link, world.index.name
    other = (link[found.road] != link[truth.road]) | (found.road < 0)
    wrong = other & ~((name[found.road] == name[truth.road]) & (name[truth.road] > 0)) & (own.speed_kmh > 2.0)
    north = own.lat * DEGREE_M
    east = own.lon * DEGREE_M * float(np.cos(np.radians(own.lat.mean())))
    drawn, left = [], wrong.copy()
    for _ in range(PLACES):
        if not left.any():
            break
        cells, counts = np.unique(_cells(north[left], east[left]), axis=0, return_counts=True)
        in_cell = (_cells(north, east) == cells[counts.argmax()]).all(axis=1) & left
        trip = np.bincount(own.trips[in_cell]).argmax()
        at = np.flatnonzero(in_cell & (own.trips == trip))
        middle = float(north[at].mean()), float(east[at].mean())
        here = (own.trips == trip) & (np.maximum(abs(north - middle[0]), abs(east - middle[1])) < WIDE_M / 2)
        drawn.append(_picture(world, truth.road, north, east, here, wrong, middle, float(own.lat.mean())))
        left &= np.hypot(north - middle[0], east - middle[1]) > WIDE_M / 2
    return drawn


def _cells(north: Floats, east: Floats) -> Floats:
    cells: Floats = np.floor(np.stack([north, east], axis=1) / (WIDE_M / 4))
    return cells


def _picture(
    world: World,
    true: Any,
    north: Floats,
    east: Floats,
    here: Flags,
    wrong: Flags,
    middle: tuple[float, float],
    latitude: float,
) -> str:
    index = world.index
    scale = SIZE / WIDE_M
    y = SIZE / 2 - (index.lat / UNITS * DEGREE_M - middle[0]) * scale
    x = SIZE / 2 + (index.lon / UNITS * DEGREE_M * np.cos(np.radians(latitude)) - middle[1]) * scale
    inside = np.unique(index.road[(abs(x - SIZE / 2) < SIZE) & (abs(y - SIZE / 2) < SIZE)])
    driven = set(true[here].tolist())
    parts = [f'<rect width="{SIZE}" height="{SIZE}" fill="#fff"/>']
    for road in sorted(inside.tolist(), key=lambda each: each in driven):
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[index.road == road], y[index.road == road], strict=True))
        colour = _TRUE if road in driven else _SIDE if index.side[road] else _GREY
        width = 9 if road in driven else 2
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        if road in driven:
            parts.append(f'<polyline points="{line}" fill="none" stroke="{_GREY}" stroke-width="2"/>')
    for at in np.flatnonzero(here).tolist():
        px, py = SIZE / 2 + (east[at] - middle[1]) * scale, SIZE / 2 - (north[at] - middle[0]) * scale
        colour = _WRONG if wrong[at] else _RIGHT
        parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.2" fill="{colour}"/>')
    names = sorted({world.texts.names[index.name[road]] for road in driven} - {""})
    title = f"{(here & wrong).sum()} of {here.sum()} points wrong: {', '.join(names) or 'roads without a name'}"
    label = escape(title)
    return (
        f'<figure><svg viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" height="{SIZE}" role="img" aria-label="{label}">'
        f"{''.join(parts)}</svg><figcaption>{label}</figcaption></figure>"
    )
