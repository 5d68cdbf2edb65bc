"""Pushes from a device over TLS to the customer's server: the check cases of spec/push 5 on selection."""

import contextlib
import itertools
import re
import time

import httpx
import pytest
from tests.support import fleet, servers, stores, waits
from tests.support.calling import Box, answering, box
from tests.support.ingest_rig import item, microtrip, trip_message
from tests.support.receiving import receiving

TRE = "v1/sensors/me/tre"
TWOWAY = "/api/plugins/rpc/twoway/"
VARIABLES = {"TRIPLINE_PUSH_ABSENT_S": "1"}
numbers = itertools.count(1)
MDN = "01012345678"
PLACEHOLDER = "13814000-1dd2-11b2-8080-808080808080"
EVERYTHING = "1,2,3,4,5,6,7,8,9,10,11,12,101,102,104,300,500,600"


class Scene:
    """A running server, its company with one device, and the company's own server."""

    def __init__(self, server, company, receiver):
        self.server = server
        self.company = company
        self.receiver = receiver
        self.company_id = company.record["id"]["id"]
        self.mounted = company.vehicle_with_sensor(next(numbers))

    def want(self, asked):
        """The company asks for these; its record echoes it."""
        body = {"notifyHost": self.receiver.url, "notifyMsgType": asked}
        answer = self.company.http.put(f"/api/tre/v1/company/{self.company_id}", json=body)
        assert answer.status_code == 200, answer.text
        assert answer.json()["notifyMsgType"] == asked

    def device(self, script=None):
        return box(self.server, self.mounted.token, script)

    def send(self, device: Box, *bodies, topic=TRE):
        """Messages, until the last is acknowledged."""
        for body in bodies:
            packet_id = device.send(topic, body)
        device.settled(packet_id)

    @property
    def about(self):
        """What every envelope says of the device."""
        ids = {"masterCompanyId": self.company_id, "companyId": self.company_id}
        return {**ids, "sensorId": self.mounted.sensor_id, "vehicleId": self.mounted.vehicle_id}

    def pushed(self, count, *, sensor_id=None):
        """What came about the device, once so many messages did."""
        return self.receiver.wait(count, sensor_id=sensor_id or self.mounted.sensor_id)

    def latest(self):
        return self.company.get(f"/api/tre/v1/sensor/{self.mounted.sensor_id}/latest")

    def gone(self):
        """The latest values once the device's end is known: nothing answers its DISCONNECT."""
        return waits.seen(self.latest, lambda latest: not latest["connected"] and "lastDisconnectTime" in latest)


@contextlib.contextmanager
def served(data):
    with servers.serving(data, variables=VARIABLES) as server, fleet.Company(server.api, data) as company:
        yield server, company


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with served(tmp_path_factory.mktemp("push") / "data") as made:
        yield made


@pytest.fixture
def scene(shared):
    with receiving() as receiver:
        made = Scene(*shared, receiver)
        yield made
        made.want("")


@pytest.fixture
def own(tmp_path):
    """A scene whose server the test may end."""
    with receiving() as receiver, served(tmp_path / "data") as made:
        yield Scene(*made, receiver)


def now_ms():
    return time.time_ns() // 1_000_000


def names(bodies):
    return [(body["ty"], body.get("msgTy")) for body in bodies]


def test_check_case_2_101_gps_and_obd_microtrips_under_2_are_pushed_and_event_102_is_not(scene):
    scene.want("2,101")
    at = now_ms()

    with scene.device() as device:
        scene.send(device, microtrip(at), microtrip(at + 1, rpm=900))
        scene.send(device, {"ty": 102, "ts": at, "pld": {"dclat": 35.1, "dclon": 129.1}})
        scene.send(device, {"ty": 101, "ts": at, "pld": {"dtcc": "P0101"}})
        pushed = scene.pushed(3)

    assert pushed == [
        {**scene.about, "ts": at, "ty": "MICROTRIP", "msgTy": 2, "pld": item(at)},
        {**scene.about, "ts": at + 1, "ty": "MICROTRIP", "msgTy": 2, "pld": item(at + 1, rpm=900)},
        {**scene.about, "ts": at, "ty": "EVENT", "msgTy": 101, "pld": {"dtcc": "P0101"}},
    ]


def test_check_case_0f_selects_nothing_and_is_echoed(scene):
    scene.want("0f")
    at = now_ms()

    with scene.device() as device:
        scene.send(device, microtrip(at))
        scene.want("2")
        scene.send(device, microtrip(at + 1))
        pushed = scene.pushed(1)

    assert [body["ts"] for body in pushed] == [at + 1]


def test_check_case_8_300_rpc_result_is_pushed_as_it_was_sent(scene):
    scene.want(" 8 ,, 300 ")
    result = {"result": 2000, "own": {"b": 1, "a": "0"}}

    with scene.device(answering({"results": 2000}, result)):
        answer = scene.company.http.post(TWOWAY + scene.mounted.sensor_id, json={"method": "reset", "params": {}})
        [pushed] = scene.pushed(1)

    assert pushed == {
        **scene.about,
        "ts": pushed["ts"],
        "ty": "RPC",
        "requestId": answer.json()["requestId"],
        "pld": result,
    }


def test_check_case_600_lifted_pause_is_pushed(scene):
    scene.want("600")
    email = "net@carrier.example"
    made = servers.run_here(
        *("admin", "carrier", "--data", str(scene.server.data), "--email", email, "--password-stdin"),
        stdin=fleet.PASSWORD,
    )
    assert made.returncode == 0, made.stderr
    login = {"username": email, "password": fleet.PASSWORD}
    token = httpx.post(f"{scene.server.api}/api/auth/login", json=login).json()["token"]
    opening = {"actionId": "1", "type": "OPENING", "mdn": MDN, "imei": "356938035643809", "companyId": scene.company_id}
    suspension = {"actionId": "2", "type": "SUSPENSION", "kind": "USE", "mdn": MDN}
    done = httpx.post(
        f"{scene.server.api}/api/carrier/v1/actions",
        json={"actions": [opening, suspension]},
        headers={"X-Authorization": f"Bearer {token}"},
    )
    assert done.status_code == 200, done.text
    scene.company.post("/api/tre/v1_4/carrier/unpause", {"mdn": MDN})

    sensor_id = scene.company.get("/api/tre/v1/sensor", mdn=MDN)["id"]["id"]
    pushed = scene.pushed(3, sensor_id=sensor_id)

    ids = {"masterCompanyId": scene.company_id, "companyId": scene.company_id, "sensorId": sensor_id}
    assert [(body["ty"], body["pld"]["nwStatus"]) for body in pushed] == [
        ("NWSTATUS", each) for each in ("01", "02", "01")
    ]
    assert pushed[2] == {
        **ids,
        "vehicleId": PLACEHOLDER,
        "ts": pushed[2]["ts"],
        "ty": "NWSTATUS",
        "pld": {"nwStatus": "01"},
    }


def test_everything_a_drive_causes_is_pushed_in_its_order_and_a_redelivery_causes_nothing(scene):
    scene.want(EVERYTHING)
    at = now_ms() - 60_000
    drive = [microtrip(at), {"ty": 104, "ts": at, "pld": {"wbv": "11.4"}}, trip_message(at, at + 9, ts=at + 9)]

    with scene.device() as device:
        # A connection is noted in a transaction of its own: a message sent at once may be stored before it.
        scene.pushed(1)
        scene.send(device, *drive)
        scene.send(device, *drive)
        scene.send(device, microtrip(at + 60_000, tid=42))
        pushed = scene.pushed(5)

    assert names(pushed) == [*(("CONNECTION", None), ("MICROTRIP", 2), ("EVENT", 104), ("TRIP", 1)), ("MICROTRIP", 2)]
    assert pushed[0] == {**scene.about, "ts": pushed[0]["ts"], "ty": "CONNECTION", "pld": {"connected": True}}
    assert pushed[2]["pld"] == {"wbv": 11.4}
    assert pushed[4]["pld"]["tid"] == 42


def test_connection_is_pushed_once_however_often_the_device_comes_back_and_its_end_when_it_stays_away(scene):
    scene.want("500")

    for _ in range(3):
        with scene.device():
            latest = scene.latest()
            assert (latest["connected"], latest["lastSeenTime"] is not None) == (True, True)
            scene.pushed(1)
        scene.gone()
    pushed = scene.pushed(2)
    ended = scene.latest()

    assert [body["pld"]["connected"] for body in pushed] == [True, False]
    assert ended["lastDisconnectReason"] == "disconnected"
    assert pushed[1]["ts"] == ended["lastDisconnectTime"]


def test_taken_over_session_is_no_end(scene):
    scene.want("500,2")

    with scene.device():
        scene.pushed(1)
        with scene.device() as newer:
            scene.send(newer, microtrip(now_ms()))
            pushed = scene.pushed(2)
            latest = scene.latest()

    assert [body["ty"] for body in pushed] == ["CONNECTION", "MICROTRIP"]
    assert latest["connected"]
    assert "lastDisconnectTime" not in latest


def test_killed_server_tells_of_devices_that_do_not_come_back(own):
    own.want("500")
    with own.device():
        own.pushed(1)
        own.server.kill()

    with servers.serving(own.server.data, *servers.same_listeners(own.server), variables=VARIABLES):
        pushed = own.pushed(2)
        latest = own.latest()

    assert [body["pld"]["connected"] for body in pushed] == [True, False]
    assert latest["connected"] is False
    assert latest["lastDisconnectReason"] == ("gateway_lost" if stores.on_postgresql() else "server_lost")
    assert latest["lastDisconnectTime"] == pushed[1]["ts"]


def test_stopped_server_says_why_its_sessions_ended(own):
    with own.device():
        assert own.latest()["connected"]
        assert own.server.stop() == 0

    with servers.serving(own.server.data, *servers.same_listeners(own.server)):
        latest = own.latest()

    assert (latest["connected"], latest["lastDisconnectReason"]) == (False, "server_stopping")


def test_metrics_tell_of_ends_by_reason(scene):
    with scene.device():
        assert scene.latest()["connected"]
    scene.gone()

    metrics = httpx.get(f"{scene.server.api}/metrics").text

    assert re.search(r'tripline_device_disconnects_total{reason="disconnected"} [1-9]', metrics)
    assert "tripline_presence_waiting 0.0" in metrics
