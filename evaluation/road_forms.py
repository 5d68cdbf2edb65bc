"""Tag forms: the shipped extract with its limits written in other forms, whose true limits stand here by hand.

Each drive is driven by a car, a bus and a lorry while a condition begins to hold; so each form is asked in
both directions, for each kind of vehicle and before and behind that time. Judged are the limit on the road that was
driven, by the reading of tags alone, which has to be right always, and the one that the matcher leads to.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import osmium
from msgspec.structs import replace

from evaluation.road_drives import BEGIN_MS, METRES, World, sampled
from tripline.roads import limited, matcher
from tripline.roads.index import RoadIndex
from tripline.roads.matcher import Matches
from tripline.scoring.drives import Drives, Flags, Floats, Ints
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import Column

MILE_KMH: Final = 1.609344
HOLDS_MIN: Final = 470
"""7:50, when the conditions below begin to hold. A drive begins ten minutes before, on a Thursday."""
_NONE: Final = float("nan")
Find = Callable[[RoadIndex, Drives], Matches]
"""Who finds the roads of drives."""


class Form(NamedTuple):
    """How a limit is written, and which one it is."""

    tags: dict[str, str]
    forward: float
    """km/h, for a car, before the condition holds; 0: no limit; NaN: none that is known."""
    backward: float | None = None
    """None: as forward; likewise below."""
    held: float | None = None
    bus: float | None = None
    truck: float | None = None


FORMS: Final = {
    "number": Form({"maxspeed": "50"}, 50),
    "number and unit": Form({"maxspeed": "60 km/h"}, 60),
    "miles an hour": Form({"maxspeed": "30 mph"}, 30 * MILE_KMH),
    "several numbers": Form({"maxspeed": "50;70"}, 70),
    "none": Form({"maxspeed": "none"}, 0),
    "walk": Form({"maxspeed": "walk"}, 7),
    "KR:urban": Form({"maxspeed": "KR:urban"}, 50),
    "KR:rural": Form({"maxspeed": "KR:rural"}, 80),
    "zone:maxspeed": Form({"zone:maxspeed": "DE:30"}, 30),
    "maxspeed:type": Form({"maxspeed:type": "CH:urban"}, 50),
    "source:maxspeed": Form({"source:maxspeed": "AT:rural"}, 100),
    "number before zone": Form({"maxspeed": "40", "zone:maxspeed": "30", "source:maxspeed": "sign"}, 40),
    "forward, backward": Form({"maxspeed:forward": "60", "maxspeed:backward": "80"}, 60, backward=80),
    "backward alone": Form({"maxspeed": "50", "maxspeed:backward": "20"}, 50, backward=20),
    "conditional": Form({"maxspeed": "70", "maxspeed:conditional": "40 @ (Mo-Fr 07:50-09:00)"}, 70, held=40),
    "conditional, wet": Form(
        {"maxspeed": "70", "maxspeed:conditional": "50 @ wet; 60 @ (Mo-Fr 07:50-09:00 AND snow)"}, 70
    ),
    "conditional, hgv": Form({"maxspeed": "80", "maxspeed:conditional": "60 @ (hgv)"}, 80, truck=60),
    "hgv": Form({"maxspeed": "80", "maxspeed:hgv": "60"}, 80, truck=60),
    "bus": Form({"maxspeed": "100", "maxspeed:bus": "70"}, 100, bus=70),
    "signals": Form({"maxspeed": "signals"}, _NONE),
    "nonsense": Form({"maxspeed": "fünfzig", "maxspeed:advisory": "50"}, _NONE),
}
_COLUMNS: Final = (Column.CAR, Column.BUS, Column.TRUCK)
_ODD: Final = 2_654_435_761
"""Mixes ids, so that neighbours have different forms."""


def measured(file: Path, drives: int, find: Find = matcher.matched) -> list[dict[str, Any]]:
    """A row for each form: shares of points with the right limit, on the road that was driven and as matched.

    Beside them those on the right road, and those with a tagged limit where the form tells none.
    """
    names = list(FORMS)
    with tempfile.TemporaryDirectory() as folder:
        rewritten = Path(folder) / "forms.osm.pbf"
        links = _rewrite(file, rewritten)
        world = World.of(rewritten)
    driven = [world.drive(seed, metres=METRES / 2) for seed in range(drives)]
    own, truth = sampled(driven, noise_m=5.0, interval_s=1, seed=5)
    begins = own.time_ms - BEGIN_MS
    own = replace(own, time_ms=BEGIN_MS + begins + (HOLDS_MIN - 10) * 60_000)
    found = find(world.index, own)
    on_way = (found.road >= 0) & (world.index.link[found.road] == world.index.link[truth.road])
    form = _form(world.index.link)[truth.road]
    held = begins >= 600_000
    asked = (own.speed_kmh > 2.0) & np.isin(world.index.link, links)[truth.road]
    right = {name: np.zeros(4) for name in names}
    points = dict.fromkeys(names, 0)
    for column in _COLUMNS:
        by = replace(own, column=np.full(len(own), column, np.int8))
        zero = np.zeros(len(own), np.int64)
        on_road = limited.limits_of(world.index, world.texts, by, truth, offset_ms=zero).kmh
        told = limited.limits_of(world.index, world.texts, by, found, offset_ms=zero)
        matched, source = told.kmh, told.source
        for number, name in enumerate(names):
            at = np.flatnonzero((form == number) & asked)
            true = _true(FORMS[name], truth.backward[at], held[at], column)
            points[name] += at.size
            wrong = np.isnan(true) & (source[at] == LimitSource.TAGGED)
            shares = *(_same(limit[at], true) for limit in (on_road, matched)), on_way[at], wrong
            right[name] += [each.sum() for each in shares]
    return [
        {
            "form": name,
            "points": points[name],
            "on_road": float(right[name][0] / points[name]),
            "matched": float(right[name][1] / points[name]),
            "right_road": float(right[name][2] / points[name]),
            "wrong": float(right[name][3] / points[name]),
        }
        for name in names
        if points[name]
    ]


def _rewrite(file: Path, to: Path) -> list[int]:
    """Write the roads of a map with other tags, and tell whose were changed."""
    changed = []
    with osmium.SimpleWriter(str(to)) as writer:
        for thing in osmium.FileProcessor(str(file)):
            if thing.is_node():
                writer.add_node(thing)
            elif thing.is_way() and "highway" in thing.tags:
                tags = {tag.k: tag.v for tag in thing.tags}
                if tags.get("maxspeed", "").isdigit():
                    form = FORMS[list(FORMS)[int(_form(np.array([thing.id]))[0])]]
                    plain = {key: text for key, text in tags.items() if "maxspeed" not in key and key != "zone:traffic"}
                    writer.add_way(thing.replace(tags=plain | form.tags))
                    changed.append(thing.id)
                else:
                    writer.add_way(thing)
    return changed


def _form(link: Ints) -> Ints:
    """Which form the way of this id has."""
    return (link * _ODD >> 9) % len(FORMS)


def _true(form: Form, backward: Flags, held: Flags, column: Column) -> Floats:
    own = {Column.BUS: form.bus, Column.TRUCK: form.truck}.get(column)
    plain = form.forward if own is None else own
    limit = np.full(backward.size, plain)
    if form.backward is not None:
        limit[backward] = form.backward
    if form.held is not None:
        limit[held] = form.held
    return limit


def _same(one: Floats, other: Floats) -> Flags:
    same: Flags = np.isclose(one, other, rtol=0, atol=1e-9, equal_nan=True)
    return same
