"""`make bench`: measures every row, prints the table with the gates' verdicts, writes `results/`.

`python -m bench --quick` takes a few minutes less and decides nothing; names of rows (`device_channel fleet_10k pages
portal kernel scoring roads trends imports surface growth erasing rpc pushes storm late hostile_http live_map map_page
trip_page`) measure only those. The rows of several processes (`postgres buffered burst bus big_pages late_shared`) take
long, need PostgreSQL and Kafka, and are measured when they are named; so are `fleet_hour`, which takes an hour,
`isolation`, which takes half an hour, `mute`, which takes five minutes and needs Node, and `maps`, which takes ten
minutes and needs an extract (`BENCH_EXTRACT`).
"""

import argparse
import importlib
import inspect
import signal
import sys

from bench import peers, table
from rich.console import Console

ROWS = (
    "device_channel",
    "fleet_10k",
    "pages",
    "portal",
    "kernel",
    "scoring",
    "roads",
    "trends",
    "imports",
    "surface",
    "growth",
    "erasing",
    "rpc",
    "pushes",
    "storm",
    "late",
    "hostile_http",
    "live_map",
    "map_page",
    "trip_page",
)
SCALED = ("postgres", "buffered", "burst", "bus", "big_pages", "late_shared", "fleet_hour", "isolation", "mute", "maps")
"""Measured when they are named."""


def main() -> None:
    """Measure, show, save."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that every server that was started ends too
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    named = f"any of {', '.join(ROWS)} (default: all of these), {', '.join(SCALED)}"
    parser.add_argument("rows", nargs="*", metavar="ROW", help=named)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--seconds", type=float, help="how long the load lasts, of rows of several processes")
    parser.add_argument("--scale", type=float, help="part of the rate, or of the rows, of these rows")
    wanted = parser.parse_args()
    if unknown := set(wanted.rows) - {*ROWS, *SCALED}:
        parser.error(f"unknown row: {', '.join(sorted(unknown))}")
    console, versions = Console(width=140), peers.versions()
    figures: list[table.Figure] = []
    for name in wanted.rows or ROWS:
        console.print(f"measuring {name} ...")
        measure = importlib.import_module(f"bench.{name}").measure
        given = {each: getattr(wanted, each) for each in inspect.signature(measure).parameters if each != "quick"}
        given = {each: value for each, value in given.items() if value is not None}
        found = measure(wanted.quick, **given)
        figures += found
        table.save(f"{name}-quick" if wanted.quick or given else name, found, versions)
    table.show(figures, console)
    console.print(", ".join(f"{name} {version}" for name, version in versions.items()))


if __name__ == "__main__":
    main()
