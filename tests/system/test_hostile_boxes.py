"""Boxes that send too much, nonsense, or nothing at all; and what the log says of all that: no token, no position."""

import asyncio
import json
import re
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support import device, worlds
from tests.support.fleet import Registered, device_token
from tests.support.worlds import World

from tripline.wire import topics

START_MS = 1_780_000_000_000
LAT, LON = 35.987654, 129.123456
BODY_LIMIT = 262_144
MAX_CONNECTIONS = 5_000
WAIT_S = 10


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    variables = {
        "TRIPLINE_LOG_LEVEL": "debug",
        "TRIPLINE_DEVICES_CONNECT_TIMEOUT_S": "2",
        "TRIPLINE_DEVICES_MAX_CONNECTIONS": str(MAX_CONNECTIONS),
    }
    with worlds.running(tmp_path_factory.mktemp("hostile") / "data", variables=variables) as world:
        yield world


def item(step: int = 0) -> dict[str, Any]:
    return {"tid": 1, "lat": LAT, "lon": LON, "sp": 60, "clt": START_MS + step * 1_000}


def microtrip(step: int = 0) -> bytes:
    return json.dumps({"ty": 2, "ts": START_MS + step * 1_000, "pld": item(step)}).encode()


def filled_to(size: int) -> bytes:
    """A microtrip of exactly this many bytes."""
    empty = json.dumps({"ty": 2, "ts": START_MS, "pld": {**item(), "x": ""}}).encode()
    return empty.replace(b'"x": ""', b'"x": "%b"' % (b"." * (size - len(empty))))


def aggregate(count: int) -> bytes:
    return json.dumps({"ty": 2, "ts": START_MS, "pld": [item(step) for step in range(count)]}).encode()


def rejections(world: World, box: Registered) -> list[tuple[str, str]]:
    return world.rows("SELECT reason, detail FROM rejected_message WHERE sensor_id = ? ORDER BY no", box.sensor_id)


def address(world: World) -> tuple[str, int]:
    return world.server.device_host, world.server.device_port


def answer_to(world: World, sent: bytes) -> bytes:
    """Everything the device listener answers to these bytes outside TLS, until it hangs up."""
    with socket.create_connection(address(world), timeout=WAIT_S) as plain:
        plain.sendall(sent)
        received = b""
        try:
            while data := plain.recv(4096):
                received += data
        except ConnectionResetError:
            pass
        return received


def test_h14_device_listener_speaks_only_inside_tls(world: World) -> None:
    box = world.box()

    answer = answer_to(world, device.connect_packet(box.token))

    assert answer[:1] in (b"", b"\x15")  # nothing, or a TLS alert; a CONNACK begins with 0x20
    assert len(answer) <= 7


def test_g35_largest_body_is_taken_and_one_byte_more_is_rejected_with_its_size(world: World) -> None:
    box = world.box()

    world.send(box, *(filled_to(BODY_LIMIT + more) for more in (-1, 0, 1)), microtrip(1))

    (trip,) = world.trips(box)
    sizes = [len(json.dumps(record["payload"])) for record in world.microtrips(trip)]
    assert [size > BODY_LIMIT - 100 for size in sizes] == [False, True, True]
    assert rejections(world, box) == [("too_large", f"{BODY_LIMIT + 1} bytes")]


def test_g35_aggregate_of_a_thousand_items_is_taken_and_one_more_is_rejected(world: World) -> None:
    box = world.box()

    world.send(box, aggregate(1_000), aggregate(1_001), aggregate(999))

    (trip,) = world.trips(box)
    assert [len(record["payload"]) for record in world.microtrips(trip)] == [999, 1_000]
    assert [reason for reason, _ in rejections(world, box)] == ["too_many_items"]


def test_doctor_shows_no_control_characters_of_a_topic(world: World) -> None:
    box = world.box()

    world.send(box, microtrip(), topic="v1/\x1b[2Jclear/\u202ereversed")
    told = worlds.doctor(world)

    (line,) = [line for line in told.splitlines() if box.sensor_id in line]
    assert line.endswith(f"sensor {box.sensor_id}, device v1/?[2Jclear/?reversed")
    assert "publish to v1/sensors/me/tre" in line


def test_nonsense_outside_tls_by_the_hundred_keeps_no_one_from_being_served(world: World) -> None:
    box = world.box()
    noise = [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00" + b"\xff" * 512, b"\x00" * 64, b"\x80" * 5]

    for number in range(500):
        with socket.create_connection(address(world), timeout=WAIT_S) as plain:
            plain.sendall(noise[number % len(noise)])
    world.send(box, microtrip())

    assert len(world.trips(box)) == 1


def test_connections_that_never_begin_tls_are_closed_and_keep_no_one_out(world: World) -> None:
    box = world.box()
    waiting = [socket.create_connection(address(world), timeout=WAIT_S) for _ in range(500)]

    world.send(box, microtrip())
    ends = [plain.recv(64) for plain in waiting]

    for plain in waiting:
        plain.close()
    assert len(world.trips(box)) == 1
    assert set(ends) == {b""}


def test_connections_that_never_say_connect_are_closed(world: World) -> None:
    tls = ssl.create_default_context(cafile=world.server.ca)
    began = time.monotonic()

    with tls.wrap_socket(
        socket.create_connection(address(world), timeout=WAIT_S), server_hostname="localhost"
    ) as silent:
        silent.sendall(device.connect_packet("A" * 20)[:5])
        end = silent.recv(64)

    assert end == b""
    assert time.monotonic() - began < WAIT_S


def test_open_files_are_bounded_by_the_most_connections(world: World) -> None:
    limits = Path(f"/proc/{world.server.process.pid}/limits").read_text()

    assert re.search(r"Max open files\s+(\d+)", limits)[1] == str(MAX_CONNECTIONS + 3 * 2_048 + 2_048)


def test_log_of_a_busy_server_holds_no_token_and_no_position(world: World) -> None:
    box, unknown = world.box(), device_token()
    tls = ssl.create_default_context(cafile=world.server.ca)
    stranger = device.CarefulDevice(unknown, *address(world), tls)
    odd = [
        b'{"ty":2,"pld":{"lat":%r,"lon":%r,}}' % (LAT, LON),
        json.dumps({"ty": 55, "pld": item()}).encode(),
        json.dumps({"ty": 2, "pld": [item(), LAT]}).encode(),
        json.dumps({"ty": 112, "pld": {"wid": 99, "lat": LAT, "lon": LON}}).encode(),
        filled_to(BODY_LIMIT + 1),
    ]

    world.send(box, microtrip(), *odd)
    world.send(box, microtrip(1), topic=f"v1/{box.token}/{LAT}")
    with pytest.raises(device.RefusedError, match="5"):
        asyncio.run(stranger.play([microtrip()]))
    told = worlds.log_of(world)

    assert "device.connected" in told and "device.refused" in told and "ingest.reject" in told
    assert [secret for secret in (box.token, unknown, str(LAT), str(LON)) if secret in told] == []
    assert topics.TRE not in told
