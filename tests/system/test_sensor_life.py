"""A device whose sensor is deleted, gets another token, or is taken off its vehicle while it drives, over real TLS."""

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import Any

from tests.support.device import connect_packet, hang_up, publish_packet
from tests.support.fleet import Registered, device_token
from tests.support.worlds import World

from tripline.domain import ids
from tripline.wire import topics

START_MS = 1_780_000_000_000
SOON_S = 1.0
"""How long the platform may take to end a session."""
PATIENCE_S = 20
NOT_AUTHORISED = 5
PLACEHOLDER = {"id": ids.PLACEHOLDER}


def sample(step: int, start_ms: int = START_MS) -> bytes:
    """One second of a drive northwards at 60 km/h."""
    at = start_ms + step * 1_000
    item = {"tid": 1, "lat": 37.5 + step * 0.00015, "lon": 127.0, "sp": 60, "clt": at}
    return json.dumps({"ty": 2, "ts": at, "pld": item}).encode()


class Box:
    """A device on one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, code: int) -> None:
        self._reader = reader
        self._writer = writer
        self.code = code
        """Return code of its CONNACK."""

    @classmethod
    async def connected(cls, world: World, token: str) -> "Box":
        """Connect with the token; what was answered is in `code`."""
        server = world.server
        tls = ssl.create_default_context(cafile=server.ca)
        reader, writer = await asyncio.open_connection(
            server.device_host, server.device_port, ssl=tls, server_hostname="localhost"
        )
        writer.write(connect_packet(token))
        return cls(reader, writer, (await reader.readexactly(4))[3])

    async def drive(self, steps: range, start_ms: int = START_MS) -> None:
        """Publish samples, each acknowledged before the next."""
        for step in steps:
            self._writer.write(publish_packet(topics.TRE, sample(step, start_ms), step + 1))
            assert (await self._reader.readexactly(4))[:2] == b"\x40\x02"

    async def ended(self) -> None:
        """Return when the platform has closed the connection. Raises `TimeoutError` when it does not at once."""
        async with asyncio.timeout(SOON_S):
            with contextlib.suppress(ConnectionResetError, ssl.SSLError):
                assert await self._reader.read() == b""
        await self.close()

    async def close(self) -> None:
        await hang_up(self._writer)


def play(scenario: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))


def ask(world: World, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """A request that must succeed."""
    answer = world.company.http.request(method, f"/api/tre/v1{path}", json=body)
    assert answer.status_code == 200, answer.text
    record: dict[str, Any] = answer.json()
    return record


async def until(found: Callable[[], Any]) -> Any:
    """What the question answers as soon as it is not empty."""
    while not (answer := found()):  # noqa: ASYNC110  another process, asked from outside
        await asyncio.sleep(0.02)
    return answer


def microtrips(world: World, trip_id: str) -> int:
    return len(world.rows("SELECT 1 FROM microtrip JOIN trip ON trip.no = trip_no WHERE trip.id = ?", trip_id))


def test_deleted_sensor_is_disconnected_at_once_and_its_drive_is_kept(world: World) -> None:
    box = world.box()

    async def scenario() -> int:
        device = await Box.connected(world, box.token)
        await device.drive(range(10))
        assert ask(world, "GET", f"/sensor/{box.sensor_id}/latest")["connected"] is True
        assert ask(world, "DELETE", f"/sensor/{box.sensor_id}") == {}
        await device.ended()
        again = await Box.connected(world, box.token)
        await again.close()
        return again.code

    assert play(scenario) == NOT_AUTHORISED
    (trip,) = world.trips(box)
    assert (trip["sensorId"], trip["endTs"]) == (PLACEHOLDER, START_MS + 9_000)
    assert microtrips(world, trip["id"]["id"]) == 10


def test_deleting_a_sensor_leaves_nothing_that_names_it_and_one_decision_on_its_trip(world: World) -> None:
    box = world.box()

    async def scenario() -> list[tuple[Any, ...]]:
        device = await Box.connected(world, box.token)
        await device.drive(range(3))
        ask(world, "DELETE", f"/sensor/{box.sensor_id}")
        await device.ended()
        statement = """SELECT state, sensor_id, not_scored FROM trip WHERE vehicle_id = ? AND not_scored IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM scoring_job WHERE trip_no = trip.no)
            AND NOT EXISTS (SELECT 1 FROM erasure WHERE id = ?)"""
        found: list[tuple[Any, ...]] = await until(lambda: world.rows(statement, box.vehicle_id, box.sensor_id))
        return found

    assert play(scenario) == [("LAPSED", None, "too_short")]


def test_device_that_goes_on_sending_while_its_sensor_is_deleted_loses_nothing_acknowledged(world: World) -> None:
    box = world.box()
    acknowledged = 0

    async def send(device: Box) -> None:
        nonlocal acknowledged
        try:
            for step in range(100_000):
                await device.drive(range(step, step + 1))
                acknowledged += 1
        except (ConnectionResetError, asyncio.IncompleteReadError, ssl.SSLError):
            await device.close()

    async def scenario() -> None:
        device = await Box.connected(world, box.token)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(send(device))
            await until(lambda: acknowledged > 20)
            await asyncio.to_thread(ask, world, "DELETE", f"/sensor/{box.sensor_id}")
        await until(lambda: not world.rows("SELECT 1 FROM erasure WHERE id = ?", box.sensor_id))

    play(scenario)

    stored = sum(microtrips(world, trip["id"]["id"]) for trip in world.trips(box))
    refused = world.rows("SELECT DISTINCT reason FROM rejected_message WHERE sensor_id = ?", box.sensor_id)
    ((log,),) = world.rows("SELECT count(*) FROM rejected_message WHERE sensor_id = ?", box.sensor_id)
    assert acknowledged <= stored + log
    assert refused in ([], [("unknown_sensor",)])
    assert {trip["endTs"] is None for trip in world.trips(box)} == {False}
    assert world.rows("SELECT 1 FROM trip WHERE sensor_id = ?", box.sensor_id) == []


def test_changed_token_ends_the_session_of_the_old_one(world: World) -> None:
    box = world.box()
    fresh = device_token()

    async def scenario() -> tuple[int, int]:
        device = await Box.connected(world, box.token)
        await device.drive(range(2))
        ask(world, "PUT", f"/sensor/{box.sensor_id}", {"credentialsId": fresh})
        await device.ended()
        old, new = await Box.connected(world, box.token), await Box.connected(world, fresh)
        await new.drive(range(2, 4))
        for one in (old, new):
            await one.close()
        return old.code, new.code

    assert play(scenario) == (NOT_AUTHORISED, 0)
    (trip,) = world.trips(box)
    assert microtrips(world, trip["id"]["id"]) == 4


def test_h16_sensor_taken_off_while_driving_ends_its_trip_and_drives_on_without_a_vehicle(world: World) -> None:
    box, start_ms = world.box(), round(time.time() * 1_000)

    async def scenario() -> Registered:
        device = await Box.connected(world, box.token)
        await device.drive(range(5), start_ms)
        record = ask(world, "DELETE", f"/sensor/{box.sensor_id}/vehicle/{box.vehicle_id}")
        assert (record["status"], record["vehicleId"], record["vehicleNo"]) == ("DEACTIVATED", PLACEHOLDER, None)
        await until(lambda: world.trips(box)[0]["endTs"])
        await device.drive(range(5, 8), start_ms)
        await device.close()
        return box

    play(scenario)

    (trip,) = world.trips(box)
    assert trip["endTs"] == start_ms + 4_000
    assert world.rows("SELECT vehicle_id, state FROM trip WHERE sensor_id = ? ORDER BY no", box.sensor_id) == [
        (box.vehicle_id, "LAPSED"),
        (None, "OPEN"),
    ]
    ((unmapped,),) = world.rows("SELECT id FROM trip WHERE sensor_id = ? AND vehicle_id IS NULL", box.sensor_id)
    record = ask(world, "GET", f"/trip/{unmapped}")
    assert (record["vehicleId"], record["sensorId"]) == (PLACEHOLDER, {"id": box.sensor_id})
    assert microtrips(world, unmapped) == 3
