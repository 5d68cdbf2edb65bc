"""`make evaluate`: measure how right the scores are, and write the report."""

import argparse
from pathlib import Path

from evaluation import measured, real, report, speedless

FOLDER = Path(__file__).parents[1] / "build" / "evaluation"
DRIVES = 60


def main() -> int:
    """Measure, write the report, list the gates; 1 if one is missed."""
    parser = argparse.ArgumentParser(prog="python -m evaluation", description=__doc__)
    parser.add_argument("--drives", type=int, default=DRIVES, help="made drives of each class")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the report")
    given = parser.parse_args()
    found = {
        "accuracy": measured.accuracy(given.drives),
        "thinned": real.thinned(),
        "speedless": speedless.false_events(),
        "exact": speedless.exact(given.drives // 4),
        "dirty": real.dirtied(),
        "certain": measured.certain(given.drives),
    }
    page = report.written(found, given.out, drives=given.drives)
    gates = report.gates(found)
    for gate in gates:
        verdict = "met" if gate["holds"] else "MISSED"
        print(f"{verdict:7}{gate['figure']:>8}  gate {gate['gate']:g}  {gate['what']}  ({gate['where'] or 'none'})")
    print(page)
    return 0 if all(gate["holds"] for gate in gates) else 1


if __name__ == "__main__":
    raise SystemExit(main())
