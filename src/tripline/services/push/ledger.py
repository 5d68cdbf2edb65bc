"""Record the outcomes of attempts, many in one transaction; until then a message stays known, but not done.

A process that ends before that resends the last messages, each under its own `webhook-id`.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from tripline.domain.ids import RowNo
from tripline.observe import logger
from tripline.services import poll_loop
from tripline.store.push import queue as push_queue
from tripline.store.push import receiver_state
from tripline.store.push.queue import Key, Result
from tripline.store.push.receiver_state import Facts
from tripline.store.transactions import Store, WriteTx

GATHER_S: Final = 0.1
"""How long outcomes are collected before they are written."""
LARGEST: Final = 200
"""Outcomes that are written without waiting for more."""
FULL: Final = 2_000
"""Outcomes at which sending stops until some are written."""
AGAIN_S: Final = 1.0

log = logger("push")


class _Page(msgspec.Struct):
    delivered: list[RowNo] = msgspec.field(default_factory=list)
    postponed: list[Result] = msgspec.field(default_factory=list)
    parked: list[Result] = msgspec.field(default_factory=list)
    unconfirmed: list[Result] = msgspec.field(default_factory=list)
    mute: dict[Key, tuple[int, int]] = msgspec.field(default_factory=dict)
    """Mute receivers: since when, and when their address last changed."""
    held: dict[Key, tuple[int, Facts]] = msgspec.field(default_factory=dict)
    """Receivers that requested a pause: its end, and their facts at that time."""
    waiters: list[asyncio.Future[None]] = msgspec.field(default_factory=list)
    receivers: dict[Key, list[RowNo]] = msgspec.field(default_factory=dict)
    """Finished messages, by receiver."""
    failed: Counter[Key] = msgspec.field(default_factory=Counter)
    given_up: Counter[Key] = msgspec.field(default_factory=Counter)
    errors: dict[Key, str] = msgspec.field(default_factory=dict)

    def about(self, key: Key) -> dict[str, str]:
        """Log fields of a receiver, without its address or any content."""
        return {"company": key[0], "channel": key[1].value, "error": self.errors[key]}

    def __len__(self) -> int:
        return len(self.delivered) + len(self.postponed) + len(self.parked) + len(self.unconfirmed) + len(self.held)

    def write(self, tx: WriteTx) -> None:
        push_queue.settle(
            tx, delivered=self.delivered, postponed=self.postponed, parked=self.parked, unconfirmed=self.unconfirmed
        )
        for key, (since_ms, readdressed_ms) in self.mute.items():
            receiver_state.silent(tx, key, since_ms=since_ms, readdressed_ms=readdressed_ms)
        for key, (held_ms, seen) in self.held.items():
            receiver_state.hold(tx, key, held_ms=held_ms, seen=seen)


class Ledger:
    """Outcomes to write."""

    def __init__(self, *, store: Store, written: Callable[[Key, Iterable[RowNo]], None]) -> None:
        self._store = store
        self._written = written
        self._page = _Page()
        self._some = asyncio.Event()
        self._many = asyncio.Event()
        self._ended = False

    @property
    def full(self) -> bool:
        """True if too many outcomes are waiting, because the store is down."""
        return len(self._page) >= FULL

    def delivered(self, key: Key, no: RowNo) -> None:
        self._page.delivered.append(no)
        self._page.receivers.setdefault(key, []).append(no)
        self._wake()

    def postponed(self, key: Key, result: Result) -> None:
        self._page.postponed.append(result)
        self._page.failed[key] += 1
        self._page.errors[key] = result.error
        self._wake()

    def parked(self, key: Key, result: Result) -> None:
        self._page.parked.append(result)
        self._page.receivers.setdefault(key, []).append(result.no)
        self._page.given_up[key] += 1
        self._page.errors[key] = result.error
        self._wake()

    def unconfirmed(self, key: Key, results: Sequence[Result]) -> None:
        """Record messages that count as delivered without an answer."""
        self._page.unconfirmed.extend(results)
        self._page.receivers.setdefault(key, []).extend(result.no for result in results)
        self._wake()

    def mute(self, key: Key, *, since_ms: int, readdressed_ms: int) -> None:
        """Record a mute receiver; it has an unconfirmed message."""
        self._page.mute[key] = (since_ms, readdressed_ms)

    def held(self, key: Key, *, held_ms: int, facts: Facts) -> None:
        """Record a pause that the receiver requested."""
        self._page.held[key] = (held_ms, facts)
        self._wake()

    async def flushed(self) -> None:
        """Wait until everything recorded so far is written."""
        waiter = asyncio.get_running_loop().create_future()
        self._page.waiters.append(waiter)
        self._some.set()
        self._many.set()
        await waiter

    def end(self) -> None:
        """Write the remaining outcomes, then make `run` return."""
        self._ended = True
        self._some.set()
        self._many.set()

    async def run(self) -> None:
        """Write until `end`; outcomes are retained while the store is down."""
        while True:
            await self._some.wait()
            if not self._ended:
                await poll_loop.set_within(self._many, GATHER_S)
            # Outcomes recorded while this page is written go onto the next one.
            page, self._page = self._page, _Page()
            self._some.clear()
            self._many.clear()
            if len(page) and not await self._kept(page):
                return
            for waiter in page.waiters:
                if not waiter.done():
                    waiter.set_result(None)
            if self._ended and not len(self._page):
                return

    async def _kept(self, page: _Page) -> bool:
        """Write the page, retrying as needed; False: the store is down at shutdown."""
        while True:
            try:
                await self._store.write(page.write, locked=True)
                break
            except Exception as error:  # noqa: BLE001  nothing is forgotten, whatever stood in its way
                poll_loop.report(error, log, failed="push.error", outage="push.outage")
                if self._ended:
                    return False
            await asyncio.sleep(AGAIN_S)
        for key, numbers in page.receivers.items():
            self._written(key, numbers)
        for key, count in page.failed.items():
            log.warning("push.failed", messages=count, **page.about(key))
        for key, count in page.given_up.items():
            log.warning("push.parked", messages=count, **page.about(key))
        return True

    def _wake(self) -> None:
        self._some.set()
        if len(self._page) >= LARGEST:
            self._many.set()
