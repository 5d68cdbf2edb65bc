"""Devices made with clients that others wrote do everything a device does, over TLS against the running server.

A table: every kind of client (`foreign_devices.DEVICES`) times every step; what came of a step is read over REST. Not
here: restarts, every QoS, refusals (`test_foreign_clients_server.py`).
"""

import contextlib
import json
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.support import drives, fleet, foreign, foreign_devices, required, servers, waits
from tests.support.foreign_devices import DEVICES, ForeignDevice
from tests.support.foreign_requests import LIMIT_S

pytestmark = [pytest.mark.deep, pytest.mark.once("how foreign devices speak")]

TRE = "v1/sensors/me/tre"
ATTRIBUTES = "v1/sensors/me/attributes"
START_MS = 1_780_000_000_000
RPC = "/api/plugins/rpc/twoway/"
each_device = pytest.mark.parametrize("name", DEVICES)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A server with a company on it."""
    with (
        servers.serving(tmp_path_factory.mktemp("devices") / "data") as server,
        fleet.Company(server.api, server.data) as company,
        ThreadPoolExecutor(2) as callers,
    ):
        yield World(server, company, callers)


class World:
    """Where devices are registered and connect, and what is known of them over REST."""

    def __init__(self, server: servers.Running, company: fleet.Company, callers: ThreadPoolExecutor) -> None:
        self.company = company
        self._listener = foreign.Listener(server.device_host, server.device_port, server.ca)
        self._callers = callers
        self._registered = 0

    def device(self, opened: contextlib.ExitStack, name: str, token: str) -> ForeignDevice:
        """A device of this kind that has not connected yet."""
        if name == "mosquitto":
            required.need("mosquitto_sub", "the mosquitto programs against the server")
        if name == "mqtt.js":
            required.need((foreign.JS / "node_modules" / "mqtt").is_dir(), "mqtt.js against the server")
        device = DEVICES[name](self._listener, token)
        opened.callback(device.end)
        return device

    def mounted(self, sensor_type: str = "GPS") -> fleet.Registered:
        """A vehicle with its sensor."""
        self._registered += 1
        return self.company.vehicle_with_sensor(self._registered, sensor_type=sensor_type)

    def unmounted(self) -> tuple[str, str, str]:
        """Ids of a vehicle and of a sensor that asks for activation, and the sensor's token."""
        self._registered += 1
        number = self._registered
        vehicle = self.company.post(
            "/api/tre/v1/vehicle",
            {"vehicleNo": f"{number:02d}B{number:04d}", "mileage": 1000, "displacement": 1998, "fuelType": "DIESEL"},
        )
        token = fleet.device_token()
        sensor = self.company.post(
            "/api/tre/v1/sensor",
            {
                "serialNo": f"SA-{number:06d}",
                "type": "OBD",
                "credentialsId": token,
                "activationRequired": True,
                "missionType": "AUTO",
            },
        )
        return vehicle["id"]["id"], sensor["id"]["id"], token

    def asking(self, path: str, body: dict[str, Any] | None = None) -> "Future[httpx.Response]":
        """A POST that is answered when the device has acknowledged."""
        return self._callers.submit(self.company.http.post, path, json=body)

    def connection(self, sensor_id: str) -> tuple[bool, str | None]:
        """Whether the sensor's device is connected, and how its last connection ended."""
        latest = self.company.get(f"/api/tre/v1/sensor/{sensor_id}/latest")
        return latest["connected"], latest.get("lastDisconnectReason")

    def trips(self, vehicle_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.company.get(f"/api/tre/v1/vehicle/{vehicle_id}/trips", limit=1000)["data"]
        return found

    def header_times(self, vehicle_id: str) -> list[int]:
        """The header time of every microtrip of the vehicle."""
        pages = [
            self.company.get(f"/api/tre/v1/trip/{trip['id']['id']}/microtrips", limit=1000)
            for trip in self.trips(vehicle_id)
        ]
        return sorted(microtrip["ts"] for page in pages for microtrip in page["data"])

    def events(self, vehicle_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.company.get(f"/api/tre/v1/vehicle/{vehicle_id}/events", limit=100)["data"]
        return found


def body_of(what: dict[str, Any]) -> bytes:
    return json.dumps(what, separators=(",", ":")).encode()


@each_device
def test_device_connects_subscribes_and_says_goodbye(world, name):
    one = world.mounted()

    with contextlib.ExitStack() as opened:
        device = world.device(opened, name, one.token)
        before = world.connection(one.sensor_id)
        device.connect()
        waits.seen(lambda: world.connection(one.sensor_id) == (True, None))
        device.disconnect()
        waits.seen(lambda: world.connection(one.sensor_id) == (False, "disconnected"))

    assert before == (False, None)


@each_device
def test_device_is_activated_and_mounted_once_its_result_has_come(world, name):
    vehicle_id, sensor_id, token = world.unmounted()

    with contextlib.ExitStack() as opened:
        device = world.device(opened, name, token)
        device.connect()
        mounting = world.asking(f"/api/tre/v1/sensor/{sensor_id}/vehicle/{vehicle_id}")
        request = device.request()
        device.publish(request.acknowledgement, b'{"result":2000}')
        answer = mounting.result(LIMIT_S)
        pending = world.company.get(f"/api/tre/v1/sensor/{sensor_id}")
        device.publish(request.result, b'{"results":2000,"additionalInfo":{"vid":"12A3456"}}')

        vehicle = world.company.get(f"/api/tre/v1/vehicle/{vehicle_id}")
        assert request.call == {
            "method": "activationReq",
            "params": {"vid": vehicle["vehicleNo"], "upp": 2, "elt": 1998, "fut": 2, "mty": "Automatic"},
        }
        assert (answer.status_code, answer.json()["requestId"]) == (200, request.id)
        assert answer.json()["response"] == {"result": 2000}
        assert pending["status"] == "DEACTIVATED"
        waits.seen(lambda: world.company.get(f"/api/tre/v1/sensor/{sensor_id}")["status"] == "ACTIVATED")
        assert world.company.get(f"/api/tre/v1/sensor/{sensor_id}")["vehicleId"]["id"] == vehicle_id


@each_device
def test_device_acknowledges_a_call_and_says_what_came_of_it(world, name):
    one = world.mounted("OBD")

    with contextlib.ExitStack() as opened:
        device = world.device(opened, name, one.token)
        device.connect()
        calling = world.asking(f"{RPC}{one.sensor_id}", {"method": "serial", "params": ""})
        request = device.request()
        device.publish(request.acknowledgement, b'{"results":2001}')
        answer = calling.result(LIMIT_S)
        device.publish(request.result, b'{"results":2000,"additionalInfo":{"sn":"0042"}}')

        path = f"/api/tre/v1/sensor/{one.sensor_id}/rpc/{request.id}"
        waits.seen(lambda: world.company.get(path)["status"] == "DONE")
        record = world.company.get(path)
        assert request.body == b'{"method":"serial","params":""}'
        assert answer.status_code == 200
        assert answer.json() == {"requestId": request.id, "response": {"results": 2001}, "results": 2001}
        assert record["response"] == {"results": 2001}
        assert record["result"] == {"results": 2000, "additionalInfo": {"sn": "0042"}}
        assert record["resultCode"] == 2000


@each_device
def test_device_sends_microtrips_and_a_trip(world, name):
    one = world.mounted()
    *microtrips, trip = drives.straight_trip(7, START_MS, samples=5)

    with contextlib.ExitStack() as opened:
        device = world.device(opened, name, one.token)
        device.connect()
        for body in microtrips:
            device.publish(TRE, body)
        (under_way,) = world.trips(one.vehicle_id)
        device.publish(TRE, trip)
        (ended,) = world.trips(one.vehicle_id)

    assert world.header_times(one.vehicle_id) == [START_MS + 2_000 * number for number in range(5)]
    assert (under_way["startTs"], under_way["endTs"]) == (START_MS, None)
    assert (ended["id"], ended["endTs"]) == (under_way["id"], START_MS + 8_000)


@each_device
def test_device_sends_events_with_and_without_header(world, name):
    one = world.mounted("OBD")
    collision = {"tid": 7, "dclat": 37.51221, "dclon": 127.041877}
    unplugged = {"unpt": START_MS // 1000, "pt": START_MS // 1000 + 60}

    with contextlib.ExitStack() as opened:
        device = world.device(opened, name, one.token)
        device.connect()
        device.publish(TRE, body_of({"ty": 102, "ts": START_MS, "pld": collision}))
        device.publish(ATTRIBUTES, body_of(unplugged))

    assert sorted((event["ty"], event["payload"]) for event in world.events(one.vehicle_id)) == [
        (102, collision),
        (105, unplugged),
    ]


@each_device
def test_device_goes_and_comes_back_and_is_called_again(world, name):
    one = world.mounted()
    first, second = drives.straight_trip(7, START_MS, samples=2)[:2]

    with contextlib.ExitStack() as opened:
        device = world.device(opened, name, one.token)
        device.connect()
        device.publish(TRE, first)
        device.disconnect()
        away = world.asking(f"{RPC}{one.sensor_id}", {"method": "reset"}).result(LIMIT_S)
        device.connect()
        calling = world.asking(f"{RPC}{one.sensor_id}", {"method": "reset"})
        request = device.request()
        device.publish(request.acknowledgement, b'{"result":2000}')
        back = calling.result(LIMIT_S)
        device.publish(TRE, second)

    assert (away.status_code, away.json()["errorCode"]) == (409, 2)
    assert (back.status_code, back.json()["response"]) == (200, {"result": 2000})
    assert world.header_times(one.vehicle_id) == [START_MS, START_MS + 2_000]


@each_device
def test_second_connection_of_a_device_ends_the_first_and_gets_the_calls(world, name):
    one = world.mounted()

    with contextlib.ExitStack() as opened:
        first = world.device(opened, name, one.token)
        first.connect()
        second = world.device(opened, name, one.token)
        second.connect()
        first.until_ended()
        first.end()
        if name == "mosquitto":  # Its first program came back before it was ended, and ended the second.
            second.disconnect()
            second.connect()
        calling = world.asking(f"{RPC}{one.sensor_id}", {"method": "reset"})
        request = second.request()
        second.publish(request.acknowledgement, b'{"result":2000}')

        assert calling.result(LIMIT_S).status_code == 200


@each_device
def test_devices_with_one_client_identifier_do_not_end_each_other(world, name):
    one, other = world.mounted(), world.mounted()
    body = drives.straight_trip(7, START_MS, samples=1)[0]

    with contextlib.ExitStack() as opened:
        first, second = (world.device(opened, name, each.token) for each in (one, other))
        first.connect()
        second.connect()
        calling = world.asking(f"{RPC}{one.sensor_id}", {"method": "reset"})
        request = first.request()
        first.publish(request.acknowledgement, b'{"result":2000}')
        first.publish(TRE, body)
        second.publish(TRE, body)

        assert calling.result(LIMIT_S).status_code == 200
    assert world.header_times(one.vehicle_id) == world.header_times(other.vehicle_id) == [START_MS]


def test_every_client_of_the_list_is_there():
    assert set(foreign_devices.DEVICES) == {"paho", "aiomqtt", "mosquitto", "mqtt.js", "embedded"}
