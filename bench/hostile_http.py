"""Row 23: devices beside strangers who hold every HTTP connection that one address may have.

The same load runs once alone and once with each attack of `strangers.py`. Memory is the server's own (`RssAnon`), which
the largest of the load alone is taken from.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench import fleet, loadgen, peers, strangers
from bench.device_channel import disk
from bench.table import Figure

DEVICES, RATE = 500, 1_000
AT_THE_CAP = 512
SECONDS, QUICK_SECONDS = 60.0, 5.0
WARMUP_S = 2.0
LOOK_S = 0.1
MEMORY_MIB, LATER_MS = 64, 250
ROW = f"23 {DEVICES} TLS devices, {RATE} messages/s, {AT_THE_CAP} hostile HTTP connections"


def measure(quick: bool, seconds: float | None = None) -> list[Figure]:
    """What each attack adds to the slowest PUBACKs and to memory."""
    loadgen.build()
    lasting = seconds or (QUICK_SECONDS if quick else SECONDS)
    rounds = ("alone", *strangers.ATTACKS)
    with tempfile.TemporaryDirectory(dir=disk()) as made:
        data = Path(made) / "data"
        fleet.make(data, DEVICES * (len(rounds) + 1))
        with peers.tripline(data) as server:
            _loaded(server, data, 0, QUICK_SECONDS)  # caches fill, code is compiled
            seen = {name: _round(server, data, name, place + 1, lasting) for place, name in enumerate(rounds)}
    return [figure for name in strangers.ATTACKS for figure in _figures(name, seen)]


def _round(server: peers.Server, data: Path, name: str, place: int, seconds: float) -> dict[str, Any]:
    with _largest(server) as memory:
        if name == "alone":
            return {**_loaded(server, data, place, seconds), "memory": memory}
        address = urlsplit(server.api)
        command = [sys.executable, "-m", "bench.strangers", name, f"{address.hostname}:{address.port}"]
        command = ["taskset", "-c", str(peers.GENERATOR_CORE), *command, str(seconds + WARMUP_S), str(AT_THE_CAP)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as attack:
            load = _loaded(server, data, place, seconds)
            out, _ = attack.communicate(timeout=seconds + 60)
    return {**load, "memory": memory, "attack": json.loads(out)}


def _loaded(server: peers.Server, data: Path, place: int, seconds: float) -> dict[str, Any]:
    users = fleet.users(data, first=place * DEVICES, count=DEVICES)
    told = {"users": users, "connections": DEVICES, "publishers": DEVICES, "rate": RATE}
    return loadgen.run(server, **told, warmup=WARMUP_S, seconds=seconds)


@contextlib.contextmanager
def _largest(server: peers.Server) -> Iterator[list[int]]:
    """The server's own memory, KiB, watched until the end: the largest."""
    found, over = [server.private_kib()], threading.Event()

    def watch() -> None:
        while not over.wait(LOOK_S):
            found[0] = max(found[0], server.private_kib())

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield found
    finally:
        over.set()
        watching.join()


def _figures(name: str, seen: dict[str, dict[str, Any]]) -> list[Figure]:
    alone, attacked = seen["alone"], seen[name]
    later = (attacked["p999_us"] - alone["p999_us"]) / 1_000
    grown = (attacked["memory"][0] - alone["memory"][0]) / 1_024
    return [
        Figure(
            row=ROW,
            name=f"{name}: 99.9th percentile of PUBACKs above the load alone, ms",
            value=later,
            gate=LATER_MS,
            at_least=False,
            detail={"alone": alone, "attacked": attacked},
        ),
        Figure(
            row=ROW,
            name=f"{name}: largest memory above the load alone, MiB",
            value=grown,
            gate=MEMORY_MIB,
            at_least=False,
        ),
    ]
