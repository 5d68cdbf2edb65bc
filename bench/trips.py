"""Devices that drive one recorded drive after the other over TLS, and when each of their trip messages was
acknowledged: with the instants at which the scores were committed, how long a score takes.

The instant of a commit is the database's own (`track_commit_timestamp`), of the same machine's clock as ours.
"""

import asyncio
import contextlib
import json
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench import peers, shared
from tests.support import postgres
from tests.support.device import connect_packet, publish_packet
from tests.support.producers import Drive, drives

DEVICES: Final = 20
PERIOD_S: Final = 4.0
"""Between the trips of a device: together five a second, as of nine thousand vehicles that drive for half an hour."""
TOGETHER: Final = 30
PUBACK_S: Final = 60
READY_S: Final = 60
SCORED_S: Final = 60
UNSCORED: Final = "drive_13.csv"
"""Too short for a score."""
_COMMITS: Final = """
SELECT sensor.credentials_id, trip.tid, extract(epoch FROM pg_xact_commit_timestamp(driving_score.xmin)) * 1000
FROM sensor JOIN trip ON trip.sensor_id = sensor.id JOIN driving_score ON driving_score.trip_no = trip.no
WHERE sensor.credentials_id = ANY(%s)
"""


@dataclass(slots=True)
class Trips:
    """What the devices did so far."""

    ended_ms: dict[tuple[str, int], float] = field(default_factory=dict)
    """When a trip message was acknowledged, by the device's token and its number of the trip."""
    microtrips: int = 0
    """Messages with samples that were acknowledged."""

    def waits_s(self, database: postgres.Cluster) -> list[float]:
        """How long each score took from there, sorted; waits for the last. Trips without a score are left out."""
        until = time.monotonic() + SCORED_S
        while len(found := self._scored(database)) < len(self.ended_ms) and time.monotonic() < until:
            time.sleep(0.2)
        return found

    def _scored(self, database: postgres.Cluster) -> list[float]:
        tokens = sorted({token for token, _ in self.ended_ms})
        rows = database.run(_COMMITS, tokens, database=shared.DATABASE)
        known = ((self.ended_ms.get((token, tid)), float(at_ms)) for token, tid, at_ms in rows)
        return sorted((at_ms - ended_ms) / 1000 for ended_ms, at_ms in known if ended_ms is not None)


@contextlib.contextmanager
def driving(server: peers.Server, tokens: Sequence[str]) -> Iterator[Trips]:
    """These devices drive inside the block; at its end each has finished its trip."""
    trips, ready, stop = Trips(), threading.Event(), threading.Event()
    known = [drive for drive in drives() if drive.name != UNSCORED]

    async def everyone() -> None:
        links = [await _connected(server, token) for token in tokens]
        ready.set()
        each = enumerate(zip(links, tokens, strict=True))
        await asyncio.gather(*(_one(link, token, place, known, trips, stop) for place, (link, token) in each))

    thread = threading.Thread(target=asyncio.run, args=(everyone(),))
    thread.start()
    try:
        if not ready.wait(READY_S):
            raise RuntimeError("the devices that drive could not connect")
        yield trips
    finally:
        stop.set()
        thread.join()


_Link = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _connected(server: peers.Server, token: str) -> _Link:
    tls = ssl.create_default_context(cafile=str(server.ca))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=tls, server_hostname="localhost")
    writer.write(connect_packet(token, client_id=token))
    await asyncio.wait_for(reader.readexactly(4), PUBACK_S)
    return reader, writer


async def _one(
    link: _Link, token: str, place: int, known: Sequence[Drive], trips: Trips, stop: threading.Event
) -> None:
    reader, writer = link
    await asyncio.sleep(PERIOD_S * place / DEVICES)
    number = 0
    while not stop.is_set():
        began = time.monotonic()
        *samples, end = known[(number + place) % len(known)].bodies(number, together=TOGETHER)
        for message in samples:
            await _acknowledged(reader, writer, message)
            trips.microtrips += 1
        await _acknowledged(reader, writer, end)
        trips.ended_ms[token, number + 1] = time.time_ns() / 1e6
        number += 1
        await asyncio.sleep(max(0.0, began + PERIOD_S - time.monotonic()))
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _acknowledged(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: dict[str, object]) -> None:
    writer.write(publish_packet("v1/sensors/me/tre", json.dumps(message).encode(), 1))
    await asyncio.wait_for(reader.readexactly(4), PUBACK_S)
