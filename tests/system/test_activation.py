"""Activation against a running server, over TLS: every check case of spec/rpc 10 and every row of 6.2 and 6.3."""

import itertools
import json
import time
from dataclasses import dataclass

import pytest
from tests.support import fleet, servers
from tests.support.calling import answering, box

V1 = "/api/tre/v1"
ACK_S = "1.5"
PATIENCE_S = 20
UNSET = {"id": "13814000-1dd2-11b2-8080-808080808080"}
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose devices have little time to acknowledge."""
    variables = {"TRIPLINE_RPC_ACK_S": ACK_S}
    with servers.serving(tmp_path_factory.mktemp("server") / "data", variables=variables) as running:
        yield running


@dataclass(frozen=True)
class Pair:
    """A sensor that needs activation, and a vehicle for it."""

    company: fleet.Company
    sensor_id: str
    token: str
    vehicle_id: str
    vehicle_no: str

    def mount(self, vehicle_id: str | None = None):
        """Status and body of the wish to mount it."""
        answer = self.company.http.post(f"{V1}/sensor/{self.sensor_id}/vehicle/{vehicle_id or self.vehicle_id}")
        return answer.status_code, answer.json()

    @property
    def sensor(self):
        return self.company.get(f"{V1}/sensor/{self.sensor_id}")

    def until_mounted(self) -> dict:
        """The sensor, once it is on the vehicle."""
        deadline = time.monotonic() + PATIENCE_S
        while (sensor := self.sensor)["status"] != "ACTIVATED":
            assert time.monotonic() < deadline, sensor
        return sensor


def pair(company: fleet.Company, **said) -> Pair:
    number = next(numbers)
    vehicle = {"vehicleNo": f"12A{number:04d}", "mileage": 1, "fuelType": "DIESEL", "displacement": 1995, **said}
    made = company.post(f"{V1}/vehicle", {"missionType": "AUTO", **vehicle})
    token = fleet.device_token()
    body = {"serialNo": f"A-{number}", "type": "OBD", "credentialsId": token, "activationRequired": True}
    sensor = company.post(f"{V1}/sensor", body)
    return Pair(company, sensor["id"]["id"], token, made["id"]["id"], made["vehicleNo"])


@pytest.fixture
def new(company):
    return pair(company)


def test_activation_in_the_style_of_the_sdks_mounts_the_sensor(server, company, new) -> None:
    script = answering({"result": 2000}, {"results": 2000, "additionalInfo": {"vid": "12A3456"}})

    with box(server, new.token, script) as device:
        status, answer = new.mount()
        sensor = new.until_mounted()

    request_id, body = device.request()
    assert body == (
        b'{"method":"activationReq","params":{"vid":"%s","upp":2,"elt":1995,"fut":2,"mty":"Automatic"}}'
        % new.vehicle_no.encode()
    )
    assert (status, answer["requestId"], answer["response"]) == (200, request_id, {"result": 2000})
    assert (sensor["vehicleId"], sensor["vehicleNo"]) == ({"id": new.vehicle_id}, new.vehicle_no)
    assert company.get(f"{V1}/vehicle/{new.vehicle_id}")["sensorCount"] == 1


@pytest.mark.parametrize(
    ("ack", "response"),
    [({"result": 2001}, {"result": 2001}), ({"ok": True}, {"ok": True}), (b"yes", {"value": "yes"})],
)
def test_answer_of_an_activation_under_way_is_the_sensor_as_it_was(server, new, ack, response) -> None:
    """Also when the acknowledgement has no code: it refuses nothing (B4)."""
    before = new.sensor

    with box(server, new.token, answering(ack)):
        status, answer = new.mount()

    assert (status, answer.pop("response")) == (200, response)
    del answer["requestId"]
    assert answer == before
    assert (answer["status"], answer["vehicleId"], answer["vehicleNo"]) == ("DEACTIVATED", UNSET, None)


def test_activation_in_the_style_of_the_documents_mounts_the_sensor_b1(server, new) -> None:
    script = answering({"result": "2001"}, {"result": 2000, "addInfo": {"vid": "12A3456"}})

    with box(server, new.token, script):
        status, _ = new.mount()
        sensor = new.until_mounted()

    assert (status, sensor["status"]) == (200, "ACTIVATED")


@pytest.mark.parametrize("code", [4001, 5000, 1999, 3000])
def test_device_that_refuses_activation_answers_409_with_the_code(server, new, code) -> None:
    with box(server, new.token, answering({"results": code})) as device:
        status, answer = new.mount()
        device.settled(device.result(device.request()[0], {"results": 2000}))

    assert (status, answer["status"], answer["errorCode"]) == (409, 409, 2)
    assert str(code) in answer["message"]
    assert new.sensor["status"] == "DEACTIVATED"


def test_activation_that_fails_leaves_the_sensor_where_it_was(server, new) -> None:
    with box(server, new.token, answering({"results": 2000})) as device:
        status, _ = new.mount()
        request_id, _ = device.request()
        device.settled(device.result(request_id, {"results": 4002}))
        device.settled(device.result(request_id, {"results": 2000}))

    assert (status, new.sensor["status"]) == (200, "DEACTIVATED")


def test_activation_result_without_a_code_is_a_failure_b5(server, new) -> None:
    with box(server, new.token, answering({"results": 2000})) as device:
        new.mount()
        request_id, _ = device.request()
        device.settled(device.result(request_id, {"ok": True}))
        device.settled(device.result(request_id, {"results": 2000}))

    assert new.sensor["status"] == "DEACTIVATED"


def test_activation_of_an_absent_device_answers_409(new) -> None:
    status, answer = new.mount()

    assert (status, answer["errorCode"], new.sensor["status"]) == (409, 2, "DEACTIVATED")


def test_activation_result_after_the_time_out_mounts_the_sensor_r5(server, new) -> None:
    with box(server, new.token) as device:
        status, answer = new.mount()
        request_id, _ = device.request()
        device.ack(request_id, {"result": 2000})
        device.settled(device.result(request_id, {"result": 2000}))

    assert (status, answer["errorCode"]) == (408, 2)
    assert new.sensor["status"] == "ACTIVATED"


def test_activation_result_without_acknowledgement_mounts_and_answers_r6(server, new) -> None:
    with box(server, new.token, answering(None, {"results": 2000})):
        status, answer = new.mount()

    assert (status, answer["response"], answer["status"]) == (200, {"results": 2000}, "ACTIVATED")
    assert answer["vehicleId"] == {"id": new.vehicle_id}


def test_other_vehicle_number_in_the_result_does_not_fail_the_activation_b6(server, new) -> None:
    with box(server, new.token, answering({"result": 2000}, {"result": 2000, "addInfo": {"vid": "somebody else's"}})):
        new.mount()

        assert new.until_mounted()["vehicleNo"] == new.vehicle_no


def test_mounting_where_it_is_sends_nothing(server, new) -> None:
    with box(server, new.token, answering({"result": 2000}, {"result": 2000})) as device:
        new.mount()
        new.until_mounted()
        status, answer = new.mount()

    assert (status, "requestId" in answer, len(device.requests)) == (200, False, 1)


def test_mounting_an_activated_sensor_on_another_vehicle_is_refused(server, company) -> None:
    new, other = pair(company), pair(company)

    with box(server, new.token, answering({"result": 2000}, {"result": 2000})):
        new.mount()
        new.until_mounted()
        status, answer = new.mount(other.vehicle_id)

    assert (status, answer["errorCode"]) == (400, 31)


def test_newer_request_supersedes_the_one_that_waits(server, company) -> None:
    new, other = pair(company), pair(company)

    with box(server, new.token, answering({"result": 2000})) as device:
        new.mount()
        new.mount(other.vehicle_id)
        device.settled(device.result(device.request(0)[0], {"result": 2000}))
        after_old = new.sensor["status"]
        device.settled(device.result(device.request(1)[0], {"result": 2000}))

    assert after_old == "DEACTIVATED"
    assert new.sensor["vehicleId"] == {"id": other.vehicle_id}


@pytest.mark.parametrize("how", ["", "/named"])
def test_unmounting_cancels_the_activation_that_waits(server, company, new, how) -> None:
    path = f"{V1}/sensor/{new.sensor_id}/vehicle" + (f"/{new.vehicle_id}" if how else "")

    with box(server, new.token, answering({"result": 2000})) as device:
        new.mount()
        answer = company.http.delete(path)
        device.settled(device.result(device.request()[0], {"result": 2000}))
        again = company.http.delete(path)

    assert (answer.status_code, answer.json()["status"]) == (200, "DEACTIVATED")
    assert new.sensor["status"] == "DEACTIVATED"
    assert (again.status_code, again.json()["errorCode"]) == (400, 30)


def test_result_maps_nothing_once_the_vehicle_is_deleted(server, company, new) -> None:
    with box(server, new.token, answering({"result": 2000})) as device:
        new.mount()
        assert company.http.delete(f"{V1}/vehicle/{new.vehicle_id}").status_code == 200
        device.settled(device.result(device.request()[0], {"result": 2000}))

    assert (new.sensor["status"], new.sensor["vehicleId"]) == ("DEACTIVATED", UNSET)


def test_mounting_that_waits_is_told_when_the_sensor_is_deleted(server, company, new) -> None:
    def delete(*_) -> None:
        with fleet_client(company) as other:
            assert other.delete(f"{V1}/sensor/{new.sensor_id}").status_code == 200

    with box(server, new.token, delete):
        status, answer = new.mount()

    assert (status, answer["errorCode"]) == (409, 2)
    assert "cancelled" in answer["message"]


def fleet_client(company: fleet.Company):
    """Another connection of the same administrator."""
    return type(company.http)(base_url=company.http.base_url, headers=company.http.headers, timeout=PATIENCE_S)


def test_what_follows_the_result_is_placed_on_the_new_vehicle(server, company, new) -> None:
    start_ms = int(time.time() * 1000) - 60_000
    drive = [
        json.dumps({"ty": 2, "ts": start_ms + 2_000 * n, "pld": {"tid": 1, "lat": 35.1, "lon": 129.0 + n / 10_000,
                    "sp": 40, "clt": start_ms + 2_000 * n}}).encode()
        for n in range(3)
    ]  # fmt: skip

    with box(server, new.token, answering({"result": 2000})) as device:
        new.mount()
        request_id, _ = device.request()
        device.settled(device.send("v1/sensors/me/tre", drive[0]))
        device.result(request_id, {"result": 2000})
        device.settled([device.send("v1/sensors/me/tre", body) for body in drive[1:]][-1])

    (trip,) = company.get(f"{V1}/vehicle/{new.vehicle_id}/trips", limit=5)["data"]
    microtrips = company.get(f"{V1}/trip/{trip['id']['id']}/microtrips", limit=5)["data"]
    assert [each["ts"] for each in microtrips] == [start_ms + 4_000, start_ms + 2_000]


def test_result_after_a_restart_mounts_the_sensor(tmp_path) -> None:
    with servers.serving(tmp_path / "data") as server, fleet.Company(server.api, server.data) as company:
        new = pair(company)
        with box(server, new.token, answering({"result": 2000})) as device:
            new.mount()
            request_id, _ = device.request()
        server.kill()
        with (
            servers.serving(tmp_path / "data", *servers.same_listeners(server)) as again,
            box(again, new.token) as device,
        ):
            device.settled(device.result(request_id, {"result": 2000}))

            assert new.sensor["vehicleId"] == {"id": new.vehicle_id}
