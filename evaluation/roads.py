"""`python -m evaluation.roads`: how often the matcher finds the right road and limit, on made drives along real roads.

Right is the limit, of the points of a moving vehicle on roads with a tagged limit. Wrong instead of none is a tagged
limit where the road driven has no tagged one, unless both are the same; it is a share of all points. Judged is the
right limit where drivers over one have the benefit of the doubt.

Not here: drives (`road_drives.py`), a made city (`city.py`), forms of tags (`road_forms.py`), pages (`road_page.py`).
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from evaluation import city, road_drives, road_forms, road_page
from evaluation.road_drives import Case, World
from tripline.roads import matcher
from tripline.roads.matcher import Matches
from tripline.scoring.quality import LimitSource

MAP: Final = Path(__file__).parent / "maps" / "liechtenstein.osm.pbf"
FOLDER: Final = Path(__file__).parents[1] / "build" / "evaluation"
DRIVES: Final = 40
RIGHT: Final = {5: 0.985, 10: 0.975, 15: 0.955}
"""The least share of right limits as judged, by noise in metres, at 1 to 3 s and white noise."""
WRONG: Final = 0.005
GATED_S: Final = 3
CLASSES: Final = {
    101: "motorway",
    102: "trunk",
    103: "primary",
    104: "secondary",
    107: "tertiary, residential",
    108: "other",
}
"""By rank."""


def measured(world: World, drives: int) -> Iterator[dict[str, Any]]:
    """A row for each case."""
    for case in road_drives.cases(world, drives):
        began = time.process_time()
        found = matcher.matched(world.index, case.drives)
        took_s = time.process_time() - began
        row = figures(world, case, found)
        yield row | {"points_s": case.drives.time_ms.size / took_s}


def figures(world: World, case: Case, found: Matches) -> dict[str, Any]:
    """How right a matcher is."""
    truth, answer = (road_drives.told(world, case.drives, each) for each in (case.truth, found))
    judged = road_drives.told(world, case.drives, found, is_judged=True).limit_kmh == truth.limit_kmh
    moving = case.drives.speed_kmh > road_drives.MOVING_KMH
    tagged = moving & (truth.source == LimitSource.TAGGED)
    right = answer.limit_kmh == truth.limit_kmh
    on_way = answer.link == truth.link
    rank = world.index.rank[case.truth.road]
    wrong = moving & ~right & (truth.source != LimitSource.TAGGED) & (answer.source == LimitSource.TAGGED)
    return {
        "kind": case.kind,
        "noise": case.noise_m,
        "interval": case.interval_s,
        "points": int(moving.sum()),
        "tagged": float(tagged.sum() / moving.sum()),
        "right_road": float(on_way[moving].mean()),
        "right_limit": float(right[tagged].mean()),
        "judged": float(judged[tagged].mean()),
        "wrong": float(wrong.sum() / moving.sum()),
        "classes": {
            name: {
                "points": int(own.sum()),
                "right_road": float(on_way[own].mean()),
                "right_limit": float(right[own & tagged].mean()) if (own & tagged).any() else None,
                "wrong": float(wrong[own].mean()),
            }
            for of_rank, name in CLASSES.items()
            if (own := moving & (rank == of_rank)).any()
        },
    }


def holds(row: dict[str, Any]) -> bool | None:
    """Whether the row's gates hold; None: it has none."""
    if row["kind"] != "white" or row["interval"] > GATED_S:
        return None
    return bool(row["judged"] >= RIGHT[row["noise"]] and row["wrong"] <= WRONG)


def verdicts(rows: list[dict[str, Any]], forms: list[dict[str, Any]], in_city: list[dict[str, Any]]) -> bool:
    """Whether every gate holds: those of the rows, that each form is read rightly, and that of the city."""
    told = (
        [holds(row) for row in rows] + [form["on_road"] == 1 for form in forms] + [city.holds(row) for row in in_city]
    )
    return False not in told


def main() -> int:
    """Measure, write `roads.json` and `roads.html`, print the tables; 1 when a gate does not hold."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.roads", description=__doc__)
    parser.add_argument("--map", type=Path, default=MAP, help="OpenStreetMap extract, .osm.pbf")
    parser.add_argument("--drives", type=int, default=DRIVES, help="made drives")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the figures")
    given = parser.parse_args()
    world = World.of(given.map)
    rows = list(measured(world, given.drives))
    forms = road_forms.measured(given.map, given.drives)
    in_city = list(city.measured())
    print("noise       interval  points  right road  right limit  judged  gate   wrong for none  points/s  verdict")
    for row in rows:
        gate = f"{RIGHT[row['noise']]:.3f}" if holds(row) is not None else "     "
        verdict = {True: "holds", False: "MISSED", None: ""}[holds(row)]
        print(
            f"{row['noise']:2} m {row['kind']:7} {row['interval']} s      {row['points']:6}  {row['right_road']:.4f}"
            f"      {row['right_limit']:.4f}       {row['judged']:.4f}  {gate}"
            f"  {row['wrong']:.4f}          {row['points_s']:8,.0f}  {verdict}"
        )
    print("form of a limit      points  on its road  matched")
    for form in forms:
        verdict = "" if form["on_road"] == 1 else "MISSED"
        print(f"{form['form']:20} {form['points']:6}  {form['on_road']:.4f}       {form['matched']:.4f}   {verdict}")
    print("made city    km  right limit  false s in 100 km  drives charged")
    for row in in_city:
        verdict = {True: "holds", False: "MISSED", None: ""}[city.holds(row)]
        print(
            f"{row['noise']:2} m drift {row['km']:6.0f}  {row['right_limit']:.4f}       {row['false_s']:6.2f}"
            f"             {row['charged']:.2f}            {verdict}"
        )
    given.out.mkdir(parents=True, exist_ok=True)
    facts = {"drives": given.drives, "rows": rows, "forms": forms, "city": in_city}
    (given.out / "roads.json").write_text(json.dumps(facts, indent=1), "utf-8")
    print(road_page.written(given.out, world, facts, gates=RIGHT, wrong=WRONG, gated_s=GATED_S))
    return 0 if verdicts(rows, forms, in_city) else 1


if __name__ == "__main__":
    raise SystemExit(main())
