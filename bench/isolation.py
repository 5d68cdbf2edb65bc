"""Row 29: devices, and another company's people, beside clients that take all they can get.

500 TLS devices publish 1,000 messages a second: once alone, then once beside each load of `greedy.py`. The loads use a
service type of 10,000 vehicles with a score on each of 200 days. Meanwhile a neighbour, the administrator of another
company at another address, asks for a page of its vehicles, checks an import of one row and signs in, and readiness is
checked. Everything runs on SQLite, then on PostgreSQL, which shares both cores with the server and the loads.

Not here: connections, heads and unread answers of strangers (`hostile_http.py`).
"""

import asyncio
import contextlib
import json
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
from bench import companies, fleet, greedy, loadgen, peers, shared
from bench.companies import Made
from bench.device_channel import disk
from bench.table import Figure
from sqlalchemy import Connection, insert, update
from tests.support import postgres as support

from tripline import config
from tripline.domain.account_sessions import Kind
from tripline.services.accounts import tokens
from tripline.services.accounts.passwords import Passwords
from tripline.services.accounts.sessions import Cookie
from tripline.store import migrate, tables
from tripline.store.database import postgres, sqlite

LARGE: Final = companies.Fleet(service_type="large", companies=3, vehicles=10_000, people=100)
FIRST_DAY, DAYS = 20_000, 200
ASKED: Final = 8
DEVICES, RATE = 500, 1_000
SECONDS, QUICK_SECONDS, WARMUP_S = 60.0, 5.0, 2.0
QUIET_S, QUIET_SHARE, LONGEST_QUIET_S = 5.0, 0.1, 300.0
"""Before the first round the server uses less than this share of a core for so long: it has made what it keeps."""
LATER_MS, REGISTERING_MS, PAGE_MS = 250, 1_500, 1_000
HOME: Final = "127.0.1.1"
"""The neighbour's address."""
PASSWORD: Final = "a long enough password"
PAGES_S, READY_S, IMPORTS_S, SIGN_INS_S = 0.2, 0.25, 3.0, 2.5
"""How often the neighbour and the check of readiness ask."""
TIMEOUT_S: Final = 60.0

Run = Callable[[str], Sequence[tuple[Any, ...]]]
"""Runs a statement on the server's database."""


@dataclass(slots=True)
class Waits:
    """How long one kind of request took, seconds, and how many failed."""

    took: list[float] = field(default_factory=list)
    failed: int = 0

    def p99_ms(self) -> float:
        """The 99th percentile, ms; 0 without requests."""
        ordered = sorted(self.took)
        return ordered[int(len(ordered) * 0.99)] * 1_000 if ordered else 0.0


@dataclass(slots=True)
class Neighbours:
    """What others saw during a round."""

    pages: Waits = field(default_factory=Waits)
    ready: Waits = field(default_factory=Waits)
    imports: Waits = field(default_factory=Waits)
    sign_ins: Waits = field(default_factory=Waits)


def measure(quick: bool, seconds: float | None = None) -> list[Figure]:
    """What each load adds to PUBACKs, and what others wait meanwhile, on both stores."""
    loadgen.build()
    lasting = seconds or (QUICK_SECONDS if quick else SECONDS)
    with tempfile.TemporaryDirectory(dir=disk()) as made:
        figures = _on_sqlite(Path(made), lasting)
    if support.programs() is None:
        return figures
    with tempfile.TemporaryDirectory(dir=disk()) as made, shared.database() as database:
        return figures + _on_postgres(Path(made), database, lasting)


def _on_sqlite(folder: Path, seconds: float) -> list[Figure]:
    data = folder / "data"
    data.mkdir(mode=0o700)
    migrate.upgrade(data / "tripline.db")
    engine = sqlite.open_engine(data / "tripline.db")
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        connection.exec_driver_sql("BEGIN")
        seeds = _seeded(connection)
        connection.exec_driver_sql("COMMIT")
    engine.dispose()
    if driver is not None:
        driver.close()
    with peers.tripline(data) as server:
        return _measured("SQLite", server, folder, seeds, lambda asked: fleet.rows(data, asked), seconds)


def _on_postgres(folder: Path, database: support.Cluster, seconds: float) -> list[Figure]:
    url = database.url(shared.DATABASE)
    migrate.upgrade_shared(url, now_ms=int(time.time() * 1000))
    with postgres.open_engine(url).connect() as connection:
        connection.exec_driver_sql("BEGIN")
        seeds = _seeded(connection)
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("VACUUM ANALYZE")
    variables = shared.variables(database)
    with peers.tripline(folder / "data", variables=variables, cores=shared.BOTH_CORES) as server:

        def run(statement: str) -> Sequence[tuple[Any, ...]]:
            return database.run(statement, database=shared.DATABASE)

        return _measured("PostgreSQL", server, folder, seeds, run, seconds)


@dataclass(frozen=True, slots=True)
class Seeds:
    """What was written before the server started."""

    made: Made
    vehicles: list[str]
    """Of the partner, with scores."""
    cookie: Cookie
    """Of the partner's browser."""
    neighbour: str
    """The account of the other company's administrator."""
    company: str
    """Its company."""


def _seeded(connection: Connection) -> Seeds:
    """The devices' company and the large service type, with its scores and the sessions of its accounts."""
    fleet._add(connection, DEVICES * (len(greedy.LOADS) + 2) + 1)
    neighbour = connection.execute(tables.account.select()).one()
    hasher = Passwords(config.Passwords())
    hashed = hasher.hash_now(PASSWORD)
    hasher.close()
    connection.execute(update(tables.account).where(tables.account.c.id == neighbour.id).values(password_hash=hashed))
    made = companies.write(connection, LARGE)
    connection.exec_driver_sql(
        "INSERT INTO score_sum (subject, period, day, policy, kind, trips, accel, de_accel, over_speed, over_ms,"
        " driving_ms, distance_m, burden, known_m) WITH RECURSIVE days(day) AS"
        f" (SELECT {FIRST_DAY} UNION ALL SELECT day + 1 FROM days WHERE day < {FIRST_DAY + DAYS - 1}),"
        " numbered AS (SELECT id, row_number() OVER (ORDER BY id) AS number FROM vehicle"
        f" WHERE service_type = '{LARGE.service_type}')"
        " SELECT id, 'day', day, 1, 'vehicle', 3, 1, 2, 1, 5000, 3600000, 100000,"
        " 100000 * (1000 + (number * 7919 + day) - (number * 7919 + day) / 500 * 500), 50000"
        " FROM numbered CROSS JOIN days"
    )
    days = range(FIRST_DAY, FIRST_DAY + DAYS)
    connection.execute(insert(tables.score_change), [{"no": day, "day": day} for day in days])
    of_partner = tables.vehicle.select().where(tables.vehicle.c.company_id == made.big).limit(ASKED)
    now_ms = int(time.time() * 1000)
    cookie = Cookie(str(uuid.uuid4()), secrets.token_urlsafe(32))
    session = {"created_ms": now_ms, "expires_ms": now_ms + 86_400_000, "rotated_ms": now_ms}
    connection.execute(
        insert(tables.account_session),
        [
            *(
                {**session, "id": each, "user_id": each, "current": "", "kind": Kind.REST.value}
                for each in (made.operator_admin, made.big_admin, str(neighbour.id))
            ),
            {
                **session,
                "id": cookie.session_id,
                "user_id": made.big_admin,
                "current": cookie.hash,
                "kind": Kind.BROWSER.value,
            },
        ],
    )
    vehicles = [str(row.id) for row in connection.execute(of_partner)]
    return Seeds(made, vehicles, cookie, str(neighbour.id), str(neighbour.company_id))


def _measured(store: str, server: peers.Server, folder: Path, seeds: Seeds, run: Run, seconds: float) -> list[Figure]:
    """The load alone, then beside each greedy load."""
    ((key,),) = run("SELECT value FROM secret WHERE name = 'token-key'")
    maker = tokens.Tokens(key=bytes(key), settings=config.Tokens())

    def token(user_id: str) -> str:
        now_ms = int(time.time() * 1000)
        who = {"email": fleet.EMAIL, "authority": "COMPANY_ADMIN", "session_id": user_id, "now_ms": now_ms}
        return maker.access(user_id=user_id, **who)  # type: ignore[arg-type]

    address = urlsplit(server.api)
    world = {
        "host": address.hostname,
        "port": address.port,
        "device_port": server.port,
        "ca": str(server.ca),
        "tokens": {"operator": token(seeds.made.operator_admin), "partner": token(seeds.made.big_admin)},
        "cookie": seeds.cookie.text,
        "csrf": seeds.cookie.csrf,
        "login": fleet.EMAIL,
        "vehicles": seeds.vehicles,
        "device": fleet.token(DEVICES * (len(greedy.LOADS) + 2)),
    }
    (folder / "world.json").write_text(json.dumps(world))
    neighbour = _Neighbour(server.api, token(seeds.neighbour), seeds.company)
    _quiet(server)
    _round(
        server, folder, "", 0, QUICK_SECONDS, neighbour
    )  # caches fill, code is compiled, the neighbour has signed in
    alone = _round(server, folder, "", 1, seconds, neighbour)
    figures = []
    for place, name in enumerate(greedy.LOADS):
        figures += _figures(store, name, alone, _round(server, folder, name, place + 2, seconds, neighbour))
        _quiet(server)
    return figures


def _quiet(server: peers.Server) -> None:
    """Wait until the server has nothing left to do of what was asked before."""
    until = time.monotonic() + LONGEST_QUIET_S
    while time.monotonic() < until:
        before = server.cpu_s()
        time.sleep(QUIET_S)
        if server.cpu_s() - before < QUIET_S * QUIET_SHARE:
            return


def _round(
    server: peers.Server, folder: Path, name: str, place: int, seconds: float, neighbour: "_Neighbour"
) -> dict[str, Any]:
    """What devices and neighbours saw, beside a load or alone."""
    users = fleet.users(folder, first=place * DEVICES, count=DEVICES)
    asked = {"users": users, "connections": DEVICES, "publishers": DEVICES, "rate": RATE}
    with contextlib.ExitStack() as running:
        attack = None
        if name:
            command = [sys.executable, "-m", "bench.greedy", name, str(folder / "world.json")]
            command = ["taskset", "-c", str(peers.GENERATOR_CORE), *command, str(seconds + WARMUP_S)]
            attack = running.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
        with neighbour.asking() as seen:
            load = loadgen.run(server, **asked, warmup=WARMUP_S, seconds=seconds)
        if attack is not None:
            out, _ = attack.communicate(timeout=seconds + 120)
            load["attack"] = json.loads(out)
    return {**load, "seen": seen}


class _Neighbour:
    """Another company's administrator, and whatever watches readiness."""

    def __init__(self, api: str, token: str, company: str) -> None:
        self._api = api
        self._token = token
        self._company = company

    @contextlib.contextmanager
    def asking(self) -> Iterator[Neighbours]:
        """Ask all the time inside the block."""
        seen, over = Neighbours(), threading.Event()
        thread = threading.Thread(target=asyncio.run, args=(self._ask(seen, over),))
        thread.start()
        try:
            yield seen
        finally:
            over.set()
            thread.join()

    async def _ask(self, seen: Neighbours, over: threading.Event) -> None:
        transport = httpx.AsyncHTTPTransport(local_address=HOME)
        headers = {"X-Authorization": f"Bearer {self._token}"}
        async with httpx.AsyncClient(
            base_url=self._api, headers=headers, timeout=TIMEOUT_S, transport=transport
        ) as client:

            def page() -> Awaitable[httpx.Response]:
                return client.get(f"/api/tre/v1/company/{self._company}/vehicles?limit=20")

            def row() -> Awaitable[httpx.Response]:
                content = b"vehicleNo,mileage\nNEW,1\n"
                return client.post(
                    "/api/tre/v1/vehicles/bulk?dryRun=true", content=content, headers={"Content-Type": "text/csv"}
                )

            def sign_in() -> Awaitable[httpx.Response]:
                return client.post("/api/auth/login", json={"username": fleet.EMAIL, "password": PASSWORD})

            await asyncio.gather(
                _often(page, PAGES_S, seen.pages, over),
                _often(row, IMPORTS_S, seen.imports, over),
                _often(sign_in, SIGN_INS_S, seen.sign_ins, over),
                _often(lambda: client.get("/health/ready"), READY_S, seen.ready, over),
            )


async def _often(
    ask: Callable[[], Awaitable[httpx.Response]], every_s: float, waits: Waits, over: threading.Event
) -> None:
    """Ask until it is over; an answer that is late delays the next question."""
    while not over.is_set():
        began = time.monotonic()
        try:
            failed = (await ask()).status_code != httpx.codes.OK
        except httpx.HTTPError:
            failed = True
        waits.took.append(time.monotonic() - began)
        waits.failed += failed
        await asyncio.sleep(max(0.0, every_s - (time.monotonic() - began)))


def _figures(store: str, name: str, alone: dict[str, Any], beside: dict[str, Any]) -> list[Figure]:
    row = f"29 {DEVICES} TLS devices, {RATE} messages/s, {store}, beside {name.replace('_', ' ')}"
    seen: Neighbours = beside["seen"]
    told = {key: value for key, value in beside.items() if key != "seen"}
    compared = {"alone_p999_us": alone["p999_us"], "beside": told}
    gate = REGISTERING_MS if name == "registration" else LATER_MS
    later = (beside["p999_us"] - alone["p999_us"]) / 1_000

    def figure(measured: str, value: float, gate: float | None = None, **detail: Any) -> Figure:
        return Figure(row=row, name=measured, value=value, gate=gate, at_least=False, detail=detail)

    return [
        figure("99.9th percentile of PUBACKs above the load alone, ms", later, gate, **compared),
        figure("another company's page, p99, ms", seen.pages.p99_ms(), PAGE_MS, asked=len(seen.pages.took)),
        figure("pages that failed", seen.pages.failed, 0),
        figure("checks of readiness that failed", seen.ready.failed, 0, asked=len(seen.ready.took)),
        figure("sign-ins of another account that failed", seen.sign_ins.failed, 0, asked=len(seen.sign_ins.took)),
        figure("slowest check of an import of one row, s", max(seen.imports.took), failed=seen.imports.failed),
    ]
