"""Rows that are not there yet: remote procedure calls to devices, and the customers' message bus.

Each check holds what the program says today, so that the row comes back here when that changes.
"""

import functools
from pathlib import Path

from tests.support import servers
from tests.support.device import publish_packet
from tests.support.spec.channel import converse
from tests.support.spec.checks import LATER, row, rows
from tests.support.spec.world import World

RPC = "calls to devices are not served yet"
BUS = "there is no message bus yet"
ROWS_OF_BUS = (
    "sf-microtrip",
    "sf-trip",
    "sf-event",
    "date",
    "deviceType",
    "companyID",
    "payload",
    "ts",
    "startTs",
    "endTs",
    "startDt",
    "endDt",
    "eventTs",
    "eventDt",
    "createdTime",
    "tripId",
    "microTripId",
    "eventId",
    "vehicleId",
    "sensorId",
    "userId",
    "ty",
)


@row(
    "Device RPC (customer application): POST /api/plugins/rpc/twoway/{sensorId}",
    "Device channel (MQTTS): v1/sensors/me/rpc/request/{Request-ID}",
    "Errors: device does not send the RPC acknowledgement within 20 seconds",
    "Limits: RPC acknowledgement time-out",
    later=RPC,
)
def no_call_can_be_made(world: World) -> None:
    path = f"/api/plugins/rpc/twoway/{world.ids['sensor']}"
    assert world.refused("operator", "POST", path, {"method": "x", "params": {}}) == (404, 32)


@row(
    "Device channel (MQTTS): v1/sensors/me/rpc/response/{Request-ID}",
    "Device channel (MQTTS): v1/sensors/me/rpc/result/{Request-ID}",
    later=RPC,
)
def answers_to_calls_are_acknowledged(world: World) -> None:
    for kind in ("response", "result"):
        packet = publish_packet(f"v1/sensors/me/rpc/{kind}/1", b'{"result":2000}', 6)
        assert converse(world, world.box["credentialsId"], packet, 4) == b"\x40\x02\x00\x06"


@row("States and transitions: DEACTIVATED on same operation, activationRequired is true", later=RPC)
def sensor_that_needs_activation_is_not_mounted(world: World) -> None:
    sensor, vehicle = world.sensor("operator", activationRequired=True), world.vehicle("operator")
    path = f"/sensor/{sensor['id']['id']}/vehicle/{vehicle['id']['id']}"
    assert world.refused("operator", "POST", path) == (409, 2)
    assert world.good("operator", "GET", f"/sensor/{sensor['id']['id']}") == sensor


@functools.cache
def _start_with_a_bus(folder: Path) -> tuple[int, str]:
    """Exit code and complaint of a server that is told to read a bus; one start serves every row."""
    done = servers.run("serve", "--data", str(folder / "bus"), "--bus", "kafka://127.0.0.1:9")
    return done.returncode, done.stderr


def _no_bus(world: World, _: str) -> None:
    code, complaint = _start_with_a_bus(world.server.data.parent)
    assert code == 2
    assert "bus.url" in complaint


rows("Message-bus ingestion", ROWS_OF_BUS, _no_bus)
LATER.update({f"Message-bus ingestion: {name}": BUS for name in ROWS_OF_BUS})
