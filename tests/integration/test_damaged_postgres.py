"""A PostgreSQL whose files are damaged is an outage: nothing is acknowledged, nothing set aside, everything comes back.

A server of its own: its files are overwritten beside it.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors
from tests.support import postgres, servers
from tests.support.ingest_nodes import Node
from tests.support.ingest_rig import NOW, SENSOR, FakeSource, aggregate, frame, microtrip, seed_rows

from tripline import clock
from tripline.ports.outages import Fault, StoreOutage
from tripline.store import migrate, tables
from tripline.store.database import postgres_threads

BLOCK = 8192
HEAD = 24


@pytest.fixture(scope="module")
def cluster() -> Iterator[postgres.Cluster]:
    postgres.need("damaged files of PostgreSQL")
    with postgres.cluster(restart_after_crash="off") as made:
        yield made


def blocks_of(cluster: postgres.Cluster, database: str, table: str) -> list[Path]:
    """The files of partitions that hold rows, and of their indexes, written out and forgotten by the server."""
    found = cluster.run(
        "SELECT pg_relation_filepath(oid) FROM pg_class WHERE (oid = %s::regclass OR relname LIKE %s)"
        " AND relkind IN ('r', 'i') AND pg_relation_size(oid) > 0",
        table,
        f"{table}_%",
        database=database,
    )
    return [cluster.data / path for (path,) in found]


@pytest.mark.parametrize("spoilt", ["head", "block"])
def test_messages_on_damaged_blocks_are_neither_acknowledged_nor_set_aside(cluster, spoilt):
    database = f"damaged_{spoilt}"
    url = cluster.create(database)
    migrate.upgrade_shared(url, now_ms=NOW)
    with Node(url, 0) as node:
        node.run(node.store.write(seed_rows))
        node.send(microtrip(NOW), at=NOW)
    files = blocks_of(cluster, database, "microtrip")
    cluster.stop()
    sound = {path: path.read_bytes() for path in files}
    for path in files:
        with path.open("r+b") as file:
            # Bounds within the page that cannot be, or nothing that makes sense at all.
            file.write(b"\xff" * (HEAD if spoilt == "head" else BLOCK))
    cluster.start()
    source = FakeSource(SENSOR)
    bodies = [aggregate(range(NOW + n * 60_000, NOW + n * 60_000 + 30_000, 1_000)) for n in range(1, 21)]
    with Node(url, 0) as node:
        node.now_ms = NOW + 30 * 60_000
        frames = [frame(source, body, node.now_ms, token) for token, body in enumerate(bodies, 1)]
        with pytest.raises(StoreOutage) as outage:
            node.take_in(frames)
        met = node.store.troubles.present
        settled = list(source.settlements)
    cluster.stop()
    for path, content in sound.items():
        path.write_bytes(content)
    cluster.start()
    with Node(url, 0) as node:
        node.now_ms = NOW + 30 * 60_000
        node.take_in(frames)

        assert outage.value.fault is Fault.DAMAGED
        assert met is not None and met.fault is Fault.DAMAGED
        assert (settled, source.settlements) == ([], [list(range(1, 21))])
        assert len(node.rows(tables.microtrip)) == 21
        assert node.rows(tables.rejected_message) == []


@pytest.mark.deep
@pytest.mark.slow
def test_doctor_names_damage_that_it_meets_and_damage_that_the_server_met():
    postgres.need("damaged files of PostgreSQL")
    with postgres.cluster(checksums=True) as cluster:
        url = cluster.create("checked")
        migrate.upgrade_shared(url, now_ms=clock.now_ms())
        with Node(url, 0) as node:
            node.run(node.store.write(seed_rows))
            node.send(b"no message", at=NOW)
        well = servers.run_here("doctor", "--store", url)
        files = blocks_of(cluster, "checked", "rejected_message")
        cluster.stop()
        sound = {path: path.read_bytes() for path in files}
        for path, content in sound.items():
            path.write_bytes(content[:100] + b"\xa5" + content[101:])
        cluster.start()
        met = servers.run_here("doctor", "--store", url)
        cluster.stop()
        for path, content in sound.items():
            path.write_bytes(content)
        cluster.start()
        counted = servers.run_here("doctor", "--store", url)

    def database(done: subprocess.CompletedProcess[str]) -> list[str]:
        assert done.stderr == ""
        return [line for line in done.stdout.splitlines() if " database: " in line]

    assert (well.returncode, met.returncode, counted.returncode) == (0, 1, 1)
    (*_, said) = database(met)
    assert said.startswith("WRONG database: The store is damaged: invalid page in block ")
    assert said.endswith("the server's log names the relation; restore it from a base backup or a standby")
    assert ["damaged: reads that met a wrong checksum: " in line for line in database(counted)] == [True]


def _of(kind: type[psycopg.Error], state: str | None = None) -> psycopg.Error:
    error = kind("words of the server")
    if state is not None:
        error.sqlstate = state
    return error


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (_of(errors.DataCorrupted), Fault.DAMAGED),
        (_of(errors.IndexCorrupted), Fault.DAMAGED),
        (_of(errors.UndefinedFile), Fault.DAMAGED),
        (_of(errors.IoError), Fault.DISK),
        (_of(errors.DiskFull), Fault.FULL),
        (_of(errors.ReadOnlySqlTransaction), Fault.READ_ONLY),
        (_of(errors.AdminShutdown), Fault.AWAY),
        (_of(errors.TooManyConnections), Fault.AWAY),
        (_of(psycopg.OperationalError), Fault.AWAY),
        (_of(psycopg.InterfaceError), Fault.AWAY),
        (_of(errors.UniqueViolation), None),
        (_of(errors.UndefinedTable), None),
        (_of(errors.ProgramLimitExceeded), None),
        (_of(errors.InFailedSqlTransaction), None),
        (_of(psycopg.ProgrammingError), None),
    ],
)
def test_errors_of_postgresql_are_outages_by_their_state(error, fault):
    outage = postgres_threads.of_postgres(error)

    assert (None if outage is None else outage.fault) is fault
