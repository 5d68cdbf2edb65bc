"""Pushes of a server of its own: where it may send, what a stop leaves, who signs."""

import asyncio
import base64
import hashlib
import hmac
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support import drives, servers, stores, waits
from tests.support.device import CarefulDevice
from tests.support.fleet import Company, Registered
from tests.support.receivers import OK, PRIVATE, SILENT, Receiver, Reply, status
from tests.support.receiving import receiving

START_MS = 1_735_689_600_000


def company(server: servers.Running, url: str, name: str = "test-fleet") -> Company:
    """A company that wants samples sent there."""
    made = Company(server.api, server.data, service_type=name)
    asked = {"notifyHost": url, "notifyMsgType": "2"}
    answer = made.http.put(f"/api/tre/v1/company/{made.record['id']['id']}", json=asked)
    assert answer.status_code == 200, answer.text
    return made


def drive(server: servers.Running, sensor: Registered, *, samples: int) -> None:
    """Have the device send so many samples, all acknowledged."""
    tls = ssl.create_default_context(cafile=str(server.ca))
    device = CarefulDevice(sensor.token, server.device_host, server.device_port, tls)
    bodies = drives.straight_trip(1, START_MS, samples=samples)
    asyncio.run(device.play(bodies))


def rows(data: Path) -> list[tuple[int, str | None]]:
    """Attempts and last error of what waits."""
    return stores.Database(data).rows("SELECT attempts, last_error FROM push_outbox ORDER BY no")


def test_server_on_loopback_sends_to_no_private_address_without_the_setting(tmp_path: Path) -> None:
    with (
        receiving() as receiver,
        servers.serving(tmp_path / "data", settings={}) as server,
        company(server, receiver.url) as made,
    ):
        drive(server, made.vehicle_with_sensor(1), samples=2)
        found = waits.seen(lambda: rows(server.data), lambda found: found and found[0][0])

    assert found[0][1] == PRIVATE
    assert receiver.bodies == []


@pytest.mark.deep
def test_stop_does_not_wait_for_a_receiver_that_hangs_and_the_next_start_sends_again(tmp_path: Path) -> None:
    slow = Receiver(lambda _: SILENT)
    with receiving(slow) as receiver:
        with (
            servers.serving(tmp_path / "data", variables={"TRIPLINE_PUSH_TIMEOUT_S": "60"}) as server,
            company(server, receiver.url) as made,
        ):
            sensor = made.vehicle_with_sensor(1)
            drive(server, sensor, samples=2)
            receiver.arrived(1)
            began_s = time.monotonic()
            assert server.stop() == 0
            took_s = time.monotonic() - began_s
        slow.answer = lambda _: OK
        with servers.serving(tmp_path / "data"):
            receiver.wait(2, sensor_id=sensor.sensor_id)

    assert took_s < 12
    assert slow.requests[0].id == slow.requests[1].id


def counts(made: Company, **expected: object) -> dict[str, Any]:
    """What administrators see of the sending, once it is as expected."""
    path = f"/api/tre/v1/company/{made.record['id']['id']}/push"
    return waits.seen(lambda: made.get(path), lambda found: expected.items() <= found.items(), within_s=30)


@pytest.mark.deep
def test_m3_server_that_never_answers_is_named_and_gets_everything_again_when_it_does(tmp_path: Path) -> None:
    silent = Receiver(lambda _: SILENT)
    with (
        receiving(silent) as receiver,
        servers.serving(tmp_path / "data", variables={"TRIPLINE_PUSH_TIMEOUT_S": "0.5"}) as server,
        company(server, receiver.url) as made,
    ):
        sensors = [made.vehicle_with_sensor(number) for number in (1, 2)]
        drive(server, sensors[0], samples=6)
        mute = counts(made, waiting=0, unconfirmed=6)["mute"]
        came = [request.id for request in silent.requests]
        silent.answer = lambda _: OK
        drive(server, sensors[1], samples=1)
        counts(made, waiting=0, unconfirmed=0, mute=[])
        answered, *again = [request.id for request in silent.requests[len(came) :]]

    assert [(each["channel"], each["state"]) for each in mute] == [("notify", "takes messages and never answers")]
    assert came[0] == came[1]
    assert again.count(answered) == 1
    assert [each for each in again if each != answered] == came[1:]


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Running]:
    """A server with the usual settings."""
    with servers.serving(tmp_path_factory.mktemp("usual") / "data") as server:
        yield server


@pytest.mark.deep
def test_changed_address_reaches_what_waits_at_once(usual: servers.Running) -> None:
    refused = Receiver(lambda _: Reply(status(503)))
    with receiving(refused) as broken, receiving() as good, company(usual, broken.url, "moved") as made:
        drive(usual, made.vehicle_with_sensor(1), samples=3)
        broken.arrived(3)  # the next attempt is 30 s away
        changed = {"notifyHost": good.url}
        assert made.http.put(f"/api/tre/v1/company/{made.record['id']['id']}", json=changed).status_code == 200
        began_s = time.monotonic()
        counts(made, waiting=0)
        took_s = time.monotonic() - began_s

    assert [body["pld"]["clt"] for body in good.bodies] == sorted(body["pld"]["clt"] for body in good.bodies)
    assert len(good.bodies) == 3
    assert took_s < 20


def test_message_is_signed_with_the_secret_that_administrators_see(usual: servers.Running) -> None:
    signed = Receiver()
    with receiving(signed) as receiver, company(usual, receiver.url, "signed") as made:
        path = f"/api/tre/v1/company/{made.record['id']['id']}/push/secret"
        former = made.get(path)["secret"]
        secret = made.post(path)["secret"]
        sensor = made.vehicle_with_sensor(1)
        drive(usual, sensor, samples=1)
        receiver.wait(1, sensor_id=sensor.sensor_id)
        request = signed.requests[0]

    content = f"{request.id}.{request.headers['webhook-timestamp']}.".encode() + request.body
    expected = [
        "v1," + base64.b64encode(hmac.new(base64.b64decode(key[6:]), content, hashlib.sha256).digest()).decode()
        for key in (secret, former)
    ]
    assert request.headers["webhook-signature"].split(" ") == expected
    assert abs(int(request.headers["webhook-timestamp"]) - time.time()) < 60


def test_authority_that_cannot_be_read_refuses_to_start(tmp_path: Path) -> None:
    done = servers.run("serve", "--data", str(tmp_path / "data"), variables={"TRIPLINE_PUSH_CA": "/nowhere.pem"})

    assert (done.returncode, done.stdout) == (1, "")
    assert "The authority /nowhere.pem cannot be read" in done.stderr


def test_rest_of_what_is_sent_again_goes_on_after_a_kill(tmp_path: Path) -> None:
    many, data, now_ms = 8_000, tmp_path / "data", time.time_ns() // 1_000_000
    with receiving(Receiver(lambda _: Reply(status(503)))) as receiver:
        with servers.serving(data) as server, company(server, receiver.url) as made:
            company_id = made.record["id"]["id"]
            rows = (
                f"({no}, 'd3f1c2a0-c803-11ef-9d5c-{no:012x}', '{company_id}', '', 2, '{{}}', {now_ms}, {now_ms})"
                for no in range(1, many + 1)
            )
            columns = "no, id, company_id, sensor_id, selector, body, due_ms, parked_ms"
            stores.Database(data).rows(f"INSERT INTO push_outbox ({columns}) VALUES {', '.join(rows)}")
            path = f"/api/tre/v1/company/{company_id}/push"
            answer = made.post(f"{path}/resend", {})
            server.kill()
        with servers.serving(data):
            left = "SELECT count(*) FROM push_outbox WHERE parked_ms > 0"
            waits.seen(lambda: stores.Database(data).rows(left) == [(0,)], within_s=30)
            kept = stores.Database(data).rows("SELECT count(*) FROM push_outbox")[0][0]

    assert answer == {"count": many, "released": 0}
    assert kept == many
