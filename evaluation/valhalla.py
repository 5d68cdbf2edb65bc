"""`python -m evaluation.valhalla`: a Valhalla server beside our matcher, on the drives that this one is judged on.

Both get the same points, thinned in the same way, and both have the limits of our map. The server is Valhalla's own
program with tiles of the same extract. Where it is not installed nothing is compared.
"""

import argparse
import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from tests.support import road_servers

from evaluation import road_drives, roads
from evaluation.road_drives import World
from tripline.adapters.roads_valhalla import Valhalla
from tripline.roads import matcher, ways
from tripline.roads.matcher import Matches
from tripline.scoring.drives import Drives

TIMEOUT_S: Final = 60.0
FIGURES: Final = ("right_road", "right_limit", "wrong")
Find = Callable[[Drives], Matches]


@contextlib.contextmanager
def finding(world: World, file: Path) -> Iterator[Find]:
    """Who finds the roads of drives by a server over tiles of this extract."""
    with (
        tempfile.TemporaryDirectory() as folder,
        road_servers.serving(file, Path(folder)) as server,
    ):
        asked = Valhalla(server.url, timeout_s=TIMEOUT_S)

        def find(drives: Drives) -> Matches:
            answers = asked(drives, np.arange(len(drives)))
            return ways.matched(world.index, drives, answers.ways, answers.told)

        yield find


def compared(world: World, find: Find, drives: int) -> Iterator[dict[str, Any]]:
    """A row for each case, with the figures of each matcher under its name."""
    for case in road_drives.cases(world, drives):
        row: dict[str, Any] = {"kind": case.kind, "noise": case.noise_m, "interval": case.interval_s}
        for name, by in (("ours", lambda own: matcher.matched(world.index, own)), ("valhalla", find)):
            began = time.perf_counter()
            found = by(case.drives)
            took_s = time.perf_counter() - began
            figures = roads.figures(world, case, roads.told(world, case.drives, found))
            row[name] = {key: figures[key] for key in FIGURES} | {"points_s": case.drives.time_ms.size / took_s}
        yield row


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
    with finding(world, given.map) as find:
        rows = list(compared(world, find, given.drives))
    print("                  right road         right limit        wrong for none     points/s")
    print("noise        s    ours    Valhalla   ours    Valhalla   ours    Valhalla   ours     Valhalla")
    for row in rows:
        ours, theirs = row["ours"], row["valhalla"]
        cells = "   ".join(f"{ours[key]:.4f}  {theirs[key]:.4f}  " for key in FIGURES)
        print(
            f"{row['noise']:2} m {row['kind']}  {row['interval']}    {cells}   "
            f"{ours['points_s']:7,.0f}  {theirs['points_s']:7,.0f}"
        )
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "valhalla.json").write_text(json.dumps({"drives": given.drives, "rows": rows}, indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
