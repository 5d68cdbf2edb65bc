"""Device connections as the running server keeps them: one a sensor, none that is silent, none too many; a storm."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator

import httpx
import pytest
from tests.support import device, drives, fleet, servers

ACCEPTED = b"\x20\x02\x00\x00"
START_MS = 1_780_000_000_000
WAIT_S = 30
STORM = 500


class Box:
    """One TLS connection that does what it is told and nothing else: it never pings."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def say(self, packet: bytes) -> bytes:
        """Send a packet; the four bytes that answer it, empty when the server closed instead."""
        try:
            self._writer.write(packet)
            return await asyncio.wait_for(self._reader.readexactly(4), WAIT_S)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            return b""

    async def closed(self) -> bool:
        """Wait until the server closes; whether it did without a further word."""
        try:
            return await asyncio.wait_for(self._reader.read(), WAIT_S) == b""
        except (ConnectionError, ssl.SSLError):
            return True

    async def hang_up(self) -> None:
        """Close."""
        await device.hang_up(self._writer)


@contextlib.asynccontextmanager
async def box(server: servers.Running, trust: ssl.SSLContext) -> AsyncIterator[Box]:
    """A connection that has said nothing yet; closed at the end."""
    reader, writer = await asyncio.open_connection(
        server.device_host, server.device_port, ssl=trust, server_hostname="localhost", ssl_handshake_timeout=WAIT_S
    )
    opened = Box(reader, writer)
    try:
        yield opened
    finally:
        await opened.hang_up()


def trusting(server: servers.Running) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(server.ca))


def publish(number: int, packet_id: int = 1) -> tuple[bytes, bytes]:
    """The n-th microtrip of a drive as a packet at QoS 1, and its acknowledgement."""
    body = drives.straight_trip(1, START_MS, samples=number + 1)[number]
    return device.publish_packet("v1/sensors/me/tre", body, packet_id), b"\x40\x02" + packet_id.to_bytes(2)


def metric(server: servers.Running, name: str) -> float:
    """A metric's value now; 0 when it was never counted."""
    lines = httpx.get(f"{server.api}/metrics").text.splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} ")), 0)


async def until_metric(server: servers.Running, name: str, value: float) -> None:
    """Wait until the metric has the value."""
    async with asyncio.timeout(WAIT_S):
        while await asyncio.to_thread(metric, server, name) != value:  # noqa: ASYNC110  nothing tells of a metric
            await asyncio.sleep(0.02)


def count_stored(company: fleet.Company, vehicle_id: str) -> int:
    trips = company.get(f"/api/tre/v1/vehicle/{vehicle_id}/trips", limit=10)["data"]
    return sum(len(company.get(f"/api/tre/v1/trip/{trip['id']['id']}/microtrips", limit=10)["data"]) for trip in trips)


def test_second_connection_of_a_sensor_takes_over_and_the_first_is_closed(server, company):
    one = company.vehicle_with_sensor(1)

    async def scenario() -> tuple[list[bytes], bool, float]:
        trust = trusting(server)
        async with box(server, trust) as older, box(server, trust) as newer:
            answers = [await older.say(device.connect_packet(one.token, client_id="older"))]
            answers.append(await older.say(publish(0)[0]))
            answers.append(await newer.say(device.connect_packet(one.token, client_id="newer")))
            closed = await older.closed()
            answers.append(await newer.say(publish(1)[0]))
            return answers, closed, metric(server, "tripline_device_sessions")

    acknowledged = publish(0)[1]
    assert asyncio.run(scenario()) == ([ACCEPTED, acknowledged, ACCEPTED, acknowledged], True, 1)
    assert count_stored(company, one.vehicle_id) == 2


def test_half_open_connection_is_closed_after_one_and_a_half_keep_alives(server, company):
    one = company.vehicle_with_sensor(2)

    async def scenario() -> tuple[bytes, bool, float]:
        async with box(server, trusting(server)) as silent:
            answer = await silent.say(device.connect_packet(one.token, keep_alive_s=1))
            since = time.monotonic()
            closed = await silent.closed()
            return answer, closed, time.monotonic() - since

    answer, closed, after_s = asyncio.run(scenario())

    assert (answer, closed) == (ACCEPTED, True)
    assert 1.4 <= after_s < 10, "one and a half keep-alives, and a sweep every second"
    asyncio.run(until_metric(server, "tripline_device_sessions", 0))


def test_connection_above_the_most_is_closed_and_admitted_once_there_is_room(tmp_path):
    most = {"TRIPLINE_DEVICES_MAX_CONNECTIONS": "2"}
    with (
        servers.serving(tmp_path / "data", variables=most) as server,
        fleet.Company(server.api, server.data) as company,
    ):
        tokens = [company.vehicle_with_sensor(number).token for number in range(3)]

        async def scenario() -> list[bytes]:
            trust = trusting(server)
            async with box(server, trust) as first, box(server, trust) as second:
                answers = [
                    await first.say(device.connect_packet(tokens[0])),
                    await second.say(device.connect_packet(tokens[1])),
                ]
                with pytest.raises((ConnectionError, ssl.SSLError)):  # before its handshake costs anything
                    async with box(server, trust):
                        pass
                await second.hang_up()
                await until_metric(server, "tripline_device_sessions", 1)
                async with box(server, trust) as third:
                    answers.append(await third.say(device.connect_packet(tokens[2])))
                answers.append(await first.say(publish(0)[0]))
                return answers

        assert asyncio.run(scenario()) == [ACCEPTED, ACCEPTED, ACCEPTED, publish(0)[1]]


@pytest.mark.deep
@pytest.mark.slow
def test_storm_of_reconnects_after_a_restart_is_admitted_and_acknowledged_whole(server, company):
    tokens = [fleet.device_token() for _ in range(STORM)]
    rows = "".join(f"storm-{number},GPS,{token}\n" for number, token in enumerate(tokens))
    company.http.post("/api/tre/v1/sensors/bulk", content=f"serialNo,type,credentialsId\n{rows}").raise_for_status()
    asyncio.run(_storm(server, tokens, number=0))
    server.kill()
    with servers.serving(server.data, *servers.same_listeners(server)) as again:
        since = time.monotonic()
        answers = asyncio.run(_storm(again, tokens, number=1))
        print(f"{STORM} connections open and a publish each acknowledged after {time.monotonic() - since:.1f} s")

        assert answers == [(ACCEPTED, publish(1)[1])] * STORM
        assert metric(again, 'tripline_device_connects_total{code="0"}') == STORM


async def _storm(server: servers.Running, tokens: list[str], *, number: int) -> list[tuple[bytes, bytes]]:
    """All connect at once and publish one message each; nobody leaves before everybody is answered."""
    trust = trusting(server)
    packet, _ = publish(number)
    everybody = asyncio.Barrier(len(tokens))

    async def one(token: str) -> tuple[bytes, bytes]:
        async with box(server, trust) as opened:
            answers = await opened.say(device.connect_packet(token)), await opened.say(packet)
            await everybody.wait()
            return answers

    return await asyncio.gather(*map(one, tokens))
