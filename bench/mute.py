"""Row 21: a thousand messages to a receiver that handles every one and never answers, beside a company that is well.

The receiver is the published one, on Node (`mute_receiver.js`): it writes the head of an answer and never ends it, so
not a byte comes. The first message must come twice, every other one once, in order. Meanwhile the other company gets a
message every quarter of a second; how long each is under way shows what it feels of its neighbour. Pusher, store and
sender are those of `tripline serve`, with their own times; only the messages are put into the outbox directly.
"""

import asyncio
import contextlib
import json
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
from bench.device_channel import disk
from bench.table import Figure

from tripline import config
from tripline.adapters.signals.local import LocalSignals
from tripline.adapters.webhooks.addresses import AddressGuard
from tripline.adapters.webhooks.sender import HttpWebhooks
from tripline.clock import now_ms
from tripline.domain import companies
from tripline.domain.companies import Company
from tripline.domain.ids import CompanyId, SensorId, TimeIds
from tripline.observe import SIGNAL_PUSH_DUE
from tripline.services.push.pusher import Pusher
from tripline.store import migrate
from tripline.store.database.sqlite import SqliteStore
from tripline.store.fleet import companies as company_rows
from tripline.store.push import outbox
from tripline.store.transactions import Store

MESSAGES, QUICK_MESSAGES = 1_000, 100
EVERY_S = 0.25
LONGEST_S = 360.0
ROW = "21 1,000 messages to a receiver that never answers"
SENSOR = SensorId("c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11")


def measure(quick: bool) -> list[Figure]:
    """How long it takes, what came twice or out of order, and what the other company waits."""
    count = QUICK_MESSAGES if quick else MESSAGES
    with tempfile.TemporaryDirectory(dir=disk()) as made:
        run = asyncio.run(_run(Path(made) / "tripline.db", count))
    came = run.pop("came")
    wrong = abs(len(came) - count - 1) + sum(n != wanted for n, wanted in zip(came, [0, *range(count)], strict=False))
    waits = sorted(run.pop("waits_ms"))
    detail = {**run, "messages": count, "waits_ms": {"count": len(waits), "p50": waits[len(waits) // 2]}}
    return [
        Figure(row=ROW, name="all delivered, s", value=run["took_s"], gate=LONGEST_S, at_least=False, detail=detail),
        Figure(row=ROW, name="twice, missing, out of order", value=wrong, gate=0, at_least=False),
        Figure(row=ROW, name="the other company waits at most, ms", value=waits[-1], gate=1_000, at_least=False),
    ]


async def _run(path: Path, count: int) -> dict[str, Any]:
    migrate.upgrade(path)
    store, signals, ids = SqliteStore(path), LocalSignals(), TimeIds(node=0x42)
    sender = HttpWebhooks(timeout_s=config.Push().timeout_s, guard=AddressGuard(allow_private=True))
    pusher = Pusher(store=store, sender=sender, settings=config.Push(), signals=signals, clock=now_ms)
    waits_ms: list[float] = []
    try:
        async with _mute() as mute, _well(waits_ms) as port, asyncio.TaskGroup() as tasks:
            silent = await _company(store, ids, "silent", f"http://127.0.0.1:{mute.port}/noti")
            well = await _company(store, ids, "well", f"http://127.0.0.1:{port}/noti")
            running = tasks.create_task(pusher.run())
            await _put(store, ids, silent, [{"n": n} for n in range(count)])
            signals.notify(SIGNAL_PUSH_DUE)
            began = time.monotonic()
            while len(mute.came) <= count and time.monotonic() - began < 2 * LONGEST_S:
                await _put(store, ids, well, [{"ns": time.monotonic_ns()}])
                signals.notify(SIGNAL_PUSH_DUE)
                await asyncio.sleep(EVERY_S)
            took_s = time.monotonic() - began
            await asyncio.sleep(2.0)  # whatever comes once too often
            pusher.stop()
            await running
    finally:
        await sender.close()
        await store.close()
    return {"took_s": took_s, "came": mute.came, "waits_ms": waits_ms}


async def _company(store: Store, ids: TimeIds, name: str, address: str) -> CompanyId:
    company_id = CompanyId(ids.next(now_ms=now_ms()))
    details = companies.details(name=name, pic_name="Kim", pic_email=f"kim@{name}.example", notify_host=address)
    new = Company(
        **msgspec.structs.asdict(details),
        id=company_id,
        created_ms=now_ms(),
        service_type=name,
        master=True,
        master_id=company_id,
        registered_by_id=None,
        token_prefix=name[:5].upper().ljust(5, "X"),
    )
    await store.write(lambda tx: company_rows.insert_new(tx, new))
    return company_id


async def _put(store: Store, ids: TimeIds, company_id: CompanyId, bodies: list[dict[str, int]]) -> None:
    made_ms = now_ms()
    values: list[Any] = []
    for no, body in zip(ids.numbers(len(bodies), now_ms=made_ms), bodies, strict=True):
        values += (no, ids.text(no), made_ms, company_id, SENSOR, 2, json.dumps(body).encode())
    await store.write(lambda tx: outbox.NOTICES.insert(tx, values))


class _Mute:
    def __init__(self, port: int) -> None:
        self.port = port
        self.came: list[int] = []

    async def listen(self, output: asyncio.StreamReader) -> None:
        while line := await output.readline():
            self.came.append(json.loads(line)["n"])


@contextlib.asynccontextmanager
async def _mute() -> AsyncIterator[_Mute]:
    script = str(Path(__file__).with_name("mute_receiver.js"))
    process = await asyncio.create_subprocess_exec("node", script, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        mute = _Mute(json.loads(await process.stdout.readline())["port"])
        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(mute.listen(process.stdout))
            yield mute
            listening.cancel()
    finally:
        process.kill()
        await process.wait()


@contextlib.asynccontextmanager
async def _well(waits_ms: list[float]) -> AsyncIterator[int]:
    """A receiver that answers, and how long each message was under way."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                size = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
                sent_ns = json.loads(await reader.readexactly(size))["ns"]
                waits_ms.append((time.monotonic_ns() - sent_ns) / 1e6)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
