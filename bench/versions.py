"""Another version beside this one: rows 1 to 4, 7 and 25, in alternating pairs, by the server's CPU time.

    python -m bench.versions CHECKOUT [--pairs 20] [--rows WORDS]

`CHECKOUT` is a working copy of the other version (`git worktree add`). Both servers run all the time on one core and
are loaded in turn from the other; a pair is one load of each. Of row 25 a pair is a process of each, which scores trips
without a map (`score_drives.py`); who is first takes turns.

A ratio is this version's CPU time for a message, a page or trips over the other's. The interval holds the median ratio
with at least 95 %, whatever the distribution. A row is slower when the interval lies wholly above
1.05.
"""

import argparse
import contextlib
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench import fleet, loadgen, pages, peers
from bench.device_channel import LOADS, MOST_CONNECTIONS, disk
from bench.scoring import DRIVES
from rich.console import Console

PAIRS = 20
SECONDS, WARMUP_SECONDS = 2.0, 0.5
FLEET_DEVICES, FLEET_RATE = 10_000, 10_000
SCORED = {"hours": 20, "fleet": 100}
"""Trips of each sort that a process scores."""
SLOWER = 1.05
_MAKE_FLEET = "import sys, pathlib; from bench import fleet; fleet.make(pathlib.Path(sys.argv[1]), int(sys.argv[2]))"


def main() -> None:
    """Measure and print each row."""
    parser = argparse.ArgumentParser(prog="python -m bench.versions", description=__doc__)
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="a pair is one load of each version")
    parser.add_argument("--rows", default="", help="only rows whose name begins so, such as 2")
    wanted = parser.parse_args()
    checkouts = (peers.ROOT, wanted.checkout.resolve())
    console = Console(width=120)
    for name, ratio in _rows(checkouts, wanted.pairs, wanted.rows):
        ratios = [ratio() for _ in range(wanted.pairs)]
        low, high = interval(ratios)
        verdict = "slower" if low > SLOWER else "not slower"
        console.print(f"{name}: {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f}), {verdict}")


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """The order statistics between which the median lies with 95 % or more; all of them when they are under six."""
    count, ordered = len(ratios), sorted(ratios)
    outside, rank = 0.0, 0
    while rank < count // 2:
        outside += math.comb(count, rank) / 2**count
        if 2 * outside > 0.05:
            break
        rank += 1
    return ordered[max(rank - 1, 0)], ordered[count - max(rank, 1)]


def _rows(checkouts: Sequence[Path], pairs: int, begin: str) -> Iterator[tuple[str, Callable[[], float]]]:
    """Name of each row, and what loads both versions once and gives the ratio."""
    names = {load.row: load for load in LOADS if load.row.startswith(begin)}
    four = "4 10,000 devices, 10,000 messages/s"
    if names or four.startswith(begin):
        loadgen.build()
        with tempfile.TemporaryDirectory(dir=disk()) as made, contextlib.ExitStack() as running:
            sensors = max(MOST_CONNECTIONS * pairs * len(LOADS), FLEET_DEVICES)
            folders = [Path(made) / str(number) for number in range(len(checkouts))]
            servers = [
                running.enter_context(_server(checkout, folder, sensors))
                for checkout, folder in zip(checkouts, folders, strict=True)
            ]
            taken = iter(range(0, sensors, MOST_CONNECTIONS))
            for name, load in names.items():
                shape = {"kind": load.kind, "form": load.form, "connections": load.connections, "window": load.window}
                flags = ["--apart"] if load.is_hard else []
                yield name, lambda shape=shape, flags=flags: _messages(servers, folders[0], next(taken), flags, shape)
            if four.startswith(begin):
                shape = {"connections": FLEET_DEVICES, "rate": FLEET_RATE}
                yield four, lambda: _messages(servers, folders[0], 0, [], shape)
    seven = "7 page of 20 scores, 10 million rows"
    if seven.startswith(begin):
        with tempfile.TemporaryDirectory() as made, contextlib.ExitStack() as running:
            loads = [running.enter_context(_pages(each, Path(made) / str(at))) for at, each in enumerate(checkouts)]
            yield seven, lambda: loads[0]() / loads[1]()
    rows = {"25 trips of an hour scored without a map": "hours", "25 a fleet scored without a map": "fleet"}
    for name, kind in rows.items():
        if name.startswith(begin):
            turns = itertools.cycle((checkouts, checkouts[::-1]))
            yield name, lambda kind=kind, turns=turns: _trips(next(turns), kind, checkouts)


@contextlib.contextmanager
def _server(checkout: Path, folder: Path, sensors: int) -> Iterator[peers.Server]:
    command = [peers.installed(checkout), "-c", _MAKE_FLEET, folder, str(sensors)]
    subprocess.run(command, cwd=checkout, check=True)
    with peers.tripline(folder, checkout=checkout) as server:
        yield server


def _messages(
    servers: Sequence[peers.Server], folder: Path, first: int, flags: Sequence[str], shape: dict[str, str | int]
) -> float:
    """CPU time a message of the first server over the second's."""
    users = fleet.users(folder, first=first, count=int(shape["connections"]))
    spent = []
    for server in servers:
        run = loadgen.run(server, *flags, users=users, warmup=WARMUP_SECONDS, seconds=SECONDS, **shape)
        spent.append(run["server_cpu_s"] / run["acked"])
    return float(spent[0] / spent[1])


@contextlib.contextmanager
def _pages(checkout: Path, folder: Path) -> Iterator[Callable[[], float]]:
    """What asks one version for pages and gives its CPU time a page."""
    pages.install()
    folder.mkdir()
    python = os.fspath(peers.installed(checkout))
    subprocess.run([python, "-m", "bench.make_scores"], cwd=checkout, stderr=subprocess.DEVNULL, check=True)
    command = ["taskset", "-c", str(peers.SERVER_CORE), python, "-m", "bench.serve_pages"]
    with subprocess.Popen(command, cwd=checkout, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port, token = process.stdout.readline().split()
            server = pages.Server(process, int(port), token)
            script = pages.script(folder / "first", pages.paths(server)["first"], server)
            yield lambda: 1 / pages.load(server, script, int(SECONDS)).per_cpu_s
        finally:
            process.terminate()


def _trips(turn: Sequence[Path], kind: str, checkouts: Sequence[Path]) -> float:
    """CPU time of the first version over the second's, who work in this turn."""
    wanted = {each: str(count if each == kind else 0) for each, count in SCORED.items()}
    command = [sys.executable, peers.ROOT / "bench/score_drives.py", DRIVES, *wanted.values()]
    spent = {}
    for checkout in turn:
        paths = os.pathsep.join(map(os.fspath, (checkout / "src", checkout)))
        run = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, check=True)
        spent[checkout] = json.loads(run.stdout.splitlines()[-1])[kind]
    first, second = checkouts
    return float(spent[first] / spent[second])


if __name__ == "__main__":
    main()
