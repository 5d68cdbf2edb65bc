"""Checks of the device channel: topics, device events, connection settings."""

import asyncio
import json
import struct

from tests.support.device import RefusedError, connect_packet, hang_up, publish_packet
from tests.support.spec.checks import add, row
from tests.support.spec.world import START_MS, World

HEADING = "Device channel (MQTTS)"
REQUESTS = "v1/sensors/me/rpc/request/+"
EVENTS = {
    "Diagnostic Information": 101,
    "Collision warning (driving)": 111,
    "Collision warning (parking)": 112,
    "Battery Warning": 113,
    "Unplugged Warning": 114,
    "Turn-off Warning": 115,
}


def converse(world: World, token: str, packet: bytes, answer_bytes: int) -> bytes:
    """The answer to one packet on a fresh connection."""

    async def play() -> bytes:
        device = world.device(token)
        reader, writer = await asyncio.open_connection(
            device.host, device.port, ssl=device.tls, server_hostname="localhost"
        )
        try:
            writer.write(connect_packet(token))
            connack = await reader.readexactly(4)
            if connack[3]:
                raise RefusedError(connack[3])
            writer.write(packet)
            return await reader.readexactly(answer_bytes)
        finally:
            await hang_up(writer)

    return asyncio.run(asyncio.wait_for(play(), 10))


@row(f"{HEADING}: {REQUESTS}")
def device_subscribes_to_its_requests(world: World) -> None:
    topic = REQUESTS.encode()
    body = struct.pack(">HH", 7, len(topic)) + topic + b"\x01"
    assert converse(world, world.box["credentialsId"], bytes([0x82, len(body)]) + body, 5) == b"\x90\x03\x00\x07\x01"


@row(
    f"{HEADING}: v1/sensors/me/tre",
    "Limits: device QoS for trip, microtrip and event messages",
    "Limits: the service version",
    "Authentication: rule 5",
)
def messages_are_acknowledged_at_qos_1(world: World) -> None:
    body = json.dumps({"ty": 2, "ts": START_MS, "pld": {"tid": 9, "clt": START_MS, "lat": 37, "lon": 127}}).encode()
    packet = publish_packet("v1/sensors/me/tre", body, 5)
    sensor = world.sensor("operator")
    assert converse(world, sensor["credentialsId"], packet, 4) == b"\x40\x02\x00\x05"
    for stranger in ("x" * 20, ""):
        try:
            converse(world, stranger, packet, 4)
        except RefusedError as refused:
            assert refused.args[0] in (4, 5)
        else:
            raise AssertionError("a stranger was let in")


def _device_event(world: World, ty: int) -> None:
    sensor, vehicle = world.sensor("operator", type="OBD2"), world.vehicle("operator")
    world.good("operator", "POST", f"/sensor/{sensor['id']['id']}/vehicle/{vehicle['id']['id']}")
    item = {"tid": 1, "clt": START_MS, "lat": 37.5, "lon": 127.0, "dtc": "P0001", "wbv": 11.9}
    world.publish(sensor["credentialsId"], [json.dumps({"ty": ty, "ts": START_MS, "pld": item}).encode()])
    (event,) = world.awaited(f"/vehicle/{vehicle['id']['id']}/events", 1)
    assert (event["ty"], event["eventTs"], event["sensorId"]) == (ty, START_MS, sensor["id"])


for _name, _ty in EVENTS.items():
    add(f"Events: {_name}", lambda world, ty=_ty: _device_event(world, ty))  # type: ignore[misc]
