"""Devices that publish all the time over TLS, and what each waits for its PUBACKs: what others do to the device
listener.

Not here: how many messages a server takes (`device_channel.py`).
"""

import asyncio
import contextlib
import json
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bench.table import Figure
from tests.support import servers
from tests.support.device import connect_packet, publish_packet

DEVICES: Final = 50
EVERY_S: Final = 0.25
"""Between two messages of a device: together 200 a second."""
CONNECTED_S: Final = 30
LONGEST_MS: Final = 1_000
"""No device is to wait longer."""


@dataclass(slots=True)
class Probe:
    """What the devices waited for each PUBACK, ms."""

    waited_ms: list[float] = field(default_factory=list)

    def figures(self, row: str, detail: dict[str, Any]) -> list[Figure]:
        """The 99th percentile and the longest."""
        waited = sorted(self.waited_ms)
        p99 = waited[int(len(waited) * 0.99)]
        told = {**detail, "messages": len(waited)}
        return [
            Figure(row=row, name="PUBACK p99, ms", value=p99, at_least=False, detail=told),
            Figure(row=row, name="longest PUBACK, ms", value=waited[-1], gate=LONGEST_MS, at_least=False),
        ]


@contextlib.contextmanager
def publishing(server: servers.Running, tokens: Sequence[str]) -> Iterator[Probe]:
    """These devices are connected and publish inside the block, one message each after the other."""
    probe, ready, stop = Probe(), threading.Event(), threading.Event()

    async def everyone() -> None:
        connected = [await _connected(server, token) for token in tokens]
        ready.set()
        await asyncio.gather(*(_one(*each, place, probe, stop) for place, each in enumerate(connected)))

    thread = threading.Thread(target=asyncio.run, args=(everyone(),))
    thread.start()
    try:
        assert ready.wait(CONNECTED_S)
        yield probe
    finally:
        stop.set()
        thread.join()


async def _connected(server: servers.Running, token: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    tls = ssl.create_default_context(cafile=str(server.ca))
    reader, writer = await asyncio.open_connection(
        server.device_host, server.device_port, ssl=tls, server_hostname="localhost"
    )
    writer.write(connect_packet(token))
    await reader.readexactly(4)
    return reader, writer


async def _one(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, place: int, probe: Probe, stop: threading.Event
) -> None:
    await asyncio.sleep(EVERY_S * place / DEVICES)
    while not stop.is_set():
        now_ms = time.time_ns() // 1_000_000
        item = {"tid": 1, "clt": now_ms, "lat": 37.5, "lon": 127.0, "sp": 50}
        body = json.dumps({"ty": 2, "ts": now_ms, "pld": item}).encode()
        sent = time.perf_counter()
        writer.write(publish_packet("v1/sensors/me/tre", body, 1))
        await reader.readexactly(4)
        probe.waited_ms.append((time.perf_counter() - sent) * 1000)
        await asyncio.sleep(max(0.0, sent + EVERY_S - time.perf_counter()))
    writer.close()
    await writer.wait_closed()
