"""PostgreSQL is killed, restarted, or has no room left, under load: devices wait, and what they were told is kept.

Several processes of Tripline on one PostgreSQL, which is on a small disk; each fault under its own load.
"""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
from tests.support import clusters, faults, faults_disk, postgres
from tests.support.clusters import Deployment
from tests.support.faults_disk import Disk

DEVICES = 10
DISK_MIB = 320
PASSWORD = "known-to-nobody"
SETTINGS = {"shared_buffers": "32MB", "min_wal_size": "32MB", "max_wal_size": "64MB"}


@pytest.fixture(scope="module")
def disk() -> Iterator[Disk]:
    faults_disk.need("faults of the store")
    with faults_disk.disk(mib=DISK_MIB) as small:
        yield small


@pytest.fixture(scope="module")
def deployment(disk: Disk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    postgres.need("faults of the store")
    database = postgres.Cluster(durable=True, password=PASSWORD, settings=SETTINGS, within=disk.folder)
    try:
        with clusters.deployed(tmp_path_factory.mktemp("nodes"), database) as running:
            yield running
    finally:
        database.remove()


def outages(deployment: Deployment) -> int:
    return sum(node.count("ingest.outage") for node in deployment.gateways)


def until_an_outage(deployment: Deployment, *, more_than: int) -> None:
    """Wait until a gateway has noticed."""
    until = time.monotonic() + 30
    while outages(deployment) <= more_than:
        assert time.monotonic() < until, "nobody noticed"
        time.sleep(0.05)


def asked(deployment: Deployment) -> list[int]:
    """What every api answers to a question of the company's."""
    headers = deployment.company.http.headers
    path = f"/api/tre/v1/company/{deployment.company.record['id']['id']}"
    return [httpx.get(node.api + path, headers=headers, timeout=30).status_code for node in deployment.apis]


@pytest.mark.slow
def test_postgresql_killed_under_load_keeps_everything_acknowledged_exactly_once(deployment: Deployment) -> None:
    with deployment.driving(DEVICES) as load:
        load.flows()
        for _ in range(2):
            before = outages(deployment)
            deployment.database.kill()
            until_an_outage(deployment, more_than=before)
            meanwhile = asked(deployment)
            deployment.database.start()
            load.flows()

    assert set(meanwhile) == {503}
    assert set(asked(deployment)) == {200}
    faults.hold(load, deployment.rows)
    faults.logs_are_plain(deployment.nodes, [PASSWORD, *faults.secrets_of(load)])


@pytest.mark.slow
def test_postgresql_restarted_in_order_under_load_keeps_everything_acknowledged_exactly_once(
    deployment: Deployment,
) -> None:
    with deployment.driving(DEVICES) as load:
        load.flows()
        deployment.database.stop()
        deployment.database.start()
        load.flows()

    assert set(asked(deployment)) == {200}
    faults.hold(load, deployment.rows)
    faults.logs_are_plain(deployment.nodes, [PASSWORD, *faults.secrets_of(load)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trouble", "said"),
    [("lost", r"lost \["), ("twice", r"twice \["), ("moved", "order: False")],
    ids=["lost", "stored twice", "out of order"],
)
def test_message_lost_stored_twice_or_out_of_order_would_be_noticed(
    deployment: Deployment, trouble: str, said: str
) -> None:
    """Nothing happens here: what is read of the store is changed on its way to the one who looks."""
    with deployment.driving(2, rate=100) as load:
        load.flows(20)

    def wrong(statement: str) -> list[tuple[Any, ...]]:
        rows = deployment.rows(statement)
        if statement is not faults.MICROTRIPS:
            return rows
        last = max(index for index, row in enumerate(rows) if str(row[0]) == load.boxes[0].registered.sensor_id)
        if trouble == "lost":
            return rows[:last] + rows[last + 1 :]
        return [*rows, rows[last]] if trouble == "twice" else [rows[last], *rows[:last], *rows[last + 1 :]]

    faults.hold(load, deployment.rows)
    with pytest.raises(AssertionError, match=said):
        faults.hold(load, wrong)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["tables", "write-ahead log"])
def test_full_disk_of_the_store_under_load_takes_nothing_and_loses_nothing(
    deployment: Deployment, disk: Disk, what: str
) -> None:
    """PostgreSQL refuses to write to tables that cannot grow; without its write-ahead log it ends altogether."""
    before = outages(deployment)
    with deployment.driving(DEVICES, rate=50) as load:
        load.flows()
        disk.fill()
        if what == "write-ahead log":
            exhaust_the_log(deployment.database)
        until_an_outage(deployment, more_than=before)
        disk.free()
        until_up(deployment.database)
        load.flows()

    said = [
        each["reason"] for node in deployment.gateways for each in node.events() if each["event"] == "ingest.outage"
    ]
    assert any("No space left on device" in reason for reason in said)
    assert set(asked(deployment)) == {200}
    faults.hold(load, deployment.rows)
    faults.logs_are_plain(deployment.nodes, [PASSWORD, *faults.secrets_of(load)])


def exhaust_the_log(database: postgres.Cluster) -> None:
    """Have the server begin new files of its write-ahead log until it cannot."""
    with contextlib.suppress(psycopg.Error):
        for _ in range(DISK_MIB // 16):
            database.run("SELECT pg_logical_emit_message(true, '', ''), pg_switch_wal()")
        raise AssertionError("the write-ahead log has room still")


def until_up(database: postgres.Cluster) -> None:
    """Wait until the server answers; where it has ended, start it as an operator would."""

    def answers() -> bool:
        if database.ended():
            database.start()
        with contextlib.suppress(psycopg.Error):
            return database.run("SELECT 1") == [(1,)]
        return False

    faults.until(answers)
