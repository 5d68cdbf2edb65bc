"""The page about scaling out, run: its own commands take a used installation from one process on SQLite to two
gateways, two apis and two workers on PostgreSQL, directly and with Kafka in between; real drives through both gateways
give the same answers, byte by byte, as the one process gives.

Replaced in the page's commands: `REPLACED`, folders, ports and addresses (`tests/support/scaling_page.py`).
`kafka-topics.sh` is a stand-in; PostgreSQL's programs, openssl and curl are the real ones, and Tripline is forked with
its program loaded.

Replaced in answers, on both sides: ids that the platform made for what was driven (trips, microtrips, events), each by
the order in which it appears; `createdTime`, when the platform received or made something; the `timestamp` of the
answer that a trip has no score. Companies, vehicles, sensors and people have the same ids on both sides, since both
come from one folder. All else counts, to the last digit.
"""

import contextlib
import itertools
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from tests.support import brokers, certificates, fleet, postgres, producers, producers_bus, scaling_page, servers, waits
from tests.support.scaling_page import Process, Site

from tripline.simulator import recordings

pytestmark = [pytest.mark.deep, pytest.mark.slow, pytest.mark.timeout(900)]
PATIENCE_S = 180
EMBEDDED = {"TRIPLINE_STORE_URL": ""}
SOON = {"TRIPLINE_BUS_GRACE_S": "1"}
"""Sixty seconds of waiting for stragglers are spared, on both sides."""
ROUNDS = (
    (("drive_04.csv",), ("drive_17.csv", "--aggregate=30"), ("drive_13.csv",), ("drive_06.csv", "--aggregate=5")),
    (("drive_01.csv", "--aggregate=10"), ("drive_04.csv",), ("drive_17.csv",), ("drive_32.csv",)),
)
"""What each vehicle drives first and then; two of them are too short to be scored."""
OVER_BUS = 2
"""Vehicles whose drives come over the bus."""
V1, V13 = "/api/tre/v1", "/api/tre/v1_3"
STAT = f"{V13}/vehicle/{{0}}/analytics/drivingScore/stat"
EVENTS = f"{V13}/vehicle/{{0}}/analytics/gpsEvent?limit=1000"
OF_VEHICLE = (
    f"{V13}/vehicle/{{0}}/analytics/drivingScore?limit=100",
    f"{V13}/vehicle/{{0}}/analytics/drivingScore?limit=100&ascOrder=true",
    STAT,
    EVENTS,
    f"{V13}/vehicle/{{0}}/analytics/gpsEvent?limit=1000&ascOrder=true",
    f"{V1}/vehicle/{{0}}/trips?limit=100",
    f"{V1}/vehicle/{{0}}/trip/latest",
    f"{V1}/vehicle/{{0}}/microtrip/latest",
    f"{V1}/vehicle/{{0}}/events?limit=1000",
    f"{V1}/vehicle/{{0}}",
)
OF_TRIP = (
    f"{V13}/trip/{{0}}/analytics/drivingScore",
    f"{V1}/trip/{{0}}",
    f"{V1}/trip/{{0}}/microtrips?limit=1000&ascOrder=true",
)
REPLACED = (
    ("sudo -u postgres ", ""),
    ("?sslmode=verify-full", ""),
    ("devices.example", "localhost"),
    ("0.0.0.0", "127.0.0.1"),
    ("--replication-factor 3", "--replication-factor 1"),
    ("min.insync.replicas=2", "min.insync.replicas=1"),
)
"""One machine: no sudo, no TLS to the database, loopback, and one broker."""
_ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MOMENT = re.compile(rb'"(createdTime|timestamp)":\d+')
Answers = list[tuple[str, bytes]]
Rows = Callable[[str], list[tuple[object, ...]]]


@dataclass(frozen=True)
class Prepared:
    """A used installation: its folder, the company's token, vehicles that devices and the bus bring drives of."""

    folder: Path
    headers: dict[str, str]
    company_id: str
    vehicles: list[fleet.Registered]
    on_bus: list[fleet.Registered]

    @property
    def kept(self) -> set[bytes]:
        """Ids that are the same wherever this folder was taken."""
        with contextlib.closing(sqlite3.connect(self.folder / "tripline.db")) as database:
            tables = ("company", "vehicle", "sensor", "account")
            return {str(row[0]).encode() for table in tables for row in database.execute(f"SELECT id FROM {table}")}

    def bus_rounds(self) -> list[list[tuple[str, dict[str, Any]]]]:
        """What a customer's system sends, with topics: a drive of each vehicle that it collects from, then another."""
        known = producers.drives()
        boxes = [producers_bus.Vehicle(each, self.company_id) for each in self.on_bus]
        return [[message for box in boxes for message in box.drive(known)] for _ in ROUNDS]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Registered over REST on one process, which is stopped."""
    data = tmp_path_factory.mktemp("prepared") / "data"
    with servers.serving(data, variables=EMBEDDED) as server:
        with fleet.Company(server.api, data, variables=EMBEDDED) as company:
            numbers = itertools.count(1)
            vehicles = [company.vehicle_with_sensor(next(numbers)) for _ in ROUNDS[0]]
            on_bus = [company.vehicle_with_sensor(next(numbers)) for _ in range(OVER_BUS)]
            headers = {"X-Authorization": company.http.headers["X-Authorization"]}
        assert server.stop() == 0
    return Prepared(data, headers, company.record["id"]["id"], vehicles, on_bus)


@pytest.fixture(scope="module")
def expected(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answers]:
    """What one process answers when it is fed the same: of each vehicle."""
    data = tmp_path_factory.mktemp("embedded") / "data"
    shutil.copytree(prepared.folder, data)
    with servers.serving(data, variables={**EMBEDDED, **SOON}) as server:

        def rows(statement: str) -> list[tuple[object, ...]]:
            with contextlib.closing(sqlite3.connect(data / "tripline.db")) as database:
                return database.execute(statement).fetchall()

        played(prepared, [server.device_port], data / "tls" / "ca.crt", rows)
        for turn, messages in enumerate(prepared.bus_rounds(), 1):
            lines = "".join(json.dumps({"topic": topic, "value": value}) + "\n" for topic, value in messages)
            done = servers.run_here("ingest", "-", "--data", str(data), stdin=lines, variables={**EMBEDDED, **SOON})
            assert done.returncode == 0, done.stdout + done.stderr
            everything_scored(rows, trips_of(prepared, bus_rounds=turn))
        return {one.vehicle_id: answers(prepared, server.api, one) for one in [*prepared.vehicles, *prepared.on_bus]}


def trips_of(prepared: Prepared, *, bus_rounds: int) -> int:
    """How many trips there are when devices have driven, and so much came over the bus."""
    return len(ROUNDS) * len(prepared.vehicles) + bus_rounds * len(prepared.on_bus)


def played(prepared: Prepared, listeners: list[int], ca: Path, rows: Rows) -> None:
    """Play the drives with `tripline replay`: each vehicle's first through one listener, its second through the
    next."""
    for turn, drives in enumerate(ROUNDS):
        for number, (one, (name, *how)) in enumerate(zip(prepared.vehicles, drives, strict=True)):
            where = [
                "--host=localhost",
                f"--port={listeners[(number + turn) % len(listeners)]}",
                f"--ca={ca}",
                "--speed=0",
            ]
            token = {"TRIPLINE_DEVICE_TOKEN": one.token}
            done = servers.run_here("replay", *where, *how, str(recordings.FOLDER / name), variables=token)
            assert (done.returncode, done.stderr) == (0, "")
        everything_scored(rows, len(prepared.vehicles) * (turn + 1))


def everything_scored(rows: Rows, trips: int) -> None:
    """Wait until so many trips are over, and none waits for its score."""
    ended = f"SELECT (SELECT count(*) FROM trip WHERE state = 'COMPLETE') = {trips}"
    waiting = "SELECT count(*) FROM scoring_job"
    waits.seen(lambda: rows(ended)[0][0] and rows(waiting) == [(0,)], within_s=PATIENCE_S)


def answers(prepared: Prepared, api: str, one: fleet.Registered) -> Answers:
    """Everything that an api says of a vehicle and its trips: path with the place of its trip, and comparable bytes."""
    kept, seen = prepared.kept, dict[bytes, bytes]()

    def comparable(text: bytes) -> bytes:
        text = _ID.sub(lambda id: id[0] if id[0] in kept else seen.setdefault(id[0], b"id-%d" % len(seen)), text)
        return _MOMENT.sub(rb'"\1":0', text)

    found: Answers = []
    with httpx.Client(base_url=api, headers=prepared.headers, timeout=60) as client:
        listed = client.get(f"{V1}/vehicle/{one.vehicle_id}/trips?limit=100&ascOrder=true").raise_for_status().json()
        trips = [each["id"]["id"] for each in listed["data"]]
        asked = [(path, one.vehicle_id) for path in OF_VEHICLE]
        asked += [(path, trip_id) for trip_id in trips for path in OF_TRIP]
        for path, id_ in asked:
            answer = client.get(path.format(id_))
            found.append((path, b"%d " % answer.status_code + comparable(answer.content)))
    return found


def scaled_out(prepared: Prepared, site: Site, *, topics: bool) -> tuple[list[Process], list[Process]]:
    """The page from its beginning to its end; gateways and apis."""
    site.write_files(appended=topics)
    site.run("database")
    if topics:
        site.run("topics")
    site.run("certificate")
    site.run("move")
    site.start("worker", 2)
    gateways, apis = site.start("gateway", 2), site.start("api", 2)
    for process in site.processes[::2]:  # one of each role
        told = site.run("look", TRIPLINE_API_PORT=str(process.ports["API"]), PORT=str(process.ports["API"]))
        assert "ok    processes: " in told
    return gateways, apis


@contextlib.contextmanager
def site_of(prepared: Prepared, folder: Path, database: postgres.Cluster, *more: tuple[str, str]) -> Iterator[Site]:
    """Where the page's commands are run."""
    old = folder / "srv"
    shutil.copytree(prepared.folder, old)
    (folder / "bin").mkdir()
    database.run("DROP ROLE tripline")
    programs = postgres.programs()
    assert programs is not None
    server = {"PGHOST": "127.0.0.1", "PGPORT": str(database.port), "PGUSER": postgres.ADMINISTRATOR}
    path = f"{programs}:{os.environ['PATH']}"
    replaced = [
        *REPLACED,
        ("/etc/tripline", str(folder / "etc")),
        ("/srv/tripline", str(old)),
        ("db.example", f"127.0.0.1:{database.port}"),
        ("127.0.0.1:8080", "127.0.0.1:$PORT"),
        *more,
    ]
    assert [old for old, _ in replaced if old not in scaling_page.TEXT] == []
    site = Site(folder, replaced, {**server, **SOON, "PATH": path})
    try:
        yield site
    finally:
        site.stop()


def hold(prepared: Prepared, expected: dict[str, Answers], apis: list[Process], of: list[fleet.Registered]) -> None:
    """Each api answers about each of these vehicles what the one process does, byte by byte."""
    for one, api in itertools.product(of, apis):
        assert answers(prepared, api.api, one) == expected[one.vehicle_id]


def test_answers_of_the_one_process_are_worth_comparing(prepared, expected):
    of_vehicles = [dict(expected[one.vehicle_id][: len(OF_VEHICLE)]) for one in [*prepared.vehicles, *prepared.on_bus]]

    counts = [json.loads(found[STAT].removeprefix(b"200 ")).get("count") for found in of_vehicles]
    events = sum(found[EVENTS].count(b'"eventTy"') for found in of_vehicles)

    assert counts[: len(ROUNDS[0])] == [2, 2, 1, 1]
    assert all(counts[len(ROUNDS[0]) :]), "each brings a drive over the bus that is long enough"
    assert events >= 5


def test_page_run_on_postgresql_answers_as_one_process_does(prepared, expected, tmp_path):
    postgres.need("the page about scaling out")
    with postgres.cluster() as database, site_of(prepared, tmp_path, database) as site:
        gateways, apis = scaled_out(prepared, site, topics=False)

        played(prepared, [each.ports["DEVICE"] for each in gateways], tmp_path / "srv/tls/ca.crt", of(database))

        hold(prepared, expected, apis, prepared.vehicles)


def test_page_run_with_kafka_answers_as_one_process_does(prepared, expected, tmp_path):
    postgres.need("the page about scaling out")
    brokers.need("the page about scaling out, with Kafka")
    told = dict(scaling_page.settings(scaling_page.blocks("append")["/etc/tripline/tripline.env"]))
    (tmp_path / "kafka").mkdir()
    made = certificates.make(tmp_path / "kafka")
    secured = brokers.Secured(made, told["TRIPLINE_BUS_USER"], told["TRIPLINE_BUS_PASSWORD"])
    with postgres.cluster() as database, brokers.cluster(tmp_path / "kafka", secured=secured) as bus:
        endpoint = bus.endpoint("SASLTLS")
        with site_of(
            prepared, tmp_path, database, (told["TRIPLINE_BUS_URL"], endpoint), ("kafka-1.example:9094", bus.bootstrap)
        ) as site:
            (tmp_path / "etc").mkdir()
            shutil.copy(made.ca, tmp_path / "etc" / "kafka-ca.crt")
            (tmp_path / "bin" / "kafka-topics.sh").symlink_to(brokers.HERE / "topics")
            gateways, apis = scaled_out(prepared, site, topics=True)

            played(prepared, [each.ports["DEVICE"] for each in gateways], tmp_path / "srv/tls/ca.crt", of(database))
            for turn, messages in enumerate(prepared.bus_rounds(), 1):
                delivered(bus, messages)
                everything_scored(of(database), trips_of(prepared, bus_rounds=turn))

            hold(prepared, expected, apis, [*prepared.vehicles, *prepared.on_bus])
            assert database.run("SELECT sum(next_offset) > 1000 FROM bus_position", database="tripline") == [(True,)]


def of(database: postgres.Cluster) -> Rows:
    """Statements on the store that the page made."""
    return lambda statement: database.run(statement, database="tripline")


def delivered(bus: brokers.Cluster, messages: list[tuple[str, dict[str, Any]]]) -> None:
    """A customer's system writes to the bus, each vehicle's messages to one partition of a topic.

    Without spaces between values: a payload is kept as it was sent, and `tripline ingest` takes them out.
    """
    producer = Producer({"bootstrap.servers": bus.bootstrap, "acks": "all", "log_level": 0})
    for topic, message in messages:
        value = json.dumps(message, separators=(",", ":")).encode()
        producer.produce(topic, value, message["data"]["sensorId"].encode())
    assert producer.flush(60) == 0
