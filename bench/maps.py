"""Row 27: importing a map of 80 MB, and serving its tiles.

The extract that `tripline map import` gets is one of Liechtenstein, 36 times side by side, with ids of its own
(`python -m bench.maps EXTRACT FILE` makes it), so the map has as many roads, buildings and tiles as a country of that
size. The import is a process of its own: its CPU time, and its largest resident set, pages of files in it.
`--quick` imports the extract once.

Tiles are asked for over HTTP by wrk, each time another one of zooms 10 to 14, by somebody who is signed in: in turn
with the cookie of the portal, as pages ask, and with a token of REST, as applications do. wrk takes no gzip, so each
tile is unpacked, which browsers spare the server. The server has one core, wrk the other; a figure is tiles per second
of the server's CPU time. Then, where PostgreSQL is installed, the same by a server on PostgreSQL, which has the same
core; its CPU time counts.

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import osmium
from bench import big_pages, fleet, pages, peers, shared
from bench.device_channel import disk
from bench.table import Figure, of_rounds
from osmium.osm import mutable
from pmtiles.reader import MmapSource, all_tiles
from sqlalchemy import Engine, insert, select
from tests.support import postgres as support

from tripline.adapters.maps import files
from tripline.domain.account_sessions import Kind
from tripline.services.accounts.sessions import Cookie
from tripline.store import tables
from tripline.store.database import postgres, sqlite

COLUMNS, ROWS = 6, 6
EAST_DEG, NORTH_DEG = 0.2, 0.26
"""From one copy to the next: more than the extract of Liechtenstein measures."""
ROUNDS, QUICK_ROUNDS, SECONDS = 5, 2, 2
TILES: Final = 5_000
_DAY_MS: Final = 86_400_000
_EXTRACT: Final = "BENCH_EXTRACT"


COOKIE: Final = Cookie(str(uuid.uuid4()), secrets.token_urlsafe(32))
"""Of the administrator."""


@dataclass(frozen=True, slots=True)
class Server(pages.Server):
    """A server with a map, and somebody who asks: with the token, or with a cookie."""

    cpu_of: Callable[[], float]
    cookie: Cookie | None = None

    @property
    def header(self) -> tuple[str, str]:
        """What shows who asks."""
        if self.cookie is None:
            return "X-Authorization", f"Bearer {self.token}"
        return "Cookie", f"tripline={self.cookie.text}"

    def cpu_s(self) -> float:
        """CPU time used so far, PostgreSQL's in it."""
        return self.cpu_of()


def measure(quick: bool) -> list[Figure]:
    """The figures of row 27."""
    pages.install()
    if not os.environ.get(_EXTRACT):
        sys.exit(f"Set {_EXTRACT} to the OpenStreetMap extract (.osm.pbf) that is to be repeated.")
    extract = Path(os.environ[_EXTRACT])
    with tempfile.TemporaryDirectory(dir=disk()) as folder:
        data = Path(folder) / "data"
        fleet.make(data, 1)
        file = extract if quick else Path(folder) / "copies.osm.pbf"
        if not quick:
            repeat(extract, file)
        figures = [*_imported(file, data)]
        figures += served(data, Path(folder), quick)
        if support.programs() is not None:
            figures += served_shared(data / "maps", Path(folder), quick)
    return figures


def served(data: Path, folder: Path, quick: bool) -> Iterator[Figure]:
    """The tiles of a data folder with a fleet and a map."""
    engine = sqlite.open_engine(data / "tripline.db")
    _sign_in(engine)
    engine.dispose()
    with peers.tripline(data) as server:
        token = fleet.token_of_admin(data)
        yield from _tiles("27 tiles", server, token, server.cpu_s, data / "maps", folder, quick)


def served_shared(maps: Path, folder: Path, quick: bool) -> Iterator[Figure]:
    """The tiles of these maps, by a server on PostgreSQL."""
    with shared.database(durable=False) as database:
        url = database.url(shared.DATABASE)
        fleet.make_on(url, 1)
        _sign_in(postgres.open_engine(url))
        with big_pages.served_with(folder, database, map_dir=str(maps)) as server:
            token = shared.admin_token(database)

            def cpu_s() -> float:
                return shared.cpu_s(server.pid) + shared.cpu_s(database.pid)

            yield from _tiles("27 tiles, PostgreSQL", server, token, cpu_s, maps, folder, quick)


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
    (area,) = files.areas(data / "maps")
    mib = file.stat().st_size / 2**20
    row = f"27 import of a map of {mib:.0f} MiB"
    detail = {"seconds": took_s, "roads": area.roads, "bytes": area.size, "mib": mib}
    cpu_s = own.ru_utime + own.ru_stime - before.ru_utime - before.ru_stime
    of_large = {"gate": 180.0, "stretch": 90.0} if mib > 50 else {}
    yield Figure(row=row, name="CPU time, s", value=cpu_s, at_least=False, detail=detail, **of_large)  # type: ignore[arg-type]
    memory = own.ru_maxrss / 1024
    gate = 1_024.0 if mib > 50 else None
    yield Figure(row=row, name="memory at most, MiB", value=memory, at_least=False, gate=gate)


def _sign_in(engine: Engine) -> None:
    """Open the administrator's session of a browser."""
    now_ms = int(time.time() * 1000)
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN")
        session = {
            "id": COOKIE.session_id,
            "user_id": connection.execute(select(tables.account.c.id)).scalar_one(),
            "created_ms": now_ms,
            "expires_ms": now_ms + _DAY_MS,
            "current": COOKIE.hash,
            "rotated_ms": now_ms,
            "kind": Kind.BROWSER.value,
        }
        connection.execute(insert(tables.account_session), [session])
        connection.exec_driver_sql("COMMIT")


def _addresses(folder: Path) -> list[str]:
    (area,) = files.areas(folder)
    with (folder / area.folder / files.TILES).open("rb") as opened:
        places = [place for place, _ in all_tiles(MmapSource(opened)) if place[0] >= 10]
    every = max(len(places) // TILES, 1)
    return [f"/map/{zoom}/{column}/{row}.mvt" for zoom, column, row in places[::every]]


def _tiles(
    row: str, server: peers.Server, token: str, cpu_of: Callable[[], float], maps: Path, folder: Path, quick: bool
) -> Iterator[Figure]:
    port = int(server.api.rpartition(":")[2])
    addresses = _addresses(maps)
    by_token = Server(process=server, port=port, token=token, cpu_of=cpu_of)
    asking = {"token": by_token, "cookie": replace(by_token, cookie=COOKIE)}
    scripts = {who: pages.script(folder / f"tiles-{who}", addresses, each) for who, each in asking.items()}
    found: dict[str, list[pages.Round]] = {who: [] for who in asking}
    for who, script in scripts.items():
        pages.load(asking[who], script, 1)
    for _ in range(QUICK_ROUNDS if quick else ROUNDS):
        for who, script in scripts.items():
            found[who].append(pages.load(asking[who], script, SECONDS))
    for who, rounds in found.items():
        detail = pages.detail(rounds) | {"addresses": len(addresses)}
        rates = [each.per_cpu_s for each in rounds]
        yield of_rounds(row=row, name=f"by {who}, tiles/s of one core", rounds=rates, gate=2_000, detail=detail)
        yield of_rounds(row=row, name=f"by {who}, p99, ms", rounds=[each.p99_ms for each in rounds])


if __name__ == "__main__":
    repeat(*map(Path, sys.argv[1:]))
