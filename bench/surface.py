"""Row 10: every page and number of the REST interface on 100,000 vehicles.

50 companies of one service type with 100,000 vehicles and sensors and 10,000 people (`companies.py`). Servers on one
core, as in row 7; wrk on the other asks for each operation in turn with the page of 20 scores of row 7, with which each
is compared in the same round. A figure is requests per second of the server's CPU time over the peer's.

Not here: what other companies cost an operation (`growth.py`).
"""

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import companies, make_scores, pages
from bench.companies import Fleet, Made
from bench.device_channel import disk
from bench.table import Figure, of_rounds

from tripline.store import migrate
from tripline.store.database import sqlite

LARGE: Final = Fleet(service_type="large", companies=50, vehicles=100_000, people=10_000, long=20_001)
QUICK: Final = Fleet(service_type="large", companies=50, vehicles=50_000, people=5_000, long=20_001)
FAR: Final = 1_000
"""The page that is far: 20 rows each before it, in lists that are so long."""
LIMIT: Final = 20
CONNECTIONS: Final = 2
"""Few, so that a slow operation ends within a round, and its p99 is no queue's."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One operation: who asks for what."""

    name: str
    actor: str
    """A field of `Made`."""
    path: str


def operations(made: Made, *, far: int) -> list[Asked]:
    """Every page and number; of the long lists the first page, the page behind `far` rows, and searches."""
    number = made.numbers[min(far, len(made.numbers) - LIMIT)]
    rare = number[:-1]
    own, delegated = f"/company/{made.big}/vehicles", f"/company/{made.operator}/vehicles/delegated"
    found = [
        *_list("vehicles of a company", "big_admin", own, number, rare),
        *_list("vehicles delegated to the operator", "operator_admin", delegated, number, rare),
        *_list("vehicles of a director", "director", f"/director/{made.director}/vehicles", None, rare),
        *_list("sensors", "big_admin", "/sensors", f"SN-{number}", f"sn-{rare}"),
        *_list("sensors on no vehicle", "big_admin", "/sensors?mounted=false", None, None),
        *_list("sensors, to a director", "director", "/sensors", None, f"sn-{rare}"),
        *_list("drivers", "big_admin", "/drivers", "Driver 005000", "driver 0050"),
        *_list("companies", "operator_admin", "/companies", None, None),
        *_list("candidates", "big_admin", f"/company/{made.big}/relation/companies", None, None),
        *_list("rights of a driver", "big_admin", f"/driver/{made.driver}/relation/vehicles", None, None),
        *_list("trips of a vehicle", "big_admin", f"/vehicle/{made.vehicle}/trips", None, None),
        *_list("microtrips of a trip", "big_admin", f"/trip/{made.trip}/microtrips", None, None),
        *_list("events of a vehicle", "big_admin", f"/vehicle/{made.vehicle}/events", None, None),
        Asked("vehicle by number", "big_admin", f"/vehicle?vehicleNo={number}"),
        Asked("sensor by serial number", "big_admin", f"/sensor?serialNo=SN-{number}"),
    ]
    for noun, also in (("vehicles", ("sensor=false", "driving=true")), ("sensors", ("mounted=false",))):
        for query in ("", f"companyId={made.big}", *also):
            found.append(Asked(f"number of {noun} {query[:9]}".strip(), "big_admin", f"/{noun}/count?{query}"))
        found.append(Asked(f"number of {noun}, to a director", "director", f"/{noun}/count"))
    found.append(Asked("number of drivers", "big_admin", "/drivers/count"))
    return found


def of_operators(service_type: str) -> list[Asked]:
    """Numbers of all that the operator's partners have."""
    return [
        Asked(
            f"number of all {noun} {query}".strip(),
            "operator_admin",
            f"/{noun}/count?serviceType={service_type}{query}",
        )
        for noun, query in (("vehicles", ""), ("vehicles", "&sensor=false"), ("sensors", ""), ("companies", ""))
    ]


def _list(name: str, actor: str, path: str, far: str | None, search: str | None) -> Iterator[Asked]:
    address = f"{path}{'&' if '?' in path else '?'}limit={LIMIT}"
    yield Asked(f"{name}, page 1", actor, address)
    if far is not None:
        yield Asked(f"{name}, page {FAR:,}", actor, f"{address}&textOffset={far}".replace(" ", "%20"))
    if search is not None:
        yield Asked(f"{name}, search", actor, f"{address}&textSearch={search}".replace(" ", "%20"))


def measure(quick: bool) -> list[Figure]:
    """Each operation beside the page of scores."""
    make_scores.make()
    with tempfile.TemporaryDirectory(dir=disk()) as folder:
        return _large(Path(folder), quick)


def made(path: Path, *fleets: Fleet) -> Made:
    """A database with the service types; what was made of the first."""
    migrate.upgrade(path)
    engine = sqlite.open_engine(path)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        connection.exec_driver_sql("BEGIN")
        of_each = [companies.write(connection, fleet) for fleet in fleets]
        connection.exec_driver_sql("COMMIT")
        driver = connection.connection.driver_connection
    if driver is not None:
        driver.close()
    return of_each[0]


def _large(folder: Path, quick: bool) -> list[Figure]:
    path, fleet = folder / "large.db", QUICK if quick else LARGE
    there = made(path, fleet)
    asked = [*operations(there, far=(FAR - 1) * LIMIT), *of_operators(fleet.service_type)]
    rounds = 1 if quick else 2
    row = f"10 {fleet.vehicles:,} vehicles in {fleet.companies} companies"
    with contextlib.ExitStack() as running:
        peer = running.enter_context(_served(make_scores.FILE, make_scores.ADMIN_ID))
        score = pages.script(folder / "scores", pages.paths(peer)["first"], peer)
        servers = {
            actor: running.enter_context(_served(path, getattr(there, actor)))
            for actor in sorted({one.actor for one in asked})
        }
        figures = []
        for number, one in enumerate(asked):
            server = servers[one.actor]
            script = pages.script(folder / f"{number}", [f"/api/tre/v1{one.path}"], server)
            pairs = [(_loaded(peer, score), _loaded(server, script)) for _ in range(rounds)]
            ours = [of_one for _, of_one in pairs]
            figures.append(
                of_rounds(
                    row=row,
                    name=f"{one.name}: x page of scores",
                    rounds=[of_one.per_cpu_s / of_peer.per_cpu_s for of_peer, of_one in pairs],
                    detail={
                        "per_cpu_s": statistics.median(each.per_cpu_s for each in ours),
                        "p99_ms": statistics.median(each.p99_ms for each in ours),
                    },
                )
            )
    return figures


def _loaded(server: pages.Server, script: Path) -> pages.Round:
    return pages.load(server, script, 1, connections=CONNECTIONS)


@contextlib.contextmanager
def _served(path: Path, user_id: str) -> Iterator[pages.Server]:
    """A server over the database, and a token of the account."""
    command = ["taskset", "-c", str(pages.SERVER_CORE), sys.executable, "-m", "bench.serve_pages"]
    process = subprocess.Popen([*command, os.fspath(path), user_id], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port, token = process.stdout.readline().split()
        yield pages.Server(process, int(port), token)
    finally:
        process.terminate()
        process.wait()
