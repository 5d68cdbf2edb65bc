"""Checks of calls to devices: the request and its acknowledgement, the three topics, the time-out, activation."""

import functools
import time
from typing import Any

from tests.support.calling import Box, answering, box
from tests.support.spec.checks import row
from tests.support.spec.world import World

TWOWAY = "/api/plugins/rpc/twoway/"
CHANNEL = "Device channel (MQTTS)"
ACK_S = 20


def call(world: World, sensor_id: str, body: Any) -> tuple[int, dict[str, Any]]:
    """Status and body of a call."""
    headers = {"X-Authorization": f"Bearer {world.tokens['operator']}"}
    answer = world.http.post(TWOWAY + sensor_id, json=body, headers=headers, timeout=2 * ACK_S)
    return answer.status_code, answer.json()


@row(
    "Device RPC (customer application): POST /api/plugins/rpc/twoway/{sensorId}",
    f"{CHANNEL}: v1/sensors/me/rpc/request/{{Request-ID}}",
    f"{CHANNEL}: v1/sensors/me/rpc/response/{{Request-ID}}",
)
def acknowledgement_is_forwarded_to_the_caller(world: World) -> None:
    sensor = world.sensor("operator")
    with box(world.server, sensor["credentialsId"], answering({"result": 2001, "addInfo": {"a": 1}})) as device:
        status, answer = call(world, sensor["id"]["id"], {"method": "serial", "params": ""})
    request_id, body = device.request()
    assert (status, answer["response"]) == (200, {"result": 2001, "addInfo": {"a": 1}})
    assert (answer["requestId"], body) == (request_id, b'{"method":"serial","params":""}')


@row(f"{CHANNEL}: v1/sensors/me/rpc/result/{{Request-ID}}")
def result_is_kept_with_the_call(world: World) -> None:
    sensor = world.sensor("operator")
    sensor_id = sensor["id"]["id"]
    with box(world.server, sensor["credentialsId"], answering({"result": 2000})) as device:
        call(world, sensor_id, {"method": "serial"})
        device.settled(device.result(device.request()[0], {"results": 2000, "additionalInfo": {"sn": "1"}}))
    record = world.good("operator", "GET", f"/sensor/{sensor_id}/rpc/latest")
    assert (record["status"], record["resultCode"]) == ("DONE", 2000)
    assert record["result"] == {"results": 2000, "additionalInfo": {"sn": "1"}}


@functools.cache
def _silent(world: World) -> tuple[float, int, dict[str, Any], str]:
    """How long a call to a silent device takes, its answer, and the state of its record; waited for once."""
    sensor = world.sensor("operator")
    began = time.monotonic()
    with box(world.server, sensor["credentialsId"]):
        status, answer = call(world, sensor["id"]["id"], {"method": "reset", "params": {}})
    took_s = time.monotonic() - began
    record = world.good("operator", "GET", f"/sensor/{sensor['id']['id']}/rpc/latest")
    return took_s, status, answer, record["status"]


@row("Errors: device does not send the RPC acknowledgement within 20 seconds")
def call_that_is_not_acknowledged_times_out_and_is_an_error(world: World) -> None:
    _, status, answer, state = _silent(world)
    assert (status, answer["status"], answer["errorCode"], state) == (408, 408, 2, "TIMEOUT")


@row("Limits: RPC acknowledgement time-out")
def device_has_20_seconds_to_acknowledge(world: World) -> None:
    took_s, *_ = _silent(world)
    assert ACK_S <= took_s < ACK_S + 5


@row("States and transitions: DEACTIVATED on same operation, activationRequired is true")
def sensor_that_needs_activation_is_mounted_when_its_device_succeeds(world: World) -> None:
    sensor, vehicle = (
        world.sensor("operator", activationRequired=True),
        world.vehicle("operator", fuelType="LPG", missionType="AUTO"),
    )
    sensor_id, vehicle_id = sensor["id"]["id"], vehicle["id"]["id"]
    with box(world.server, sensor["credentialsId"], answering({"result": 2000})) as device:
        told = world.good("operator", "POST", f"/sensor/{sensor_id}/vehicle/{vehicle_id}")
        assert (told["status"], told["response"]) == ("DEACTIVATED", {"result": 2000})
        _succeed(device)
    mounted = world.good("operator", "GET", f"/sensor/{sensor_id}")
    assert (mounted["status"], mounted["vehicleId"]) == ("ACTIVATED", vehicle["id"])


def _succeed(device: Box) -> None:
    request_id, body = device.request()
    assert b'"activationReq"' in body
    device.settled(device.result(request_id, {"result": 2000}))
