"""Calls to devices against a running server, over TLS: every check case of rpc.md 10 that is no activation."""

import itertools
import json
import re

import pytest
from tests.support import fleet, servers
from tests.support.calling import answering, box

ACK_S = "1.2"
TWOWAY = "/api/plugins/rpc/twoway/"
TIME_BASED = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-1[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server whose devices have little time to acknowledge, and a company's administrator on it."""
    variables = {"TRIPLINE_RPC_ACK_S": ACK_S}
    with (
        servers.serving(tmp_path_factory.mktemp("rpc") / "data", variables=variables) as server,
        fleet.Company(server.api, server.data) as company,
    ):
        yield server, company


numbers = itertools.count(1)


def call(company: fleet.Company, sensor_id: str, body=None, **how):
    """Status and body of a call."""
    answer = company.http.post(TWOWAY + sensor_id, json=body or {"method": "reset", "params": {}}, **how)
    return answer.status_code, answer.json()


def test_call_that_is_acknowledged_answers_with_the_acknowledgement(served) -> None:
    server, company = served
    mounted = company.vehicle_with_sensor(next(numbers))

    with box(server, mounted.token, answering({"results": 2000})) as device:
        status, answer = call(company, mounted.sensor_id, {"method": "reset", "params": {"a": [1, 2.50]}, "x": 1})

    request_id, body = device.request()
    assert status == 200
    assert answer == {"requestId": request_id, "response": {"results": 2000}, "results": 2000}
    assert TIME_BASED.fullmatch(request_id)
    assert body == b'{"method":"reset","params":{"a":[1,2.5]}}'


def test_refusal_of_the_device_is_answered_200_with_its_code_a3(served) -> None:
    server, company = served
    mounted = company.vehicle_with_sensor(next(numbers))

    with box(server, mounted.token, answering({"results": 4000})):
        status, answer = call(company, mounted.sensor_id)

    assert status == 200
    assert answer["response"]["results"] == 4000


def test_call_to_a_silent_device_answers_408_when_the_time_is_over(served) -> None:
    server, company = served
    mounted = company.vehicle_with_sensor(next(numbers))

    with box(server, mounted.token):
        status, answer = call(company, mounted.sensor_id)

    assert (status, answer["status"], answer["errorCode"]) == (408, 408, 2)


def test_call_to_an_absent_device_answers_409_at_once(served) -> None:
    _, company = served
    mounted = company.vehicle_with_sensor(next(numbers))

    status, answer = call(company, mounted.sensor_id)

    assert (status, answer["status"], answer["errorCode"]) == (409, 409, 2)
    assert answer["message"] == "The device is not connected."


def test_call_to_a_device_that_does_not_listen_answers_409_at_once(served) -> None:
    server, company = served
    mounted = company.vehicle_with_sensor(next(numbers))

    with box(server, mounted.token, subscribes=False):
        status, answer = call(company, mounted.sensor_id)

    assert (status, answer["errorCode"]) == (409, 2)
    assert "subscribe" in answer["message"]


def test_result_without_acknowledgement_answers_the_waiting_call_r6(served) -> None:
    server, company = served
    mounted = company.vehicle_with_sensor(next(numbers))

    with box(server, mounted.token, answering(None, {"result": 2000, "addInfo": {}})):
        status, answer = call(company, mounted.sensor_id)

    assert (status, answer["response"]) == (200, {"result": 2000, "addInfo": {}})


def test_param_is_forwarded_as_params_q2(served) -> None:
    server, company = served
    mounted = company.vehicle_with_sensor(next(numbers))

    with box(server, mounted.token, answering({"result": 2000})) as device:
        call(company, mounted.sensor_id, {"method": "factoryReset", "param": "x"})

    assert json.loads(device.request()[1]) == {"method": "factoryReset", "params": "x"}
