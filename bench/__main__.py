"""`make bench`: measures every row, prints the table with the gates' verdicts, writes `results/`.

`python -m bench --quick` takes a few minutes less and decides nothing; names of rows (`device_channel fleet_10k pages
kernel imports surface growth erasing rpc pushes storm`) measure only those.
"""

import argparse
import importlib

from bench import peers, table
from rich.console import Console

ROWS = (
    "device_channel",
    "fleet_10k",
    "pages",
    "kernel",
    "imports",
    "surface",
    "growth",
    "erasing",
    "rpc",
    "pushes",
    "storm",
)


def main() -> None:
    """Measure, show, save."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"any of {', '.join(ROWS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    wanted = parser.parse_args()
    if unknown := set(wanted.rows) - set(ROWS):
        parser.error(f"unknown row: {', '.join(sorted(unknown))}")
    console, versions = Console(width=140), peers.versions()
    figures: list[table.Figure] = []
    for name in wanted.rows or ROWS:
        console.print(f"measuring {name} ...")
        found = importlib.import_module(f"bench.{name}").measure(wanted.quick)
        figures += found
        table.save(f"{name}-quick" if wanted.quick else name, found, versions)
    table.show(figures, console)
    console.print(", ".join(f"{name} {version}" for name, version in versions.items()))


if __name__ == "__main__":
    main()
