"""Row 30: the stream of the live map beside devices that move, on SQLite and PostgreSQL.

10,000 TLS devices drive, each with a message a second. One window shows all of them, then 200 directors have a window
on 100 each. Windows are open and closed in turn during one load, and the figure is the server's processor time in a
turn with windows, less that in the turns around it. On PostgreSQL, which shares the cores, a device has a message every
two seconds; positions are written as often as on SQLite (spec/positions L6).

How many messages a second of the server's core takes with a window and without: each device has one message in flight,
the core is full, and turns are taken likewise.

Not here: the page in a browser (`map_page.py`).
"""

import asyncio
import contextlib
import itertools
import re
import secrets
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import fleet, loadgen, peers, shared
from bench.device_channel import disk
from bench.table import Figure, of_rounds
from sqlalchemy import Connection, insert, select
from tests.support import postgres as support
from tests.support import reaching

from tripline.domain.access import Authority
from tripline.domain.account_sessions import Kind
from tripline.domain.delegations import UserRole
from tripline.services.accounts.sessions import Cookie
from tripline.store import tables
from tripline.store.database import postgres, sqlite

DEVICES: Final = 10_000
RATE, SHARED_RATE = 10_000, 5_000
DIRECTORS, EACH = 200, 100
TURNS, QUICK_TURNS = 4, 2
"""Turns with windows; there is one more without."""
SECONDS, QUICK_SECONDS = 10.0, 4.0
SETTLE_S: Final = 3.0
"""Before each turn: the first answer of a window costs more."""
LATEST_S: Final = 600.0
_DAY_MS: Final = 86_400_000
_FRAMES: Final = re.compile(r"^tripline_ingest_frames_total\S* (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rig:
    """A server with driving devices, its processor time and the sessions of those who look."""

    server: peers.Server
    cpu_s: Callable[[], float]
    admin: Cookie
    directors: Sequence[Cookie]

    def frames(self) -> float:
        """Messages taken in so far."""
        with urllib.request.urlopen(f"{self.server.api}/metrics", timeout=peers.START_SECONDS) as answer:
            return sum(float(each) for each in _FRAMES.findall(answer.read().decode()))


def measure(quick: bool) -> list[Figure]:
    """The stream's processor time and the rate of ingest beside it, on each store."""
    loadgen.build()
    figures = []
    with tempfile.TemporaryDirectory(dir=disk()) as made:
        data = Path(made) / "data"
        fleet.make(data, DEVICES)
        admin, directors = sign_in_file(data, DIRECTORS)
        with peers.tripline(data) as server:
            rig = Rig(server, server.cpu_s, admin, directors)
            figures += _beside(rig, data, "30 live map, SQLite", RATE, quick)
            figures += _ingest(rig, data, "30 live map, SQLite", quick)
    if support.programs() is not None:
        figures += _on_postgresql(quick)
    return figures


def _on_postgresql(quick: bool) -> list[Figure]:
    with shared.database() as database, tempfile.TemporaryDirectory(dir=disk()) as made:
        url = database.url(shared.DATABASE)
        fleet.make_on(url, DEVICES)
        with postgres.open_engine(url).connect() as connection:
            connection.exec_driver_sql("BEGIN")
            admin, directors = sign_in(connection, DIRECTORS)
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("VACUUM ANALYZE")
        variables = shared.variables(database)
        with peers.tripline(Path(made) / "data", variables=variables, cores=shared.BOTH_CORES) as server:

            def cpu_s() -> float:
                return shared.cpu_s(server.pid) + shared.cpu_s(database.pid)

            rig = Rig(server, cpu_s, admin, directors)
            return _beside(rig, Path(made), "30 live map, PostgreSQL", SHARED_RATE, quick)


def _beside(rig: Rig, folder: Path, row: str, rate: int, quick: bool) -> list[Figure]:
    """The processor time of streams beside a steady load."""
    with _driving(rig, folder, rate=rate, seconds=LATEST_S) as devices:
        one, all_s = _costs(rig, [rig.admin], quick)
        many, _ = _costs(rig, rig.directors, quick)
        run = devices.end()
    detail = {**run, "rate": rate}
    lost = run["never_acked"] + run["not_sent"]
    return [
        of_rounds(row=row, name="one window on 10,000 vehicles, cores", rounds=one, gate=0.25, at_least=False,
                  detail=detail),
        of_rounds(row=row, name="200 windows on 100 each, cores", rounds=many, gate=0.25, at_least=False),
        of_rounds(row=row, name="ingest alone, cores", rounds=all_s),
        Figure(row=row, name="p99 PUBACK in all turns, ms", value=run["p99_us"] / 1e3),
        Figure(row=row, name="not acknowledged or not sent", value=lost, gate=0, at_least=False),
    ]  # fmt: skip


def _costs(rig: Rig, cookies: Sequence[Cookie], quick: bool) -> tuple[list[float], list[float]]:
    """Cores that windows take in each turn, and the cores without them in the turns around."""
    turns = list(_in_turn(rig, cookies, quick))
    without = [each.cores for each in turns if not each.is_open]
    with_windows = [each.cores for each in turns if each.is_open]
    return [used - alone for used, alone in zip(with_windows, _around(without), strict=True)], without


def _ingest(rig: Rig, folder: Path, row: str, quick: bool) -> list[Figure]:
    """How many messages a second of the processor takes with a window, over how many without."""
    with _driving(rig, folder, window=1, seconds=LATEST_S) as devices:
        turns = list(_in_turn(rig, [rig.admin], quick))
        run = devices.end()
    without = [each.per_s / each.cores for each in turns if not each.is_open]
    with_window = [each.per_s / each.cores for each in turns if each.is_open]
    ratios = [rate / alone for rate, alone in zip(with_window, _around(without), strict=True)]
    return [
        of_rounds(row=row, name="ingest of a full core beside a window, x without", rounds=ratios, gate=0.95,
                  detail=run),
        of_rounds(row=row, name="without: messages of a second of its core", rounds=without),
        of_rounds(row=row, name="without: messages/s", rounds=[each.per_s for each in turns if not each.is_open]),
    ]  # fmt: skip


def _around(without: list[float]) -> list[float]:
    """For each turn with windows the mean of the turns before and after it."""
    return [(one + other) / 2 for one, other in itertools.pairwise(without)]


@dataclass(frozen=True, slots=True)
class Turn:
    """What the server did in a turn."""

    is_open: bool
    cores: float
    per_s: float
    """Messages taken in."""


def _in_turn(rig: Rig, cookies: Sequence[Cookie], quick: bool) -> Iterator[Turn]:
    """Take turns without these windows and with them."""
    seconds = QUICK_SECONDS if quick else SECONDS
    for turn in range(2 * (QUICK_TURNS if quick else TURNS) + 1):
        with watching(rig.server.api, cookies if turn % 2 else []) as windows:
            time.sleep(SETTLE_S)
            before, cpu, began, heard = rig.frames(), rig.cpu_s(), time.monotonic(), windows.bytes
            time.sleep(seconds)
            spent, took = rig.cpu_s() - cpu, time.monotonic() - began
            taken = rig.frames() - before
            if turn % 2 and (windows.closed or windows.bytes == heard):
                raise RuntimeError(f"{windows.closed} of {len(cookies)} windows were closed: {windows.said!r}")
        yield Turn(bool(turn % 2), spent / took, taken / took)


@contextlib.contextmanager
def _driving(rig: Rig, folder: Path, **load: Any) -> Iterator[loadgen.Fleet]:
    users = fleet.users(folder, first=0, count=DEVICES)
    own = {"users": users, "connections": DEVICES, "warmup": 1.0, "server": rig.server.pid, **load}
    with loadgen.Fleet(rig.server, "--drive", **own) as devices:
        devices.all_connected()
        time.sleep(SETTLE_S)
        yield devices


@dataclass(slots=True)
class Windows:
    """What open windows got."""

    bytes: int = 0
    closed: int = 0
    said: bytes = b""
    """The last words of one that was closed."""


@contextlib.contextmanager
def watching(api: str, cookies: Sequence[Cookie]) -> Iterator[Windows]:
    """These sessions have the stream open inside the block; what comes is counted and dropped."""
    windows, ready, stop = Windows(), threading.Event(), threading.Event()
    host, _, port = api.rpartition("//")[2].partition(":")

    async def one(cookie: Cookie, opened: asyncio.Semaphore) -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"GET /map/stream HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: tripline={cookie.text}\r\n\r\n"
        writer.write(head.encode())
        opened.release()
        with contextlib.suppress(asyncio.CancelledError):
            while piece := await reader.read(1 << 16):
                windows.bytes += len(piece)
                windows.said = piece[-200:]
                if b"event: end" in piece:
                    break
            windows.closed += 1
        writer.close()

    async def everyone() -> None:
        opened = asyncio.Semaphore(0)
        tasks = [asyncio.ensure_future(one(cookie, opened)) for cookie in cookies]
        for _ in cookies:
            await opened.acquire()
        ready.set()
        await asyncio.to_thread(stop.wait)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)

    thread = threading.Thread(target=asyncio.run, args=(everyone(),))
    thread.start()
    try:
        assert ready.wait(peers.START_SECONDS)
        yield windows
    finally:
        stop.set()
        thread.join()


def sign_in_file(data: Path, directors: int) -> tuple[Cookie, list[Cookie]]:
    """As `sign_in`, into the file of a data folder."""
    engine = sqlite.open_engine(data / "tripline.db")
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN")
        found = sign_in(connection, directors)
        connection.exec_driver_sql("COMMIT")
    engine.dispose()
    return found


def sign_in(connection: Connection, directors: int) -> tuple[Cookie, list[Cookie]]:
    """Sessions of the fleet's administrator and of new directors. Each has `EACH` vehicles: the first half as their
    managing directors, the others the same vehicles by a right."""
    now_ms = int(time.time() * 1000)
    company_id, admin_id = connection.execute(select(tables.account.c.company_id, tables.account.c.id)).one()
    vehicle_ids = connection.execute(select(tables.vehicle.c.id).order_by(tables.vehicle.c.vehicle_no)).scalars().all()
    ids = [str(uuid.uuid4()) for _ in range(directors)]
    if ids:
        connection.execute(insert(tables.account), [_director(each, company_id, now_ms) for each in ids])
    half = directors // 2
    for number, director_id in enumerate(ids):
        own = vehicle_ids[number % half * EACH : (number % half + 1) * EACH]
        if number < half:
            statement = tables.vehicle.update().where(tables.vehicle.c.id.in_(own)).values(director_id=director_id)
            connection.execute(statement)
        else:
            connection.execute(insert(tables.vehicle_user), [
                {
                    "id": str(uuid.uuid4()),
                    "created_ms": now_ms,
                    "vehicle_id": each,
                    "company_id": company_id,
                    "user_id": director_id,
                    "user_role": UserRole.DELEGATED_DIRECTOR.value,
                }
                for each in own
            ])  # fmt: skip
    reaching.recount_on(connection)
    cookies = [session(connection.execute, each) for each in (admin_id, *ids)]
    return cookies[0], cookies[1:]


def _director(user_id: str, company_id: str, now_ms: int) -> dict[str, Any]:
    return {
        "id": user_id,
        "created_ms": now_ms,
        "company_id": company_id,
        "authority": Authority.DIRECTOR.value,
        "name": "Director",
        "email": f"{user_id}@bench.example",
        "login": f"{user_id}@bench.example",
        "password_hash": "",
        "password_updated_ms": now_ms,
        "enabled": True,
    }


def session(run: Callable[[Any, Any], Any], user_id: str) -> Cookie:
    """A new session of the account in a browser. `run`: executes a statement with a row."""
    cookie, now_ms = Cookie(str(uuid.uuid4()), secrets.token_urlsafe(32)), int(time.time() * 1000)
    run(
        insert(tables.account_session),
        {
            "id": cookie.session_id,
            "user_id": user_id,
            "created_ms": now_ms,
            "expires_ms": now_ms + _DAY_MS,
            "current": cookie.hash,
            "rotated_ms": now_ms,
            "kind": Kind.BROWSER.value,
        },
    )
    return cookie
