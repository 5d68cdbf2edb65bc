"""PostgreSQL goes away under the pipeline: nothing is acknowledged that is not kept, and nothing is kept twice."""

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.properties.test_ingest_rows import rows as rows_of
from tests.support import databases
from tests.support.ingest_nodes import Node, nodes
from tests.support.ingest_rig import NOW, SENSOR, FakeSource, frame, microtrip, trip_message

from tripline.ports.outages import Outage
from tripline.store import tables
from tripline.store.transactions import Crew


class Wire:
    """The network between a process and the server, which can be cut in several ways."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self.loses_commits = False
        """The next commit of microtrips arrives, but not its answer: the connection ends."""
        self.dead = threading.Event()
        """Set: nothing arrives any more, and nobody is told."""
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def close(self) -> None:
        """End it with every connection."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(10)
        for end in itertools.chain(*self._pairs):
            end.close()

    def cut(self) -> None:
        """End every connection."""
        for end in itertools.chain(*self._pairs):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _start(self, work: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                self._pairs.append((client, server))
                lost = threading.Event()
                for source, target, out in ((client, server, True), (server, client, False)):
                    self._start(self._carry, source, target, out, lost)

    def _carry(self, source: socket.socket, target: socket.socket, out: bool, lost: threading.Event) -> None:
        wrote = False
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if self.dead.is_set():
                    continue
                wrote = wrote or (out and b"INTO microtrip" in data)
                if wrote and self.loses_commits and b"COMMIT" in data:
                    lost.set()
                if not out and lost.is_set():
                    break
                target.sendall(data)
        # Not closed: the other thread waits for one of them, and would go on waiting.
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def wire() -> Iterator[Wire]:
    found = Wire(urlsplit(databases.server().url("postgres")).port or 5432)
    yield found
    found.close()


@pytest.fixture
def node(wire: Wire) -> Iterator[Node]:
    """One that reaches the server over the wire."""
    with nodes(1) as (found,):
        found.run(found.store.close())
        address = urlsplit(found.url)
        found.url = address._replace(netloc=address.netloc.replace(f":{address.port}", f":{wire.port}")).geturl()
        found.start()
        yield found


def refused(node: Node, source: FakeSource, *bodies: object) -> None:
    with pytest.raises(Outage):
        node.take_in([frame(source, body, node.now_ms, token) for token, body in enumerate(bodies, 1)])


def test_outage_commit_whose_answer_was_lost_is_delivered_again_and_changes_nothing(node: Node, wire: Wire) -> None:
    node.send(microtrip(NOW), at=NOW)
    sent = [microtrip(NOW + 1000), {"ty": 113, "pld": {"tid": 41, "clt": NOW + 1}}, trip_message(NOW, NOW + 1000)]
    wire.loses_commits = True
    source = FakeSource(SENSOR)
    node.now_ms = NOW + 2000
    refused(node, source, *sent)
    wire.loses_commits = False
    kept = rows_of(node)

    again = node.send(*sent, at=NOW + 5000)

    assert source.settlements == []
    assert again.settlements == [[1, 2, 3]]
    assert len(kept["microtrip"]) == 2
    assert rows_of(node) == kept


def test_outage_connection_cut_before_the_commit_keeps_nothing(node: Node, wire: Wire) -> None:
    node.send(microtrip(NOW), at=NOW)
    node.meanwhile(wire.cut)

    # The claim's connection is the batch's: it is found broken at its next BEGIN, and replaced.
    source = node.send(microtrip(NOW + 1000), at=NOW + 1000)

    assert source.settlements == [[1]]
    assert len(node.rows(tables.microtrip)) == 2


def test_outage_dead_network_is_noticed_in_bounded_time_and_mends_itself(node: Node, wire: Wire) -> None:
    node.send(microtrip(NOW), at=NOW)
    node.store._store._crews[Crew.WORK].batches._longest_s = 0.5  # type: ignore[attr-defined]
    wire.dead.set()
    began = time.monotonic()
    source = FakeSource(SENSOR)
    refused(node, source, microtrip(NOW + 1000))
    took_s = time.monotonic() - began
    wire.dead.clear()
    wire.cut()

    again = node.send(microtrip(NOW + 1000), at=NOW + 2000)

    assert took_s < 10
    assert source.settlements == []
    assert again.settlements == [[1]]
    assert len(node.rows(tables.microtrip)) == 2


def test_outage_server_that_cannot_be_reached_is_one(node: Node, wire: Wire) -> None:
    wire.close()

    refused(node, FakeSource(SENSOR), microtrip(NOW))
