"""`python -m evaluation.roads`: how often the matcher finds the right road and limit, on made drives along real roads.

Right is the limit, of the points of a moving vehicle on roads with a tagged limit. Wrong instead of none is a tagged
limit where the road driven has no tagged one, unless both are the same; it is a share of all points.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from evaluation import road_drives
from evaluation.road_drives import Case, World
from tripline.roads import limited, matcher
from tripline.roads.limited import Sources
from tripline.roads.matcher import Matches
from tripline.scoring.drives import Drives, Floats, Ints
from tripline.scoring.quality import LimitSource

MAP: Final = Path(__file__).parent / "maps" / "liechtenstein.osm.pbf"
FOLDER: Final = Path(__file__).parents[1] / "build" / "evaluation"
DRIVES: Final = 40
RIGHT: Final = {5: 0.985, 10: 0.975, 15: 0.955}
"""The least share of right limits, by noise in metres, at 1 to 3 s and white noise."""
WRONG: Final = 0.005
GATED_S: Final = 3
MOVING_KMH: Final = 2.0


class Told(NamedTuple):
    """What a matcher tells of each sample."""

    link: Ints
    """-1: no road."""
    limit_kmh: Floats
    """NaN: none that is known."""
    source: Sources
    """`LimitSource`."""


def measured(file: Path, drives: int) -> Iterator[dict[str, Any]]:
    """A row for each case."""
    world = World.of(file)
    for case in road_drives.cases(world, drives):
        began = time.process_time()
        found = matcher.matched(world.index, case.drives)
        took_s = time.process_time() - began
        row = figures(world, case, told(world, case.drives, found))
        yield row | {"points_s": case.drives.time_ms.size / took_s}


def told(world: World, drives: Drives, found: Matches) -> Told:
    """Links and limits of samples whose roads are known."""
    zero = np.zeros(len(drives), np.int64)
    limit, source = limited.limits_of(world.index, world.texts, drives, found, offset_ms=zero)
    return Told(np.where(found.road >= 0, world.index.link[found.road], -1), limit, source)


def figures(world: World, case: Case, answer: Told) -> dict[str, Any]:
    """How right an answer is."""
    truth = told(world, case.drives, case.truth)
    moving = case.drives.speed_kmh > MOVING_KMH
    tagged = moving & (truth.source == LimitSource.TAGGED)
    right = answer.limit_kmh == truth.limit_kmh
    wrong = moving & ~right & (truth.source != LimitSource.TAGGED) & (answer.source == LimitSource.TAGGED)
    return {
        "kind": case.kind,
        "noise": case.noise_m,
        "interval": case.interval_s,
        "points": int(moving.sum()),
        "tagged": float(tagged.sum() / moving.sum()),
        "right_road": float((answer.link == truth.link)[moving].mean()),
        "right_limit": float(right[tagged].mean()),
        "wrong": float(wrong.sum() / moving.sum()),
    }


def holds(row: dict[str, Any]) -> bool | None:
    """Whether the row's gates hold; None: it has none."""
    if row["kind"] != "white" or row["interval"] > GATED_S:
        return None
    return bool(row["right_limit"] >= RIGHT[row["noise"]] and row["wrong"] <= WRONG)


def main() -> int:
    """Measure, write `roads.json`, print the table; 1 when a gate does not hold."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.roads", description=__doc__)
    parser.add_argument("--map", type=Path, default=MAP, help="OpenStreetMap extract, .osm.pbf")
    parser.add_argument("--drives", type=int, default=DRIVES, help="made drives")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the figures")
    given = parser.parse_args()
    rows = list(measured(given.map, given.drives))
    print("noise      interval  points  right road  right limit  gate   wrong for none  points/s  verdict")
    for row in rows:
        gate = f"{RIGHT[row['noise']]:.3f}" if holds(row) is not None else "     "
        verdict = {True: "holds", False: "MISSED", None: ""}[holds(row)]
        print(
            f"{row['noise']:2} m {row['kind']}  {row['interval']} s      {row['points']:6}  {row['right_road']:.4f}"
            f"      {row['right_limit']:.4f}       {gate}"
            f"  {row['wrong']:.4f}          {row['points_s']:8,.0f}  {verdict}"
        )
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "roads.json").write_text(json.dumps({"drives": given.drives, "rows": rows}, indent=1), "utf-8")
    return 1 if any(holds(row) is False for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
