"""`python -m evaluation.roads`: how often the matcher finds the right road and limit, on made drives along real roads.

Right is the limit, of the points of a moving vehicle on roads with a tagged limit. Wrong instead of none is a tagged
limit where the road driven has no tagged one, unless both are the same; it is a share of all points.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from evaluation.road_drives import World, sampled
from tripline.adapters import map_import
from tripline.roads import limited, matcher
from tripline.scoring.quality import LimitSource

MAP: Final = Path(__file__).parent / "maps" / "liechtenstein.osm.pbf"
FOLDER: Final = Path(__file__).parents[1] / "build" / "evaluation"
DRIVES: Final = 40
METRES: Final = 15_000.0
RIGHT: Final = {5: 0.985, 10: 0.975, 15: 0.955}
"""The least share of right limits, by noise in metres, at 1 to 3 s and white noise."""
WRONG: Final = 0.005
INTERVALS_S: Final = (1, 2, 3, 5)
GATED_S: Final = 3
DRIFT: Final = 0.95
"""How much of an error is left after a second, where errors drift."""
MOVING_KMH: Final = 2.0


def measured(file: Path, drives: int) -> Iterator[dict[str, Any]]:
    """A row for each noise and interval."""
    with tempfile.TemporaryDirectory() as scratch:
        index, texts = map_import.read(file, scratch=Path(scratch), told=lambda _: None).built(otherwise="")
    world = World(index, texts)
    driven = [world.drive(seed, metres=METRES) for seed in range(drives)]
    for memory in (0.0, DRIFT):
        for noise in RIGHT:
            for interval in INTERVALS_S:
                own, truth = sampled(driven, noise_m=noise, interval_s=interval, seed=noise, memory=memory)
                began = time.process_time()
                found = matcher.matched(index, own)
                took_s = time.process_time() - began
                offsets = np.zeros(len(own), np.int64)
                limit, source = limited.limits_of(index, texts, own, found, offset_ms=offsets)
                true_limit, true_source = limited.limits_of(index, texts, own, truth, offset_ms=offsets)
                moving = own.speed_kmh > MOVING_KMH
                tagged = moving & (true_source == LimitSource.TAGGED)
                right = limit == true_limit
                wrong = moving & ~right & (true_source != LimitSource.TAGGED) & (source == LimitSource.TAGGED)
                yield {
                    "noise": noise,
                    "drifts": bool(memory),
                    "interval": interval,
                    "points": int(moving.sum()),
                    "tagged": float(tagged.sum() / moving.sum()),
                    "right_road": float((found.road == truth.road)[moving].mean()),
                    "right_limit": float(right[tagged].mean()),
                    "wrong": float(wrong.sum() / moving.sum()),
                    "points_s": own.time_ms.size / took_s,
                }


def holds(row: dict[str, Any]) -> bool | None:
    """Whether the row's gates hold; None: it has none."""
    if row["drifts"] or row["interval"] > GATED_S:
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
        kind = "drift" if row["drifts"] else "white"
        gate = f"{RIGHT[row['noise']]:.3f}" if holds(row) is not None else "     "
        verdict = {True: "holds", False: "MISSED", None: ""}[holds(row)]
        print(
            f"{row['noise']:2} m {kind}  {row['interval']} s      {row['points']:6}  {row['right_road']:.4f}      "
            f"{row['right_limit']:.4f}       {gate}  {row['wrong']:.4f}          {row['points_s']:8,.0f}  {verdict}"
        )
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "roads.json").write_text(json.dumps({"drives": given.drives, "rows": rows}, indent=1), "utf-8")
    return 1 if any(holds(row) is False for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
