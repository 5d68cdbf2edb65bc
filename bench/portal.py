"""Row 24: pages and files of the portal at 100,000 vehicles.

The fleet of row 10, each vehicle with a position, each sensor with a line and a message and each driver with a right,
and as many accounts and applications as vehicles. A server of all roles has one core, wrk the other; then, where
PostgreSQL is installed, the same on PostgreSQL, which shares the server's core. One browser asks at a time, so what it
waits is the server's time and no queue's; requests are counted per second of CPU time, PostgreSQL's in it. Pages of a
kind take turns. Asked are first and deep pages, other orders, filters that find nothing, records and searches, by whom
they cost most (the operator sees all rows, the platform administrator all accounts), by a partner and by its director.

A file of a list runs from the form to when it can be had. Page weight is a list and everything that it loads, as sent.

Not here: the rows of REST on the same fleet (`surface.py`).
"""

import base64
import contextlib
import gzip
import json
import re
import secrets
import statistics
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench import big_pages, companies, pages, peers, shared, surface
from bench.companies import Made
from bench.device_channel import disk
from bench.table import Figure, of_rounds
from sqlalchemy import Connection, insert, select
from tests.support import postgres as support
from tests.support import reaching

from tripline.domain.access import Authority
from tripline.domain.account_sessions import Kind
from tripline.domain.applications import State as ApplicationState
from tripline.domain.delegations import UserRole
from tripline.domain.lines import NwStatus
from tripline.services.accounts.sessions import Cookie
from tripline.store import migrate, tables
from tripline.store.database import postgres, sqlite

ROUNDS, QUICK_ROUNDS, SECONDS = 4, 1, 1
ACTORS: Final = ("operator_admin", "big_admin", "director", "platform")
_EXPORT_S: Final = 120
_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class Server(pages.Server):
    """A server with the fleet; the token is the cookie of the account that asks."""

    address: str = ""
    cpu_of: Callable[[], float] = field(default=float)

    @property
    def header(self) -> tuple[str, str]:
        """What shows who asks."""
        return "Cookie", f"tripline={self.token}"

    def cpu_s(self) -> float:
        """CPU time used so far, PostgreSQL's in it."""
        return self.cpu_of()

    def open(self, path: str, form: dict[str, str] | None = None, *, packed: bool = False) -> Any:
        """An answer, after any way on."""
        headers = dict([self.header]) | ({"Accept-Encoding": "gzip"} if packed else {})
        csrf = Cookie(*self.token.split(".")).csrf
        body = None if form is None else urllib.parse.urlencode({"csrf": csrf, **form}).encode()
        return urllib.request.urlopen(urllib.request.Request(self.address + path, body, headers), timeout=60)


@dataclass(frozen=True, slots=True)
class Fleet:
    """What was made: who may ask, and what for."""

    made: Made
    cookies: dict[str, Cookie]
    last: dict[str, str]
    """Ids of a vehicle and of a sensor far back in their lists, and the vehicle's number."""


def measure(quick: bool) -> list[Figure]:
    """Pages, files and weight on SQLite, then on PostgreSQL."""
    pages.install()
    size = surface.LARGE
    figures = []
    with tempfile.TemporaryDirectory(dir=disk()) as folder:
        data = Path(folder) / "data"
        fleet = on_sqlite(data)
        with peers.tripline(data) as server:
            asking = {actor: _server(server, fleet, actor, server.cpu_s) for actor in ACTORS}
            figures += _pages(f"24 portal, {size.vehicles:,} vehicles", asking, fleet, Path(folder), quick)
            figures += _files("24 files of a list", asking["operator_admin"], server)
            figures.append(_weight("24 page weight", asking["operator_admin"]))
    if support.programs() is None:
        return figures
    with tempfile.TemporaryDirectory(dir=disk()) as folder, shared.database(durable=False) as database:
        fleet = on_postgres(database)
        with big_pages.served_with(Path(folder), database) as server:
            pid = server.pid
            asking = {
                actor: _server(server, fleet, actor, lambda: shared.cpu_s(pid) + shared.cpu_s(database.pid))
                for actor in ACTORS
            }
            figures += _pages(f"24 portal, {size.vehicles:,} vehicles, PostgreSQL", asking, fleet, Path(folder), quick)
            if not quick:
                figures += _files("24 files of a list, PostgreSQL", asking["operator_admin"], server)
    return figures


def on_sqlite(data: Path) -> Fleet:
    """A data folder with the fleet."""
    data.mkdir(mode=0o700)
    migrate.upgrade(data / "tripline.db")
    engine = sqlite.open_engine(data / "tripline.db")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        connection.exec_driver_sql("BEGIN")
        fleet = _made(connection)
        connection.exec_driver_sql("COMMIT")
    engine.dispose()
    return fleet


def on_postgres(database: support.Cluster) -> Fleet:
    """The fleet in an empty database."""
    url = database.url(shared.DATABASE)
    migrate.upgrade_shared(url, now_ms=int(time.time() * 1000))
    with postgres.open_engine(url).connect() as connection:
        connection.exec_driver_sql("BEGIN")
        fleet = _made(connection)
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("VACUUM ANALYZE")
    return fleet


def _made(connection: Connection) -> Fleet:
    made, now_ms = companies.write(connection, surface.LARGE), int(time.time() * 1000)
    cookies = {actor: Cookie(str(uuid.uuid4()), secrets.token_urlsafe(32)) for actor in ACTORS}
    platform = _of_platform(connection, surface.LARGE.vehicles)
    sessions = [
        {
            "id": cookie.session_id,
            "user_id": platform if actor == "platform" else getattr(made, actor),
            "created_ms": now_ms,
            "expires_ms": now_ms + _DAY_MS,
            "current": cookie.hash,
            "rotated_ms": now_ms,
            "kind": Kind.BROWSER.value,
        }
        for actor, cookie in cookies.items()
    ]
    connection.execute(insert(tables.account_session), sessions)
    vehicles = connection.execute(tables.vehicle.select().order_by(tables.vehicle.c.vehicle_no)).all()
    positions = [
        {
            "vehicle_id": row.id,
            "company_id": row.company_id,
            "change_no": 1,
            # From a minute to ten days ago: a list writes some spans and some days.
            "time_ms": now_ms - 60_000 * (1 + number * 7 % 14_400),
            "lat": 37.5,
            "lon": 127.0,
            "speed_kmh": number % 110,
            "parking": False,
        }
        for number, row in enumerate(vehicles)
    ]
    connection.execute(insert(tables.vehicle_position), positions)
    drivers = connection.execute(tables.account.select().where(tables.account.c.authority == "DRIVER")).all()
    rights = [
        {
            "id": companies.MAKER.next(now_ms=companies.FIRST_MS),
            "created_ms": companies.FIRST_MS,
            "vehicle_id": vehicles[number * 11 % len(vehicles)].id,
            "company_id": driver.company_id,
            "user_id": driver.id,
            "user_role": UserRole.DRIVER.value,
        }
        for number, driver in enumerate(drivers)
        if driver.id != made.driver
    ]
    connection.execute(insert(tables.vehicle_user), rights)
    _lines(connection)
    _messages(connection, made.big, now_ms)
    reaching.recount_on(connection)
    sensor = tables.sensor.select().where(tables.sensor.c.serial_no == f"SN-{vehicles[-1000].vehicle_no}")
    last = {"vehicle": vehicles[-1000].id, "number": vehicles[-1000].vehicle_no}
    last["sensor"] = connection.execute(sensor).one().id
    return Fleet(made, cookies, last)


def _of_platform(connection: Connection, count: int) -> str:
    """Accounts without a company, a platform administrator first, and applications, of which every hundredth waits.
    The id of that account."""
    made = companies.MAKER.run(2 * count, now_ms=companies.FIRST_MS)
    common = {"created_ms": companies.FIRST_MS, "password_hash": "", "password_updated_ms": 0, "enabled": True}
    accounts = [
        {
            **common,
            "id": account_id,
            "authority": (Authority.COMPANY_ADMIN if number else Authority.SYS_ADMIN).value,
            "name": f"Applicant {number:06d}",
            "email": f"applicant{number:06d}@bench.example",
            "login": f"applicant{number:06d}@bench.example",
        }
        for number, account_id in enumerate(made[:count])
    ]
    connection.execute(insert(tables.account), accounts)
    applications = [
        {
            "id": application_id,
            "created_ms": companies.FIRST_MS + number,
            "service_name": f"Service {number * 7 % count:06d}",
            "company_name": f"Company {number:06d}",
            "contact_name": f"Applicant {number:06d}",
            "mobile": "010",
            "email": accounts[number]["email"],
            "login": accounts[number]["login"],
            "introduction": "A fleet.",
            "language": "en",
            "state": (ApplicationState.APPROVED if number % 100 else ApplicationState.SUBMITTED).value,
            "decided_ms": companies.FIRST_MS if number % 100 else None,
        }
        for number, application_id in enumerate(made[count:])
    ]
    connection.execute(insert(tables.service_application), applications)
    return str(accounts[0]["id"])


def _lines(connection: Connection) -> None:
    """A line of each sensor, of which every thousandth is paused."""
    sensors = connection.execute(select(tables.sensor.c.id).order_by(tables.sensor.c.serial_no)).scalars()
    lines = [
        {
            "sensor_id": sensor_id,
            "mdn": f"010{number:08d}",
            "nw_status": (NwStatus.NORMAL if number % 1_000 else NwStatus.USE_SUSPENDED).value,
            "updated_ms": companies.FIRST_MS,
        }
        for number, sensor_id in enumerate(sensors)
    ]
    connection.execute(insert(tables.carrier_line), lines)


def _messages(connection: Connection, company_id: str, now_ms: int) -> None:
    """Messages to a company that were given up, as many as there are sensors."""
    sensors = connection.execute(select(tables.sensor.c.id)).scalars().all()
    first = companies.MAKER.take(len(sensors), now_ms=companies.FIRST_MS)
    rows = [
        {
            "no": first + number,
            "id": companies.MAKER.text(first + number),
            "company_id": company_id,
            "sensor_id": sensor_id,
            "selector": 2 + number % 2 * 99,
            "body": b'{"ty":"MICROTRIP","pld":{}}',
            "due_ms": now_ms,
            "attempts": 9,
            "last_error": "HTTP status 500.",
            "parked_ms": now_ms,
        }
        for number, sensor_id in enumerate(sensors)
    ]
    connection.execute(insert(tables.push_outbox), rows)


def _server(server: peers.Server, fleet: Fleet, actor: str, cpu_of: Callable[[], float]) -> Server:
    port = int(server.api.rpartition(":")[2])
    return Server(process=server, port=port, token=fleet.cookies[actor].text, address=server.api, cpu_of=cpu_of)


def asked(fleet: Fleet) -> dict[str, dict[str, tuple[str, str]]]:
    """Who asks for which page, by the page's name, by kind."""
    number, sensor_id, last = fleet.last["number"], fleet.last["sensor"], fleet.last["vehicle"]
    deep = _place(number, last)
    vehicles, sensors, given_up = "/fleet/vehicles", "/fleet/sensors", "/pushes/messages?state=parked"
    lists = {
        "vehicles": ("operator_admin", vehicles),
        "vehicles, deep": ("operator_admin", f"{vehicles}?after={deep}"),
        "vehicles, newest first": ("operator_admin", f"{vehicles}?sort=-created"),
        "vehicles, without sensor": ("operator_admin", f"{vehicles}?sensor=without"),
        "vehicles, driving now: none": ("operator_admin", f"{vehicles}?driving=now"),
        "vehicles, search that finds none": ("operator_admin", f"{vehicles}?q=zz"),
        "vehicles, every column": (
            "operator_admin",
            f"{vehicles}?" + "&".join(f"columns={each}" for each in _COLUMNS),
        ),
        "vehicles of a partner": ("big_admin", vehicles),
        "vehicles of a partner, deep": ("big_admin", f"{vehicles}?after={deep}"),
        "vehicles of a director": ("director", vehicles),
        "sensors": ("operator_admin", sensors),
        "sensors, deep": ("operator_admin", f"{sensors}?after={_place(f'SN-{number}', sensor_id)}"),
        "drivers": ("big_admin", "/fleet/drivers"),
        "companies": ("operator_admin", "/fleet/companies"),
        "lines": ("big_admin", "/lines"),
        "lines, newest first": ("big_admin", "/lines?sort=-created"),
        "lines, paused": ("big_admin", f"/lines?state={NwStatus.USE_SUSPENDED.value}"),
        "lines, a telephone number": ("big_admin", "/lines?q=0100001"),
        "delegations to others": ("big_admin", "/delegation?tab=out"),
        "delegations to others, deep": ("big_admin", f"/delegation?after={deep}"),
        "delegations to others, newest first": ("big_admin", "/delegation?sort=-created"),
        "delegations to others, by choice": ("big_admin", "/delegation?lasts=chosen"),
        "delegations to an operator": ("operator_admin", "/delegation/received"),
        "delegations to an operator, of a partner": (
            "operator_admin",
            f"/delegation/received?company={fleet.made.big}",
        ),
        "delegations to an operator, without rights": ("operator_admin", "/delegation/received?used=no"),
        "messages given up": ("big_admin", given_up),
        "messages given up, oldest first": ("big_admin", f"{given_up}&sort=made"),
        "messages given up, of disputes: none": ("big_admin", f"{given_up}&kind=DISPUTE"),
        "messages given up, search that finds none": ("big_admin", f"{given_up}&q=zz"),
        "accounts": ("platform", "/admin/accounts"),
        "accounts, disabled: none": ("platform", "/admin/accounts?state=disabled"),
        "applications": ("platform", "/admin/applications"),
        "applications, every state by name": ("platform", "/admin/applications?state=any&sort=name"),
        "applications, search that finds none": ("platform", "/admin/applications?state=any&q=zz"),
    }
    counts = {
        "number of vehicles": ("operator_admin", f"{vehicles}/count"),
        "number of vehicles without sensor": ("operator_admin", f"{vehicles}/count?sensor=without"),
        "number of sensors": ("operator_admin", f"{sensors}/count"),
    }
    records = {
        "vehicle": ("operator_admin", f"{vehicles}/{last}"),
        "vehicle delegated, to its owner": ("big_admin", f"{vehicles}/{fleet.made.vehicle}"),
        "sensor": ("operator_admin", f"{sensors}/{sensor_id}"),
        "driver": ("big_admin", f"/fleet/drivers/{fleet.made.driver}"),
        "director": ("big_admin", f"/fleet/directors/{fleet.made.director}"),
        "company": ("operator_admin", f"/fleet/companies/{fleet.made.big}"),
    }
    searches = {
        "one number": ("operator_admin", f"/search?q={number}"),
        "a beginning that many have": ("operator_admin", "/search?q=VN0"),
        "nothing": ("operator_admin", "/search?q=zzzz"),
        "a partner's": ("big_admin", "/search?q=driver"),
    }
    return {"list": lists, "record": records, "search": searches, "count": counts}


_COLUMNS: Final = (
    "number", "state", "driving", "model", "sensor", "company", "director", "driver", "delegated", "seen", "speed",
    "year", "mission", "fuel", "mileage", "created",
)  # fmt: skip
_GATES: Final[dict[str, float | None]] = {"list": 50, "record": 40, "search": 100, "count": None}


def _place(value: str, key: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([value, key]).encode()).decode().rstrip("=")


def _pages(row: str, asking: dict[str, Server], fleet: Fleet, folder: Path, quick: bool) -> Iterator[Figure]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    for kind, of_kind in asked(fleet).items():
        scripts = {}
        for name, (actor, path) in of_kind.items():
            with asking[actor].open(path) as answer:
                answer.read()
            scripts[name] = asking[actor], pages.script(folder / str(uuid.uuid4()), [path], asking[actor])
        found: dict[str, list[pages.Round]] = {name: [] for name in scripts}
        for _ in range(rounds):
            for name, (server, script) in scripts.items():
                found[name].append(pages.load(server, script, SECONDS, connections=1))
        yield from _of_kind(row, kind, found)


def _of_kind(row: str, kind: str, found: dict[str, list[pages.Round]]) -> Iterator[Figure]:
    """The page that takes longest and, of lists, the one that costs most; every page is in the details."""
    slow = max(found, key=lambda name: statistics.median(each.p99_ms for each in found[name]))
    details = {name: pages.detail(rounds) for name, rounds in found.items()}
    waits = [each.p99_ms for each in found[slow]]
    yield of_rounds(row=row, name=f"{kind}, p99, ms, slowest: {slow}", rounds=waits, gate=_GATES[kind],
                    stretch=20 if kind == "list" else None, at_least=False, detail=details)  # fmt: skip
    dear = min(found, key=lambda name: statistics.median(each.per_cpu_s for each in found[name]))
    rates = [each.per_cpu_s for each in found[dear]]
    limits = {"gate": 100} if kind == "list" else {}
    yield of_rounds(row=row, name=f"{kind}, requests/s a core, dearest: {dear}", rounds=rates, **limits)
    first = next(iter(found))
    rates = [each.per_cpu_s for each in found[first]]
    yield of_rounds(row=row, name=f"{kind}, requests/s a core: {first}", rounds=rates)


def _files(row: str, server: Server, process: peers.Server) -> Iterator[Figure]:
    """All vehicles as a file of each form."""
    for form in ("csv", "xlsx"):
        took_s, cpu_s, grown_kib, size = exported(server, process, form)
        detail = {"cpu_s": cpu_s, "bytes": size}
        yield Figure(row=row, name=f"{form}, s", value=took_s, gate=10, at_least=False, detail=detail)
        yield Figure(row=row, name=f"{form}, CPU s", value=cpu_s)
        yield Figure(row=row, name=f"{form}, memory above the idle server, MiB", value=grown_kib / 1024, gate=32,
                     at_least=False)  # fmt: skip


def exported(server: Server, process: peers.Server, form: str, **asked: str) -> tuple[float, float, int, int]:
    """Seconds and CPU time until a file of all vehicles is ready, KiB of memory that it took, and the file's bytes."""
    idle_kib, cpu_s, began, peak_kib, ended = process.private_kib(), server.cpu_s(), time.monotonic(), [0], False

    def watch() -> None:
        while not ended:
            peak_kib.append(process.private_kib())
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with server.open("/exports", {"list": "vehicles", "form": form, "query": "", "columns": "", **asked}) as answer:
            there = urllib.parse.urlsplit(answer.url).path
        while time.monotonic() - began < _EXPORT_S:
            time.sleep(0.2)
            with contextlib.suppress(urllib.error.HTTPError), server.open(f"{there}/file") as answer:
                took_s, used_s = time.monotonic() - began, server.cpu_s() - cpu_s
                return took_s, used_s, max(peak_kib) - idle_kib, len(answer.read())
    finally:
        ended = True
        watcher.join()
    raise RuntimeError(f"no {form} file of the list after {_EXPORT_S} s")


def _weight(row: str, server: Server) -> Figure:
    """What a browser with an empty cache gets for the first page of vehicles."""
    with server.open("/fleet/vehicles", packed=True) as answer:
        sent = answer.read()
        text = (gzip.decompress(sent) if answer.headers["content-encoding"] == "gzip" else sent).decode()
    weights = {"/fleet/vehicles": len(sent)}
    waiting = {each.partition("#")[0] for each in re.findall(r'(?:src|href)="(/static/[^"]+)"', text)}
    while waiting - weights.keys():
        path = next(each for each in waiting if each not in weights)
        with server.open(path, packed=True) as answer:
            sent = answer.read()
            weights[path] = len(sent)
            text = (gzip.decompress(sent) if answer.headers["content-encoding"] == "gzip" else sent).decode("latin-1")
        if path.endswith((".js", ".css")):
            named = re.findall(r"""(?:import|from|url\()\s*["']?(\.{1,2}/[^"')]+)""", text)
            waiting |= {urllib.parse.urljoin(path, each).partition("#")[0] for each in named}
    value = sum(weights.values()) / 1024
    return Figure(row=row, name="list of 50 vehicles, empty cache, KiB", value=value, gate=100, at_least=False,
                  detail=weights)  # fmt: skip
