"""Processes are killed under load, one role after the other, and then their store fails: PostgreSQL is killed,
restarted, or has no room left. The others go on, devices wait, and nothing that was told is lost.

Two gateways, two apis, two workers on one PostgreSQL, which is on a small disk; each fault under its own load, and each
leaves all of them running.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
from tests.support import clusters, faults, faults_disk, faults_office, postgres, producers, waits
from tests.support.clusters import Deployment, Node
from tests.support.faults_disk import Disk
from tests.support.faults_office import Caller, Clerk
from tests.support.receivers import Receiver, Reply, status
from tests.support.receiving import receiving

pytestmark = [pytest.mark.deep, pytest.mark.slow]
DEVICES = 10
FEW = 6
"""Devices where the load is there so that something is under way."""
PASSWORD = "known-to-nobody"
BURIED_S = 30
DISK_MIB = 320
SETTINGS = {"TRIPLINE_RPC_ACK_S": "4", "TRIPLINE_PUSH_ABSENT_S": "1"}
OF_POSTGRESQL = {"shared_buffers": "32MB", "min_wal_size": "32MB", "max_wal_size": "64MB"}


@pytest.fixture(scope="module")
def disk() -> Iterator[Disk]:
    faults_disk.need("faults of the store")
    with faults_disk.disk(mib=DISK_MIB) as small:
        yield small


@pytest.fixture(scope="module")
def deployment(disk: Disk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    postgres.need("processes that are killed, and their store")
    database = postgres.Cluster(durable=True, password=PASSWORD, settings=OF_POSTGRESQL, within=disk.folder)
    try:
        with clusters.deployed(tmp_path_factory.mktemp("nodes"), database, variables=SETTINGS) as running:
            yield running
    finally:
        database.remove()


@pytest.fixture(autouse=True)
def _log_is_plain(deployment: Deployment) -> Iterator[None]:
    yield
    faults.logs_are_plain(deployment.nodes, [PASSWORD])


def until_buried(deployment: Deployment, *, more_than: int) -> None:
    """Wait until a node says that it found another one dead."""
    waits.seen(
        lambda: sum(node.count("node.buried") for node in deployment.nodes),
        lambda found: found > more_than,
        within_s=BURIED_S,
    )


def killed_in_turn(nodes: list[Node], load: producers.Load | None = None) -> Iterator[Node]:
    """Each node once: killed when it is given out, started again when the next one is asked for."""
    for node in nodes:
        node.kill()
        yield node
        with load.calm() if load else contextlib.nullcontext():
            node.start()


def test_gateway_killed_under_load_hands_its_devices_to_the_other_and_loses_nothing(deployment):
    before = sum(node.count("node.buried") for node in deployment.nodes)
    with deployment.driving(DEVICES, rate=40) as load:
        load.flows()
        for _ in killed_in_turn(deployment.gateways, load):
            load.flows()
        load.flows()
    until_buried(deployment, more_than=before)

    assert load.resent > 0, "no kill hit a message under way"
    assert max(box.longest_silence_s for box in load.boxes) < 15
    faults.hold(load, deployment.rows)
    faults.logs_are_plain(deployment.nodes, faults.secrets_of(load))


def test_device_of_a_killed_gateway_is_told_to_be_away_and_there_again_elsewhere(deployment):
    one, other = deployment.gateways
    (registered,) = deployment.registered(1)
    connected = f"SELECT connected FROM device_connection WHERE sensor_id = '{registered.sensor_id}'"

    with faults_office.box_at(deployment, one, registered):
        known = [deployment.rows(connected)]
        one.kill()
        faults.until(lambda: deployment.rows(connected) == [(False,)])
    with faults_office.box_at(deployment, other, registered):
        known.append(deployment.rows(connected))
        answer = deployment.company.post(faults_office.TWOWAY + registered.sensor_id, {"method": "reset"})
    one.start()

    assert known == [[(True,)], [(True,)]]
    assert answer["response"] == faults_office.SUCCESS


def test_api_killed_during_calls_and_writes_leaves_what_was_told_and_nothing_half_done(deployment):
    headers, apis = deployment.company.http.headers, deployment.apis
    first, second = deployment.registered(2)
    with (
        faults_office.box_at(deployment, deployment.gateways[0], first) as box,
        faults_office.box_at(deployment, deployment.gateways[1], second) as another,
    ):
        clerks = [Clerk("CA", apis, headers), Clerk("CB", apis[::-1], headers)]
        callers = [Caller(first.sensor_id, apis, headers), Caller(second.sensor_id, apis[::-1], headers)]
        with faults_office.asking(*clerks, *callers):
            for _ in (None, *killed_in_turn(apis)):
                for each in (*clerks, *callers):
                    each.goes_on()

        assert sum(each.refused for each in (*clerks, *callers)) > 0, "no kill hit a question"
        for clerk in clerks:
            faults_office.plates_hold(deployment, clerk)
        for caller, asked in zip(callers, (box, another), strict=True):
            faults_office.calls_hold(deployment, caller, asked)


def test_worker_killed_while_scoring_and_pushing_scores_each_trip_once_and_pushes_each_in_order(deployment):
    """The customer's server is slow, and wants trip messages: something is always under way."""
    receiver = Receiver(lambda _: Reply(status(200), after_s=0.05))
    path = f"/api/tre/v1/company/{deployment.company.record['id']['id']}"
    with receiving(receiver) as customer:
        wanted = {"notifyHost": customer.url, "notifyMsgType": "1"}
        assert deployment.company.http.put(path, json=wanted).status_code == 200
        with deployment.driving(FEW, rate=60) as load:
            load.flows()
            for _ in killed_in_turn(deployment.workers, load):
                load.flows(600)
            load.flows()
        faults.hold(load, deployment.rows)
        faults.until(lambda: deployment.rows("SELECT count(*) FROM push_outbox") == [(0,)])

    told = {request.id: request for request in reversed(receiver.requests)}
    assert all(told[request.id].body == request.body for request in receiver.requests)
    in_order = [request.json for request in reversed(told.values())]
    for box in load.boxes:
        sent = [message["pld"] for message in box.sent if message["ty"] == 1]
        assert [each["pld"] for each in in_order if each["sensorId"] == box.registered.sensor_id] == sent
    assert deployment.company.http.put(path, json={"notifyHost": "", "notifyMsgType": ""}).status_code == 200


def test_nodes_stopped_in_order_one_after_the_other_under_load_interrupt_nobody(deployment):
    """A rolling upgrade, of one of each role."""
    some = [deployment.gateways[0], deployment.apis[0], deployment.workers[0]]
    codes = []
    with deployment.driving(FEW) as load:
        load.flows()
        for node in some:
            codes.append(node.stop())
            with load.calm():
                node.start()
        load.flows()
    answers = [httpx.get(f"{node.api}/health/ready", timeout=10).status_code for node in some]

    assert codes == [0, 0, 0]
    assert answers == [200, 200, 200]
    faults.hold(load, deployment.rows)


def outages(deployment: Deployment) -> int:
    return sum(node.count("ingest.outage") for node in deployment.gateways)


def until_an_outage(deployment: Deployment, *, more_than: int) -> None:
    """Wait until a gateway has noticed."""
    waits.seen(lambda: outages(deployment), lambda found: found > more_than, within_s=30)


def asked(deployment: Deployment) -> list[int]:
    """What every api answers to a question of the company's."""
    headers = deployment.company.http.headers
    path = f"/api/tre/v1/company/{deployment.company.record['id']['id']}"
    return [httpx.get(node.api + path, headers=headers, timeout=30).status_code for node in deployment.apis]


def test_postgresql_killed_under_load_keeps_everything_acknowledged_exactly_once(deployment):
    with deployment.driving(FEW) as load:
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


def test_postgresql_restarted_in_order_under_load_keeps_everything_acknowledged_exactly_once(deployment):
    with deployment.driving(FEW) as load:
        load.flows()
        deployment.database.stop()
        deployment.database.start()
        load.flows()

    assert set(asked(deployment)) == {200}
    faults.hold(load, deployment.rows)
    faults.logs_are_plain(deployment.nodes, [PASSWORD, *faults.secrets_of(load)])


def test_message_lost_stored_twice_or_out_of_order_would_be_noticed(deployment):
    """Nothing happens here: what is read of the store is changed on its way to the one who looks."""
    with deployment.driving(2, rate=100) as load:
        load.flows(20)

    def wrong(trouble: str) -> faults.Rows:
        def read(statement: str) -> list[tuple[Any, ...]]:
            rows = deployment.rows(statement)
            if not statement.startswith(faults.MICROTRIPS):
                return rows
            last = max(index for index, row in enumerate(rows) if str(row[0]) == load.boxes[0].registered.sensor_id)
            if trouble == "lost":
                return rows[:last] + rows[last + 1 :]
            return [*rows, rows[last]] if trouble == "twice" else [rows[last], *rows[:last], *rows[last + 1 :]]

        return read

    faults.hold(load, deployment.rows)
    for trouble, said in (("lost", r"lost \["), ("twice", r"twice \["), ("moved", "order: False")):
        with pytest.raises(AssertionError, match=said):
            faults.hold(load, wrong(trouble))


@pytest.mark.parametrize("what", ["tables", "write-ahead log"])
def test_full_disk_of_the_store_under_load_takes_nothing_and_loses_nothing(deployment, disk, what):
    """PostgreSQL refuses to write to tables that cannot grow; without its write-ahead log it ends altogether.

    A full disk may meet the log first whichever of the two is tried. Then the server's own log has the cause.
    """
    before, logged = outages(deployment), len(deployment.database.log())
    with deployment.driving(FEW, rate=25) as load:
        load.flows()
        disk.fill()
        if what == "write-ahead log":
            exhaust_the_log(deployment.database)
        until_an_outage(deployment, more_than=before)
        disk.free()
        until_up(deployment.database)
        load.flows()

    by_server = deployment.database.log()[logged:]
    by_gateways = [
        each["reason"] for node in deployment.gateways for each in node.events() if each["event"] == "ingest.outage"
    ]
    assert "No space left on device" in by_server
    assert "PANIC" in by_server or any("No space left on device" in reason for reason in by_gateways)
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
