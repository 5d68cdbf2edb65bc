"""`python -m evaluation.valhalla`: a Valhalla server beside our matcher, on the drives that this one is judged on.

Both get the same points, thinned in the same way, and both have the limits of our map. The server is Valhalla's own
program with tiles of the same extract, also where its limits are written in other forms: it tells ways alone. Where it
is not installed nothing is compared.
"""

import argparse
import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from tests.support import road_servers

from evaluation import road_drives, road_forms, roads
from evaluation.road_drives import World
from evaluation.road_forms import Find
from tripline.adapters.maps.roads_valhalla import Valhalla
from tripline.roads import matcher, ways
from tripline.roads.index import RoadIndex
from tripline.roads.matcher import Matches
from tripline.scoring.drives import Drives

TIMEOUT_S: Final = 60.0
FIGURES: Final = ("right_road", "right_limit", "wrong")
CLEAR: Final = "white", 10, 1
"""The case whose classes of road are printed."""


@contextlib.contextmanager
def finding(file: Path) -> Iterator[Find]:
    """Who finds the roads of drives by a server over tiles of this extract."""
    with (
        tempfile.TemporaryDirectory() as folder,
        road_servers.serving(file, Path(folder)) as server,
    ):
        asked = Valhalla(server.url, timeout_s=TIMEOUT_S)

        def find(index: RoadIndex, drives: Drives) -> Matches:
            answers = asked(drives, np.arange(len(drives)))
            return ways.matched(index, drives, matcher.trace_of(drives), answers.ways, answers.told)

        yield find


def compared(world: World, find: Find, drives: int) -> Iterator[dict[str, Any]]:
    """A row for each case, with the figures of each matcher under its name."""
    for case in road_drives.cases(world, drives):
        row: dict[str, Any] = {"kind": case.kind, "noise": case.noise_m, "interval": case.interval_s}
        for name, by in (("ours", matcher.matched), ("valhalla", find)):
            began = time.perf_counter()
            found = by(world.index, case.drives)
            took_s = time.perf_counter() - began
            figures = roads.figures(world, case, found)
            row[name] = {key: figures[key] for key in (*FIGURES, "classes")} | {
                "points_s": case.drives.time_ms.size / took_s
            }
        yield row


def forms(file: Path, find: Find, drives: int) -> Iterator[dict[str, Any]]:
    """A row for each form of a limit, with the figures of each matcher under its name."""
    for ours, theirs in zip(*(road_forms.measured(file, drives, by) for by in (matcher.matched, find)), strict=True):
        yield {"form": ours["form"], "ours": _as_case(ours), "valhalla": _as_case(theirs)}


def _as_case(form: dict[str, Any]) -> dict[str, Any]:
    return {"right_road": form["right_road"], "right_limit": form["matched"], "wrong": form["wrong"]}


def _cells(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Both figures of each of `FIGURES`; those of a road without tagged limits are left out."""
    pairs = [(ours[key], theirs[key]) for key in FIGURES]
    return "   ".join(f"{one:.4f}  {other:.4f}  " if one is not None else "-       -       " for one, other in pairs)


def main() -> int:
    """Compare, write `valhalla.json`, print the table."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.valhalla", description=__doc__)
    parser.add_argument("--map", type=Path, default=roads.MAP, help="OpenStreetMap extract, .osm.pbf")
    parser.add_argument("--drives", type=int, default=roads.DRIVES, help="made drives")
    parser.add_argument("--out", type=Path, default=roads.FOLDER, help="folder of the figures")
    given = parser.parse_args()
    if not road_servers.installed():
        print("Valhalla is not installed (tests/support/install-system): not compared.")
        return 0
    world = World.of(given.map)
    with finding(given.map) as find:
        rows = list(compared(world, find, given.drives))
        by_form = list(forms(given.map, find, given.drives))
    print("                  right road         right limit        wrong for none     points/s")
    print("noise        s    ours    Valhalla   ours    Valhalla   ours    Valhalla   ours     Valhalla")
    for row in rows:
        ours, theirs = row["ours"], row["valhalla"]
        print(
            f"{row['noise']:2} m {row['kind']}  {row['interval']}    {_cells(ours, theirs)}   "
            f"{ours['points_s']:7,.0f}  {theirs['points_s']:7,.0f}"
        )
    (clear,) = (row for row in rows if (row["kind"], row["noise"], row["interval"]) == CLEAR)
    print(f"by class of road, {CLEAR[1]} m {CLEAR[0]} {CLEAR[2]} s")
    for name, ours in clear["ours"]["classes"].items():
        print(f"{name:22} {_cells(ours, clear['valhalla']['classes'][name])}")
    print("by form of the limit")
    for form in by_form:
        print(f"{form['form']:22} {_cells(form['ours'], form['valhalla'])}")
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "valhalla.json").write_text(
        json.dumps({"drives": given.drives, "rows": rows, "forms": by_form}, indent=1), "utf-8"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
