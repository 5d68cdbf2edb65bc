"""Calls to devices against a running server, over TLS: every check case of spec/rpc 10 that is no activation."""

import itertools
import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.support import fleet, servers, waits
from tests.support.calling import answering, box
from tests.support.receivers import Receiver
from tests.support.receiving import receiving

ACK_S = "1.2"
TWOWAY = "/api/plugins/rpc/twoway/"
TIME_BASED = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-1[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose devices have little time to acknowledge."""
    variables = {"TRIPLINE_RPC_ACK_S": ACK_S}
    with servers.serving(tmp_path_factory.mktemp("server") / "data", variables=variables) as running:
        yield running


numbers = itertools.count(1)


def call(company: fleet.Company, sensor_id: str, body=None, **how):
    """Status and body of a call."""
    answer = company.http.post(TWOWAY + sensor_id, json=body or {"method": "reset", "params": {}}, **how)
    return answer.status_code, answer.json()


@pytest.fixture
def mounted(company):
    """A sensor on a vehicle."""
    return company.vehicle_with_sensor(next(numbers))


def test_call_that_is_acknowledged_answers_with_the_acknowledgement(server, company, mounted) -> None:
    with box(server, mounted.token, answering({"results": 2000})) as device:
        status, answer = call(company, mounted.sensor_id, {"method": "reset", "params": {"a": [1, 2.50]}, "x": 1})

    request_id, body = device.request()
    assert status == 200
    assert answer == {"requestId": request_id, "response": {"results": 2000}, "results": 2000}
    assert TIME_BASED.fullmatch(request_id)
    assert body == b'{"method":"reset","params":{"a":[1,2.5]}}'


def test_refusal_of_the_device_is_answered_200_with_its_code_a3(server, company, mounted) -> None:
    with box(server, mounted.token, answering({"results": 4000})):
        status, answer = call(company, mounted.sensor_id)

    assert status == 200
    assert answer["response"]["results"] == 4000


def test_call_to_a_silent_device_answers_408_when_the_time_is_over(server, company, mounted) -> None:
    with box(server, mounted.token):
        status, answer = call(company, mounted.sensor_id)

    assert (status, answer["status"], answer["errorCode"]) == (408, 408, 2)


def test_call_to_an_absent_device_answers_409_at_once(company, mounted) -> None:
    status, answer = call(company, mounted.sensor_id)

    assert (status, answer["status"], answer["errorCode"]) == (409, 409, 2)
    assert answer["message"] == "The device is not connected."


def test_call_to_a_device_that_does_not_listen_answers_409_at_once(server, company, mounted) -> None:
    with box(server, mounted.token, subscribes=False):
        status, answer = call(company, mounted.sensor_id)

    assert (status, answer["errorCode"]) == (409, 2)
    assert "subscribe" in answer["message"]


def test_result_without_acknowledgement_answers_the_waiting_call_r6(server, company, mounted) -> None:
    with box(server, mounted.token, answering(None, {"result": 2000, "addInfo": {}})):
        status, answer = call(company, mounted.sensor_id)

    assert (status, answer["response"]) == (200, {"result": 2000, "addInfo": {}})


def test_param_is_forwarded_as_params_q2(server, company, mounted) -> None:
    with box(server, mounted.token, answering({"result": 2000})) as device:
        call(company, mounted.sensor_id, {"method": "factoryReset", "param": "x"})

    assert json.loads(device.request()[1]) == {"method": "factoryReset", "params": "x"}


@pytest.mark.parametrize(
    ("sensor", "body", "outcome"),
    [
        ("no-uuid", b"{}", (400, 31)),
        ("6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71", b"{}", (404, 32)),
        (None, b"", (400, 31)),
        (None, b"[]", (400, 31)),
        (None, b'{"params":{}}', (400, 31)),
        (None, b'{"method":""}', (400, 31)),
        (None, b'{"method":7}', (400, 31)),
    ],
)
def test_request_that_cannot_be_used_sends_nothing_q5(server, company, mounted, sensor, body, outcome) -> None:
    with box(server, mounted.token, answering({"result": 2000})) as device:
        answer = company.http.post(TWOWAY + (sensor or mounted.sensor_id), content=body)
        call(company, mounted.sensor_id)

    assert (answer.status_code, answer.json()["errorCode"]) == outcome
    assert len(device.requests) == 1


def test_call_without_token_is_refused(server, mounted) -> None:

    answer = httpx.post(f"{server.api}{TWOWAY}{mounted.sensor_id}", json={"method": "reset"})

    assert (answer.status_code, answer.json()["errorCode"]) == (401, 10)


def test_timeout_shortens_the_wait_q4(server, company, mounted) -> None:
    with box(server, mounted.token) as device:
        began = time.monotonic()
        status, _ = call(company, mounted.sensor_id, {"method": "reset", "timeout": 1000})
        took_s = time.monotonic() - began

    assert (status, device.request()[1]) == (408, b'{"method":"reset","params":{}}')
    assert 1.0 <= took_s < 10, "without a timeout it would wait for 20 s"


def test_calls_under_way_to_one_device_are_answered_each_with_its_own_r8(server, company, mounted) -> None:
    methods = [f"method-{number}" for number in range(8)]

    def backwards(device, *_) -> None:
        if len(device.requests) == len(methods):
            for request_id, body in reversed(device.requests):
                device.ack(request_id, {"result": 2000, "did": json.loads(body)["method"]})

    with box(server, mounted.token, backwards), ThreadPoolExecutor(len(methods)) as pool:
        answers = list(pool.map(lambda method: call(company, mounted.sensor_id, {"method": method}), methods))

    assert [(status, answer["response"]["did"]) for status, answer in answers] == [(200, each) for each in methods]


@pytest.mark.parametrize(("ack", "value"), [(b'"done"', "done"), (b"[1]", [1]), (b"7", 7), (b"no JSON", "no JSON")])
def test_acknowledgement_that_is_no_object_is_answered_under_value_a2(server, company, mounted, ack, value) -> None:
    with box(server, mounted.token, answering(ack)):
        status, answer = call(company, mounted.sensor_id)

    assert (status, answer["response"]) == (200, {"value": value})
    assert "status" not in answer


def test_result_goes_to_both_addresses_of_the_company_and_into_its_record_b3(server, company, mounted) -> None:
    body = b'{"results":2000,  "additionalInfo":{"sn":"SN 1"}}'
    receiver = Receiver()

    with receiving(receiver) as customer:
        wanted = {"notifyHost": customer.url, "notifyMsgType": " 8 ,, 300 "}
        wanted |= {"rpcNotifyHost": "127.0.0.1", "rpcNotifyPort": receiver.port, "rpcNotifyBasePath": "/rpc"}
        path = f"/api/tre/v1/company/{company.record['id']['id']}"
        assert company.http.put(path, json=wanted).status_code == 200
        with box(server, mounted.token, answering({"result": 2000})) as device:
            call(company, mounted.sensor_id, {"method": "serial", "params": ""})
            request_id, _ = device.request()
            device.settled(device.result(request_id, body))
        waits.seen(lambda: len(receiver.requests) >= 2)
        record = company.get(f"/api/tre/v1/sensor/{mounted.sensor_id}/rpc/{request_id}")
        company.http.put(path, json={"notifyHost": None, "rpcNotifyHost": None})

    (notice,) = [each for each in receiver.requests if each.line.startswith("POST /noti")]
    (verbatim,) = [each for each in receiver.requests if each.line.startswith("POST /rpc")]
    assert (notice.json["ty"], notice.json["requestId"], notice.json["pld"]) == ("RPC", request_id, json.loads(body))
    assert (verbatim.body, verbatim.headers["x-request-id"]) == (body, request_id)
    assert (verbatim.headers["x-sensor-id"], verbatim.headers["x-rpc-method"]) == (mounted.sensor_id, "serial")
    assert (record["status"], record["resultCode"], record["params"]) == ("DONE", 2000, "")
    assert (record["response"], record["result"]) == ({"result": 2000}, json.loads(body))
    assert (record["addInfo"], record["vehicleId"]) == ({"sn": "SN 1"}, {"id": mounted.vehicle_id})
    latest = company.get(f"/api/tre/v1/sensor/{mounted.sensor_id}/latest")
    assert latest["attributes"]["rpc"] == json.loads(body)


def test_records_are_pages_by_time(server, company, mounted) -> None:
    path = f"/api/tre/v1/sensor/{mounted.sensor_id}/rpcs"

    with box(server, mounted.token, answering({"result": 2000})) as device:
        for number in range(3):
            call(company, mounted.sensor_id, {"method": f"m{number}"})
    made = [request_id for request_id, _ in device.requests]
    first = company.get(path, limit=2)
    rest = company.get(path, **{name: value for name, value in first["nextPageLink"].items() if value is not None})

    assert [[each["id"]["id"] for each in page["data"]] for page in (first, rest)] == [made[:0:-1], made[:1]]
    assert (first["hasNext"], rest["hasNext"], rest["nextPageLink"]) == (True, False, None)


def test_latest_record_of_a_device_that_was_never_called_is_unknown(company, mounted) -> None:
    answer = company.http.get(f"/api/tre/v1/sensor/{mounted.sensor_id}/rpc/latest")

    assert (answer.status_code, answer.json()["errorCode"]) == (404, 32)


def test_caller_that_hangs_up_leaves_a_call_that_ends(server, company, mounted) -> None:
    gone = threading.Event()

    def acknowledge_late(device, request_id, _) -> None:
        assert gone.wait(20)
        device.ack(request_id, {"result": 2000})

    with box(server, mounted.token, acknowledge_late):
        host, _, port = server.api.rpartition("://")[2].rpartition(":")
        body = b'{"method":"reset"}'
        head = f"POST {TWOWAY}{mounted.sensor_id} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
        head += f"X-Authorization: {company.http.headers['X-Authorization']}\r\n\r\n"
        with socket.create_connection((host, int(port))) as caller:
            caller.sendall(head.encode() + body)
            waits.seen(
                lambda: company.http.get(f"/api/tre/v1/sensor/{mounted.sensor_id}/rpc/latest").status_code == 200
            )
        gone.set()
        path = f"/api/tre/v1/sensor/{mounted.sensor_id}/rpc/latest"
        waits.seen(lambda: company.get(path)["status"] == "ACKED")
