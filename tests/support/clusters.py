"""Tripline as several processes on one PostgreSQL: gateways, apis and workers, each killed, stopped and started by a
test, by its own process id.

Each node has a data folder of its own, as on a machine of its own; all show one certificate, as behind one name. Node
logs are JSON lines, kept over restarts.
"""

import contextlib
import itertools
import json
import signal
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.support import brokers, certificates, fleet, launcher, postgres, producers, servers, waits

DATABASE = "fleet"
START_S = 240
STOP_S = 30
GATEWAY, API, WORKER, ALL = "gateway", "api", "worker", "all"
LISTENERS = ("api", "analytics", "device")


@dataclass(frozen=True)
class Place:
    """Where a node runs: its address, the address that the store has for it, its network namespace."""

    host: str = "127.0.0.1"
    store: str = "127.0.0.1"
    network: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Node:
    """One process: its role, where it listens, and what it logged."""

    name: str
    role: str
    folder: Path
    variables: Mapping[str, str]
    ports: Mapping[str, int]
    host: str = "127.0.0.1"
    network: str = ""
    """The network namespace that it runs in; empty: that of everybody."""
    process: launcher.Process | None = None

    @property
    def api(self) -> str:
        """The address of its REST listener."""
        return f"http://{self.host}:{self.ports['api']}"

    @property
    def devices(self) -> tuple[str, int]:
        """Where devices reach it."""
        return self.host, self.ports["device"]

    @property
    def running(self) -> bool:
        """Whether its process is there."""
        return self.process is not None and self.process.poll() is None

    def launch(self) -> None:
        """Start its process; `ready` waits until it can be used."""
        assert not self.running, f"{self.name} runs"
        flags = [f"--{listener}-port={port}" for listener, port in self.ports.items()]
        roles = [] if self.role == ALL else [f"--role={self.role}"]
        arguments = ["serve", "--data", str(self.folder / "data"), "--host", self.host, *flags, *roles]
        environment = servers.environment(self.variables)
        self.said.unlink(missing_ok=True)
        with self.log.open("ab") as log, self.said.open("wb") as said:
            self.process = launcher.start(
                arguments, environment, stdout=said.fileno(), stderr=log.fileno(), network=self.network
            )

    def ready(self) -> None:
        """Wait until its listeners are open."""
        until = time.monotonic() + START_S
        while not self.said.read_bytes().startswith(b"ready "):
            assert self.running and time.monotonic() < until, (
                f"{self.name} is not ready: {self.log.read_text()[-3_000:]}"
            )
            time.sleep(0.02)

    @property
    def is_ready(self) -> bool:
        """Whether its process is there and its listeners are open."""
        return self.running and self.said.read_bytes().startswith(b"ready ")

    def start(self) -> None:
        """Start it, and wait until its listeners are open."""
        self.launch()
        self.ready()

    def kill(self) -> None:
        """End the process as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOP_S)

    def stop(self) -> int:
        """End it as an operator would; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_S)

    def events(self) -> list[dict[str, Any]]:
        """What it logged, over all its lives. A line that is no log event is one of its own, under `text`."""
        return [_event(line) for line in self.log.read_text("utf-8", "replace").splitlines()]

    def count(self, event: str) -> int:
        """How often it logged an event."""
        lines = self.log.read_text("utf-8", "replace").splitlines()
        return sum(_event(line).get("event") == event for line in lines if event in line)

    def until_logged(self, event: str, *, more_than: int = 0, within_s: float = START_S) -> None:
        """Wait until it has logged an event more often than that."""
        waits.seen(lambda: self.count(event), lambda found: found > more_than, within_s=within_s)

    @property
    def log(self) -> Path:
        """The file it logs to."""
        return self.folder / "log"

    @property
    def said(self) -> Path:
        """What it printed since it started last."""
        return self.folder / "said"


@dataclass
class Deployment:
    """Nodes on one store, with a company that was registered through the first of them that has a REST listener."""

    nodes: list[Node]
    database: postgres.Cluster
    variables: Mapping[str, str]
    tls: ssl.SSLContext
    ca: Path
    company: fleet.Company = field(init=False)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _asking: psycopg.Connection[Any] | None = None
    """Kept from one look at the store to the next: who waits for something looks again and again."""

    def of_role(self, role: str) -> list[Node]:
        """The nodes that do this work."""
        return [node for node in self.nodes if node.role in (role, ALL)]

    @property
    def gateways(self) -> list[Node]:
        """Nodes that devices connect to."""
        return self.of_role(GATEWAY)

    @property
    def apis(self) -> list[Node]:
        """Nodes that answer requests."""
        return self.of_role(API)

    @property
    def workers(self) -> list[Node]:
        """Nodes that score, push and read the bus."""
        return self.of_role(WORKER)

    def start_all(self) -> None:
        """Start every node that does not run, all at once."""
        idle = [node for node in self.nodes if not node.running]
        for node in idle:
            node.launch()
        for node in idle:
            node.ready()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command with the settings of this deployment."""
        return servers.run_here(*arguments, variables=self.variables)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement on the store."""
        for _ in range(2):
            if self._asking is None:
                self._asking = self.database.connect(DATABASE)
                self._asking.prepare_threshold = None  # tables may change between two looks
            try:
                cursor = self._asking.execute(statement.encode())
                return cursor.fetchall() if cursor.description is not None else []
            except psycopg.OperationalError as error:  # the store was away since the last look
                self.leave()
                failed = error
        raise failed

    def leave(self) -> None:
        """Let the store go, until the next look at it."""
        if self._asking is not None:
            self._asking.close()
            self._asking = None

    def registered(self, count: int) -> list[fleet.Registered]:
        """New vehicles, each with a sensor."""
        return [self.company.vehicle_with_sensor(next(self._numbers)) for _ in range(count)]

    @contextlib.contextmanager
    def driving(self, count: int, *, rate: float = 20.0) -> Iterator[producers.Load]:
        """So many new devices, which drive while the block runs; at its end everything they sent is acknowledged."""
        gateways = [node.devices for node in self.gateways]
        with producers.driving(self.registered(count), gateways, self.tls, rate=rate) as load:
            yield load


@contextlib.contextmanager
def deployed(
    folder: Path,
    database: postgres.Cluster,
    *,
    gateways: int = 2,
    apis: int = 2,
    workers: int = 2,
    everything: int = 0,
    variables: Mapping[str, str] | None = None,
    places: Mapping[str, Place] | None = None,
) -> Iterator[Deployment]:
    """So many processes of each role (`everything`: of all roles) on a new database, until the block ends.

    `places`: where nodes are that are somewhere else, by name (`gateway-1`).
    """
    made = certificates.make(folder, beside=[place.host for place in (places or {}).values()])
    url = database.create(DATABASE)
    settings = {
        "TRIPLINE_STORE_URL": url,
        "TRIPLINE_TLS_CERT": str(made.certificate),
        "TRIPLINE_TLS_KEY": str(made.key),
        "TRIPLINE_LOG_FORMAT": "json",
        "TRIPLINE_HTTPS": "false",
        "TRIPLINE_PUSH_ALLOW_PRIVATE": "true",
        **(variables or {}),
    }
    numbers = {GATEWAY: gateways, API: apis, WORKER: workers, ALL: everything}
    names = [(f"{role}-{number}", role) for role, count in numbers.items() for number in range(1, count + 1)]
    ports = iter(brokers.free_ports("127.0.0.1", len(LISTENERS) * len(names)))
    tls = made.client_context()
    tls.check_hostname = False  # by which address a node is reached is no matter here
    nodes = []
    for name, role in names:
        (folder / name).mkdir()
        there = (places or {}).get(name, Place())
        own = {**settings, "TRIPLINE_STORE_URL": url.replace("@127.0.0.1:", f"@{there.store}:"), **there.variables}
        listeners = {listener: next(ports) for listener in LISTENERS}
        nodes.append(Node(name, role, folder / name, own, listeners, there.host, there.network))
    deployment = Deployment(nodes, database, settings, tls, made.ca)
    migrated = deployment.run("migrate", "--data", str(folder / "operator"))
    assert migrated.returncode == 0, migrated.stderr
    try:
        deployment.start_all()
        first = deployment.apis[0]
        with fleet.Company(first.api, folder / "operator", variables=settings) as deployment.company:
            yield deployment
    finally:
        deployment.leave()
        for node in nodes:
            if node.running:
                node.kill()


def _event(line: str) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        if isinstance(found, dict):
            return found
    return {"text": line}
