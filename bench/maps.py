"""Row 27: importing a map of 80 MB, and serving its tiles.

The extract that `tripline map import` gets is one of Liechtenstein, 36 times side by side, with ids of its own
(`python -m bench.maps EXTRACT FILE` makes it), so the map has as many roads, buildings and tiles as a country of that
size. The import is a process of its own: its CPU time, and its largest resident set, pages of files in it.
`--quick` imports the extract once.

Tiles are asked for over HTTP by wrk, each time another one of zooms 10 to 14, by somebody who is signed in
with the cookie of the portal. Server and wrk have a core each; a figure is tiles per second of the server's
CPU time.

`BENCH_EXTRACT` names the extract to repeat.
"""

import os
import resource
import secrets
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import osmium
from bench import pages, peers
from bench.device_channel import disk
from bench.table import Figure, of_rounds
from osmium.osm import mutable
from pmtiles.reader import MmapSource, all_tiles
from sqlalchemy import insert, select

from tripline.adapters import map_files
from tripline.domain.account_sessions import Kind
from tripline.services.accounts.browser_sessions import Cookie
from tripline.store import tables
from tripline.store.database import sqlite

COLUMNS, ROWS = 6, 6
EAST_DEG, NORTH_DEG = 0.2, 0.26
"""From one copy to the next: more than the extract of Liechtenstein measures."""
ROUNDS, QUICK_ROUNDS, SECONDS = 5, 2, 2
TILES: Final = 5_000
_DAY_MS: Final = 86_400_000
_EXTRACT: Final = "BENCH_EXTRACT"


@dataclass(frozen=True, slots=True)
class Server(pages.Server):
    """A server with a map; the token is the cookie of who asks."""

    @property
    def header(self) -> tuple[str, str]:
        """What shows who asks."""
        return "Cookie", self.token


def measure(quick: bool) -> list[Figure]:
    """The figures of row 27."""
    pages.install()
    if not os.environ.get(_EXTRACT):
        sys.exit(f"Set {_EXTRACT} to the OpenStreetMap extract (.osm.pbf) that is to be repeated.")
    extract = Path(os.environ[_EXTRACT])
    with tempfile.TemporaryDirectory(dir=disk()) as folder:
        data = Path(folder) / "data"
        cookie = _installed(data)
        file = extract if quick else Path(folder) / "copies.osm.pbf"
        if not quick:
            repeat(extract, file)
        figures = [*_imported(file, data)]
        with peers.tripline(data) as server:
            port = int(server.api.rpartition(":")[2])
            asking = Server(process=server, port=port, token=f"tripline={cookie.text}")
            figures += _served(asking, _addresses(data / "maps"), Path(folder), quick)
    return figures


def repeat(extract: Path, file: Path) -> None:
    """Write the extract so often side by side, as one map: ids start anew with each copy."""
    numbers: dict[tuple[str, int], int] = {}
    for kind in ("n", "w", "r"):
        for thing in osmium.FileProcessor(str(extract)):
            if thing.type_str() == kind:
                numbers[kind, thing.id] = len(numbers) + 1
    step = len(numbers)
    with osmium.SimpleWriter(str(file), overwrite=True) as writer:
        for kind in ("n", "w", "r"):
            for copy in range(COLUMNS * ROWS):
                _copy(extract, writer, kind, numbers, copy, copy * step)


def _copy(extract: Path, writer: Any, kind: str, numbers: dict[tuple[str, int], int], copy: int, base: int) -> None:
    east, north = copy % COLUMNS * EAST_DEG, copy // COLUMNS * NORTH_DEG

    def number(of: str, no: int) -> int:
        # What the extract lacks stays away.
        return base + numbers[of, no] if (of, no) in numbers else 10**12 + no

    for thing in osmium.FileProcessor(str(extract)):
        if thing.type_str() != kind:
            continue
        new = number(kind, thing.id)
        if kind == "n":
            place = (thing.location.lon + east, thing.location.lat + north)
            writer.add_node(mutable.Node(id=new, location=place, tags=thing.tags))
        elif kind == "w":
            nodes = [number("n", each.ref) for each in thing.nodes]
            writer.add_way(mutable.Way(id=new, nodes=nodes, tags=thing.tags))
        else:
            members = [(each.type, number(each.type, each.ref), each.role) for each in thing.members]
            writer.add_relation(mutable.Relation(id=new, members=members, tags=thing.tags))


def _imported(file: Path, data: Path) -> Iterator[Figure]:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "tripline", "map", "import", str(file), "--data", str(data)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    took_s, own = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    (area,) = map_files.areas(data / "maps")
    mib = file.stat().st_size / 2**20
    row = f"27 import of a map of {mib:.0f} MiB"
    detail = {"seconds": took_s, "roads": area.roads, "bytes": area.size, "mib": mib}
    cpu_s = own.ru_utime + own.ru_stime - before.ru_utime - before.ru_stime
    of_large = {"gate": 180.0, "stretch": 90.0} if mib > 50 else {}
    yield Figure(row=row, name="CPU time, s", value=cpu_s, at_least=False, detail=detail, **of_large)  # type: ignore[arg-type]
    memory = own.ru_maxrss / 1024
    gate = 1_024.0 if mib > 50 else None
    yield Figure(row=row, name="memory at most, MiB", value=memory, at_least=False, gate=gate)


def _installed(data: Path) -> Cookie:
    """A data folder with an account, and the cookie of its session."""
    command = [sys.executable, "-m", "tripline", "admin", "create", "--email", "a@bench.example", "--password-stdin"]
    password = secrets.token_urlsafe(16)
    subprocess.run([*command, "--data", str(data)], check=True, input=password, text=True, stdout=subprocess.DEVNULL)
    cookie, now_ms = Cookie(str(uuid.uuid4()), secrets.token_urlsafe(32)), int(time.time() * 1000)
    engine = sqlite.open_engine(data / "tripline.db")
    with engine.begin() as connection:
        session = {
            "id": cookie.session_id,
            "user_id": connection.execute(select(tables.account.c.id)).scalar_one(),
            "created_ms": now_ms,
            "expires_ms": now_ms + _DAY_MS,
            "current": cookie.hash,
            "rotated_ms": now_ms,
            "kind": Kind.BROWSER.value,
        }
        connection.execute(insert(tables.account_session), [session])
    engine.dispose()
    return cookie


def _addresses(folder: Path) -> list[str]:
    (area,) = map_files.areas(folder)
    with (folder / area.folder / map_files.TILES).open("rb") as opened:
        places = [place for place, _ in all_tiles(MmapSource(opened)) if place[0] >= 10]
    every = max(len(places) // TILES, 1)
    return [f"/map/{zoom}/{column}/{row}.mvt" for zoom, column, row in places[::every]]


def _served(server: Server, addresses: list[str], folder: Path, quick: bool) -> Iterator[Figure]:
    script = pages.script(folder / "tiles", addresses, server)
    pages.load(server, script, 1)
    found = [pages.load(server, script, SECONDS) for _ in range(QUICK_ROUNDS if quick else ROUNDS)]
    yield of_rounds(
        row="27 tiles, by cookie",
        name="tiles per second of one core",
        rounds=[one.per_cpu_s for one in found],
        gate=2_000,
        detail=pages.detail(found) | {"addresses": len(addresses)},
    )


if __name__ == "__main__":
    repeat(*map(Path, sys.argv[1:]))
