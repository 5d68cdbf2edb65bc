"""A pusher over a store of its own, messages in its outbox, and a clock that stands still until it is moved."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from sqlalchemy import select, update

from tests.support import outbox, stores
from tests.support.outbox import Waiting
from tripline import config, observe
from tripline.adapters.signals.local import LocalSignals
from tripline.adapters.webhooks.addresses import AddressGuard
from tripline.adapters.webhooks.sender import HttpWebhooks
from tripline.domain import companies
from tripline.domain.companies import Company
from tripline.domain.ids import CompanyId, RequestId, RowNo, SensorId, TimeIds, no_of
from tripline.domain.pushes import Channel, Parked
from tripline.services.push import resender
from tripline.services.push.pusher import Pusher
from tripline.store.fleet import companies as company_rows
from tripline.store.push import parked as push_parked
from tripline.store.push import receiver_state
from tripline.store.push.parked import Which
from tripline.store.tables import company, push_outbox
from tripline.store.transactions import Store, WriteTx

T = TypeVar("T")

SENSORS = [SensorId(f"c4d91e6{number}-c801-11ef-9d5c-6b1f6f2a4c11") for number in range(10)]
HOUR_MS = 3_600_000


@dataclass
class World:
    """A store with companies, a pusher over it, and a clock that stands still."""

    store: Store
    settings: config.Push
    ids: TimeIds = field(default_factory=lambda: TimeIds(node=0x42))
    now_ms: int = 1_760_000_000_000
    signals: LocalSignals = field(default_factory=LocalSignals)

    async def company(self, name: str, **fields: Any) -> CompanyId:
        """An operator with these addresses."""
        company_id = CompanyId(self.ids.next(now_ms=self.now_ms))
        pic = {"pic_name": "Kim", "pic_email": f"kim@{name}.example", "pic_passwd": "secret"}
        new = Company(
            **msgspec.structs.asdict(companies.registration(name=name, **pic, **fields).details),
            id=company_id,
            created_ms=self.now_ms,
            service_type=name,
            master=True,
            master_id=company_id,
            registered_by_id=None,
            token_prefix=companies.prefix_of(no_of(company_id) % companies.PREFIXES),
        )
        await self.store.write(lambda tx: company_rows.insert_new(tx, new))
        return company_id

    async def put(
        self, company_id: CompanyId, sensor: int, *bodies: bytes, channel: Channel = Channel.NOTIFY, method: str = "m"
    ) -> list[str]:
        """Put messages of a sensor into the outbox; their ids."""
        now_ms = self.now_ms
        numbers = self.ids.numbers(len(bodies), now_ms=now_ms)
        is_rpc = channel is Channel.RPC_NOTIFY
        messages = [
            Waiting(
                no=RowNo(no),
                id=self.ids.text(no),
                company_id=company_id,
                sensor_id=SENSORS[sensor],
                selector=2,
                body=body,
                due_ms=now_ms,
                channel=channel,
                request_id=RequestId(SENSORS[0]) if is_rpc else None,
                method=method if is_rpc else None,
            )
            for no, body in zip(numbers, bodies, strict=True)
        ]
        await self.store.write(lambda tx: outbox.add(tx, messages))
        self.signals.notify(observe.SIGNAL_PUSH_DUE)
        return [message.id for message in messages]

    async def rows(self) -> list[tuple[bytes, int, bool]]:
        """Body, attempts, and whether it is parked, of everything in the outbox."""
        found = await self.store.read(lambda tx: tx.all(select(push_outbox).order_by(push_outbox.c.no)))
        return [(row.body, row.attempts, row.parked_ms is not None) for row in found]

    async def parked(self) -> list[Parked]:
        """What was given up."""
        return await self.store.read(lambda tx: push_parked.listed(tx, Which(), limit=1_000))

    async def resend(self, **which: Any) -> int:
        """Have it sent again, as beside the server: without a hint but the one that time passes."""
        found = resender.resend_all(self.store, which=Which(**which), ids=self.ids, now_ms=self.now_ms)
        sent = [done.count async for done in found][-1]
        self.signals.notify(observe.SIGNAL_PUSH_DUE)
        return sent

    async def remove(self, company_id: CompanyId) -> None:
        """Delete a company and what waits for it."""
        await self.store.write(lambda tx: company_rows.remove(tx, company_id))

    async def send_now(self, company_id: CompanyId) -> None:
        """Have what waits sent at once, and tell."""
        keys = [(company_id, channel) for channel in Channel]
        await self.store.write(lambda tx: receiver_state.asked(tx, keys, now_ms=self.now_ms))
        self.signals.notify(observe.SIGNAL_COMPANY_CHANGED, company_id)

    async def mute(self) -> list[tuple[str | None, int]]:
        """Receivers that never answer: the company's name, and how many messages were delivered unconfirmed."""
        found = await self.store.read(receiver_state.mute)
        return [(each.company_name, each.unconfirmed) for each in found]

    async def until_mute(self, count: int) -> None:
        """Wait until the only receiver is mute, with so many messages unconfirmed."""
        for _ in range(500):
            if [unconfirmed for _, unconfirmed in await self.mute()] == [count]:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(await self.mute())

    async def readdress(self, company_id: CompanyId, notify_host: str | None) -> None:
        """Give a company another address, and tell."""
        changed = update(company).where(company.c.id == company_id).values(notify_host=notify_host)

        def work(tx: WriteTx) -> None:
            tx.run(changed)
            receiver_state.readdressed(tx, company_id, [Channel.NOTIFY], now_ms=self.now_ms)

        await self.store.write(work)
        self.signals.notify(observe.SIGNAL_COMPANY_CHANGED, company_id)

    async def until(self, expected: list[tuple[bytes, int, bool]]) -> None:
        """Wait until the outbox holds exactly this."""
        for _ in range(500):
            if await self.rows() == expected:
                return
            await asyncio.sleep(0.01)
        assert await self.rows() == expected

    async def until_tried(self, count: int) -> None:
        """Wait until so many messages that wait were tried, and that is written down."""
        for _ in range(500):
            if len([attempts for _, attempts, parked in await self.rows() if attempts and not parked]) >= count:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(await self.rows())

    def move(self, by_ms: int) -> None:
        """Let time pass."""
        self.now_ms += by_ms
        self.signals.notify(observe.SIGNAL_PUSH_DUE)

    @contextlib.asynccontextmanager
    async def pushing(
        self,
        *,
        timeout_s: float = 5.0,
        place_s: float = 0.25,
        allow_private: bool = True,
        patient: bool = True,
        store: Store | None = None,
    ) -> AsyncIterator[Pusher]:
        """A pusher that runs, and stops at the end: gracefully, or all at once; on the world's store, or its own."""
        sender = HttpWebhooks(timeout_s=timeout_s, guard=AddressGuard(allow_private=allow_private))
        pusher = Pusher(
            store=store or self.store,
            sender=sender,
            settings=self.settings,
            signals=self.signals,
            clock=lambda: self.now_ms,
            place_s=place_s,
        )
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(pusher.run())
            try:
                yield pusher
            finally:
                pusher.stop()
                await asyncio.wait([running], timeout=10 if patient else 0)
                running.cancel()
        await sender.close()


@contextlib.asynccontextmanager
async def opened(folder: Path, **settings: Any) -> AsyncIterator[World]:
    """A fresh world; `settings` are those of `config.Push`."""
    world = World(stores.fresh(folder).open(), config.Push(**settings))
    try:
        yield world
    finally:
        await world.store.close()


def play(tmp_path: Path, scenario: Callable[[World], Coroutine[Any, Any, T]], **settings: Any) -> T:
    """What the scenario returns; `settings` are those of `config.Push`."""

    async def run() -> T:
        async with opened(tmp_path, **settings) as world:
            return await scenario(world)

    return asyncio.run(run())
