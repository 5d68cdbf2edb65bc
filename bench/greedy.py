"""Clients that take all they can get: each load uses up one thing that people and devices share.

    python -m bench.greedy LOAD WORLD.json SECONDS

`isolation.py` writes the world (addresses, tokens, ids) and measures devices and neighbours meanwhile. Connections come
from addresses of the loopback range, so that limits per address apply. Prints JSON: answers by status, bytes sent.
"""

import asyncio
import contextlib
import itertools
import json
import os
import random
import ssl
import struct
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from tests.support.device import connect_packet, publish_packet

AGAIN_S: Final = 0.05
"""Pause before a client that was refused tries again."""
TIMEOUT_S: Final = 120.0
TRENDS: Final = 8
DRY_RUNS: Final = 8
BODY: Final = 1_048_576
STRANGERS: Final = 5
"""Addresses that hold request bodies and device connections."""
BODIES: Final = 16
"""Unfinished bodies of an address at a time."""
UPLOADS: Final = 16
"""Slow uploads of an account at a time."""
SLOW_BYTES: Final = 20_000
"""What a slow upload sends a second: above the slowest rate that is allowed."""
SILENT: Final = 2_000
"""Device connections of an address that finish TLS and send no CONNECT."""
DIALS: Final = 16
"""Such connections dialled at the same time."""
SIGN_INS: Final = 520
"""Attempts a second with a wrong password, each from another address."""
CHUNKERS: Final = 4
PIECE: Final = b"1\r\na\r\n" * 4_096
ARRAYS: Final = 60_000
ARRAYS_S: Final = 0.1
"""Pause between two messages of many arrays."""
EMPTY_MIB: Final = 60
BAD_ROWS: Final = 40_000
"""Fewer than a file of bad rows may have."""


@dataclass(slots=True)
class Seen:
    """Answers by status, failures by error, and bytes sent."""

    answers: Counter[str] = field(default_factory=Counter)
    sent: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """The server under load, and the accounts and records that the clients use."""

    host: str
    port: int
    device_port: int
    ca: str
    tokens: dict[str, str]
    """Access tokens: `operator` and `partner` of the large service type."""
    cookie: str
    csrf: str
    """The session of the partner's browser."""
    login: str
    """The account whose password is guessed."""
    vehicles: list[str]
    """Vehicles of the partner with a score on each day."""
    device: str
    """The token of a device."""

    @property
    def api(self) -> str:
        """The address of REST and of the portal."""
        return f"http://{self.host}:{self.port}"

    def bearer(self, who: str) -> dict[str, str]:
        """The header that shows an account's token."""
        return {"X-Authorization": f"Bearer {self.tokens[who]}"}


Load = Callable[[World, Seen], Coroutine[Any, Any, None]]
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def trends(world: World, seen: Seen) -> None:
    """One account asks for the trends of eight vehicles, a thousand days each, again and again."""
    query = "analytics/trend?period=day&limit=1000"
    paths = [f"/api/tre/v1_3/vehicle/{each}/{query}" for each in world.vehicles]

    async def one(number: int) -> None:
        async with _client(world, "partner") as client:
            for path in itertools.islice(itertools.cycle(paths), number, None):
                await _asked(seen, client.get(path))

    await _together(one(number) for number in range(TRENDS))


async def bodies(world: World, seen: Seen) -> None:
    """Strangers at five addresses leave request bodies unfinished."""
    head = b"POST /api/tre/v1/vehicle HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % BODY

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _sent(seen, writer, head + b"[" * (BODY - 1))
        seen.answers[(await reader.read(12))[9:12].decode() or "closed"] += 1

    addresses = [f"127.0.2.{number}" for number in range(1, STRANGERS + 1)] * BODIES
    await _together(_dialled(world, address, talk) for address in addresses)


async def uploads(world: World, seen: Seen) -> None:
    """An operator and its partner hold as many slow uploads as they get."""

    async def one(who: str) -> None:
        async def content() -> AsyncIterator[bytes]:
            yield b"vehicleNo,mileage\n"
            while True:
                yield b"," * SLOW_BYTES
                seen.sent += SLOW_BYTES
                await asyncio.sleep(1)

        async with _client(world, who) as client:
            while True:
                await _asked(seen, client.post("/api/tre/v1/vehicles/bulk", content=content()))
                await asyncio.sleep(AGAIN_S)

    await _together(one(who) for who in ("operator", "partner") for _ in range(UPLOADS))


async def dry_runs(world: World, seen: Seen) -> None:
    """One company checks eight files of 100,000 rows at a time."""
    file = _registration(100_000, "D")

    async def one() -> None:
        async with _client(world, "partner") as client:
            while True:
                await _asked(seen, client.post("/api/tre/v1/vehicles/bulk?dryRun=true", content=file))
                seen.sent += len(file)
                await asyncio.sleep(AGAIN_S)

    await _together(one() for _ in range(DRY_RUNS))


async def registration(world: World, seen: Seen) -> None:
    """One company registers 100,000 vehicles in one transaction, again and again."""
    async with _client(world, "partner") as client:
        for number in itertools.count():
            file = _registration(100_000, f"R{number}-")
            await _asked(seen, client.post("/api/tre/v1/vehicles/bulk", content=file))
            seen.sent += len(file)


async def silent(world: World, seen: Seen) -> None:
    """One address opens device connections, finishes TLS and sends nothing."""
    trusted = ssl.create_default_context(cafile=world.ca)
    there: list[asyncio.StreamWriter] = []

    async def one() -> None:
        while True:
            if len(there) >= SILENT:
                there.pop(0).transport.abort()
            try:
                _, writer = await asyncio.open_connection(
                    world.host, world.device_port, ssl=trusted, local_addr=("127.0.2.1", 0)
                )
            except OSError as error:
                seen.answers[type(error).__name__] += 1
                await asyncio.sleep(AGAIN_S)
            else:
                seen.answers["connected"] += 1
                there.append(writer)

    await _together(one() for _ in range(DIALS))


async def passwords(world: World, seen: Seen) -> None:
    """Strangers guess the password of an account, each time from another address."""
    body = json.dumps({"username": world.login, "password": "not-the-password"}).encode()
    head = b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    draw = random.Random(7)

    async def one() -> None:
        address = f"127.{draw.randrange(1, 255)}.{draw.randrange(256)}.{draw.randrange(1, 255)}"
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection(world.host, world.port, local_addr=(address, 0))
            try:
                await _sent(seen, writer, head + body)
                seen.answers[(await reader.read(12))[9:12].decode() or "closed"] += 1
            finally:
                writer.transport.abort()

    async with asyncio.TaskGroup() as attempts:
        while True:
            for _ in range(SIGN_INS // 20):
                attempts.create_task(one())
            await asyncio.sleep(0.05)


async def chunks(world: World, seen: Seen) -> None:
    """Strangers send bodies in chunks of one byte, as fast as they are read."""
    head = b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = asyncio.ensure_future(reader.read(12))
        try:
            await _sent(seen, writer, head)
            while not answer.done():
                await _sent(seen, writer, PIECE)
            seen.answers[answer.result()[9:12].decode() or "closed"] += 1
        finally:
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)

    await _together(_dialled(world, f"127.0.2.{number}", talk) for number in range(1, CHUNKERS + 1))


async def empty_rows(world: World, seen: Seen) -> None:
    """One company uploads files of empty rows."""
    file = b"vehicleNo,mileage\n" + b"\n" * (EMPTY_MIB * 1_048_576)

    async def one() -> None:
        async with _client(world, "partner") as client:
            while True:
                await _asked(seen, client.post("/api/tre/v1/vehicles/bulk?dryRun=true", content=file))
                seen.sent += len(file)

    await _together(one() for _ in range(2))


async def bad_rows(world: World, seen: Seen) -> None:
    """One browser downloads the bad rows of a draft, eight times at once."""
    file = b"vehicleNo,mileage\n" + b"".join(b"B%06d,none\n" % number for number in range(BAD_ROWS))
    async with _client(world, None) as client:
        client.cookies.set("tripline", world.cookie)
        form = {"csrf": world.csrf, "kind": "vehicles"}
        made = await client.post("/import", data=form, files={"file": ("bad.csv", file, "text/csv")})
        draft = made.headers.get("location", "").partition("?")[0]
        if not draft.startswith("/import/"):
            raise RuntimeError(f"no draft was made: {made.status_code}")
        while (await client.get(f"{draft}/bad-rows")).status_code == httpx.codes.CONFLICT:  # noqa: ASYNC110  of the server
            await asyncio.sleep(1)

        async def one() -> None:
            while True:
                await _asked(seen, client.get(f"{draft}/bad-rows"))
                await asyncio.sleep(AGAIN_S)

        await _together(one() for _ in range(8))


async def arrays(world: World, seen: Seen) -> None:
    """A device sends MessagePack with tens of thousands of arrays."""
    # A map of one entry: text "a" and an array of empty arrays.
    body = b"\x81\xa1a\xdd" + struct.pack(">I", ARRAYS) + b"\x90" * ARRAYS
    trusted = ssl.create_default_context(cafile=world.ca)
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection(world.host, world.device_port, ssl=trusted)
            await _sent(seen, writer, connect_packet(world.device))
            await reader.readexactly(4)
            with contextlib.suppress(asyncio.IncompleteReadError):
                for number in itertools.count():
                    topic = "v1/sensors/me/tre"
                    await _sent(seen, writer, publish_packet(topic, body, number % 65_535 + 1))
                    await reader.readexactly(4)
                    seen.answers["acknowledged"] += 1
                    await asyncio.sleep(ARRAYS_S)
            writer.transport.abort()
        await asyncio.sleep(AGAIN_S)


LOADS: Final[dict[str, Load]] = {
    load.__name__: load
    for load in (
        trends,
        bodies,
        uploads,
        dry_runs,
        silent,
        passwords,
        chunks,
        empty_rows,
        bad_rows,
        arrays,
        registration,
    )
}


async def load_for(name: str, world: World, seconds: float) -> Seen:
    """Apply a load for so many seconds."""
    seen = Seen()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await LOADS[name](world, seen)
    return seen


def _registration(rows: int, prefix: str) -> bytes:
    return b"vehicleNo,mileage\n" + b"".join(f"{prefix}{number:06d},1\n".encode() for number in range(rows))


def _client(world: World, who: str | None) -> httpx.AsyncClient:
    headers = {} if who is None else {**world.bearer(who), "Content-Type": "text/csv"}
    return httpx.AsyncClient(base_url=world.api, headers=headers, timeout=TIMEOUT_S)


async def _asked(seen: Seen, request: Awaitable[httpx.Response]) -> None:
    try:
        seen.answers[str((await request).status_code)] += 1
    except httpx.HTTPError as error:
        seen.answers[type(error).__name__] += 1
        await asyncio.sleep(AGAIN_S)


async def _dialled(world: World, address: str, talk: Talk) -> None:
    """Talk over one connection after the other, from this address; a broken one is dialled again."""
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection(world.host, world.port, local_addr=(address, 0))
            try:
                await talk(reader, writer)
            finally:
                writer.transport.abort()
        await asyncio.sleep(AGAIN_S)


async def _sent(seen: Seen, writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    seen.sent += len(data)
    await writer.drain()


async def _together(clients: Any) -> None:
    async with asyncio.TaskGroup() as tasks:
        for each in clients:
            tasks.create_task(each)


def main() -> None:
    """Apply a load, and print what came of it."""
    os.nice(10)
    name, world, seconds = sys.argv[1:]
    seen = asyncio.run(load_for(name, World(**json.loads(Path(world).read_text())), float(seconds)))
    print(json.dumps({"answers": seen.answers, "sent": seen.sent}))


if __name__ == "__main__":
    main()
