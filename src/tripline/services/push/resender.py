"""Send parked messages again: some thousands at once, the rest in the background.

Messages are searched on a reading thread and queued in small transactions, so that other writers wait for one of them
at most. The remainder of a request is stored as a row before the answer, so that any process can finish it after a
crash.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from tripline.domain.ids import RowNo, TimeIds
from tripline.domain.pushes import Channel
from tripline.observe import SIGNAL_RESEND_DUE, logger
from tripline.ports.clocks import Clock
from tripline.ports.signals import Signals
from tripline.services import notifications
from tripline.services.poll_loop import PollLoop
from tripline.store.push import parked as push_parked
from tripline.store.push import queue as push_queue
from tripline.store.push import receiver_state
from tripline.store.push.parked import Left, Which
from tripline.store.transactions import ReadTx, Store, WriteTx

STEP: Final = 500
"""Messages in one transaction: it delays the commit of device messages by some 10 ms."""
AT_ONCE: Final = 5_000
"""Messages that a request queues itself, and the most searched at a time in the background."""
AT_ONCE_S: Final = 2.0
"""After this time a request begins no other step."""
LOOK_S: Final = 5.0
"""Interval between checks for remainders without a notification."""

log = logger("push")

Admit = Callable[[ReadTx], None]
"""Raises a refusal unless the caller may still resend messages."""


class Resent(msgspec.Struct, frozen=True):
    """The result of a request to resend."""

    count: int
    """Parked messages that are queued again."""
    released: int
    """Waiting messages whose pauses end."""


async def resend(store: Store, *, admit: Admit, which: Which, ids: TimeIds, now_ms: int) -> Resent:
    """Send these messages again. Messages beyond `AT_ONCE` follow in the background.

    Messages that wait for the company's receivers are sent at once, too. `which` names the company, and the latest
    instant of parking. Raises the refusals of `admit`, and `Outage`.
    """
    company_id = which.company_id
    assert company_id is not None

    def look(tx: ReadTx) -> tuple[list[RowNo], int, int]:
        admit(tx)
        first = push_parked.chosen(tx, which, limit=AT_ONCE + 1)
        total = push_parked.count(tx, which) if len(first) > AT_ONCE else len(first)
        return first[:AT_ONCE], total, push_parked.waiting(tx, company_id, None)

    def begin(tx: WriteTx) -> None:
        admit(tx)
        receiver_state.asked(tx, [(company_id, channel) for channel in Channel], now_ms=now_ms)

    def put_in_line(tx: WriteTx, some: Sequence[RowNo]) -> int:
        admit(tx)
        return push_parked.resend(tx, some, ids=ids, now_ms=now_ms)

    first, there, released = await store.read(look)
    await store.write(begin)
    loop = asyncio.get_running_loop()
    late_s = loop.time() + AT_ONCE_S
    tried = done = 0
    # Messages selected by id are few, and no remainder row can represent them.
    while tried < len(first) and (which.message_ids is not None or loop.time() < late_s):
        done += await store.write(partial(put_in_line, some=first[tried : tried + STEP]))
        tried += STEP
    rest = there - tried
    if rest > 0:
        left = Left(RowNo(ids.take(1, now_ms=now_ms)), which)
        await store.write(lambda tx: push_parked.add_rest(tx, left))
        done += rest
    return Resent(done, released)


async def resend_all(store: Store, *, which: Which, ids: TimeIds, now_ms: int) -> AsyncIterator[Resent]:
    """Send these messages again, for the operator of the machine: yields the numbers after each step.

    Messages parked later are excluded. Raises `Outage`; messages queued by then stay queued.
    """
    which = replace(which, until_ms=now_ms)

    def begin(tx: WriteTx) -> int:
        company_id = which.company_id
        keys = push_queue.receivers(tx) if company_id is None else [(company_id, channel) for channel in Channel]
        receiver_state.asked(tx, [key for key in keys if which.channel in (None, key[1])], now_ms=now_ms)
        return push_parked.waiting(tx, company_id, which.channel)

    released = await store.write(begin)
    done = 0
    yield Resent(done, released)
    found = await _chosen(store, which)
    while found:
        async for put in _steps(store, found, ids=ids, now_ms=now_ms):
            done += put
            yield Resent(done, released)
        found = await _chosen(store, which)


class Resender:
    """Finishes the remainders of requests, in any process that sends messages."""

    def __init__(self, *, store: Store, signals: Signals, clock: Clock, ids: TimeIds) -> None:
        self._store = store
        self._signals = signals
        self._clock = clock
        self._ids = ids
        self._poll_loop = PollLoop(signals, SIGNAL_RESEND_DUE, look_s=LOOK_S)

    async def run(self) -> None:
        await self._poll_loop.run(self.go_on, log=log, failed="push.error")

    async def go_on(self) -> int:
        """Queue some messages of the oldest remainder; 0: nothing is left. Raises `Outage`."""
        left = await self._store.read(push_parked.oldest_rest)
        if left is None:
            return 0
        found = await _chosen(self._store, left.which)
        if not found:
            await self._store.write(lambda tx: push_parked.end_rest(tx, left.no))
            return 1
        async for _ in _steps(self._store, found, ids=self._ids, now_ms=self._clock()):
            notifications.send(self._signals, notifications.PUSH_DUE)
        return len(found)


async def _chosen(store: Store, which: Which) -> Sequence[RowNo]:
    return await store.read(lambda tx: push_parked.chosen(tx, which, limit=AT_ONCE))


async def _steps(store: Store, numbers: Sequence[RowNo], *, ids: TimeIds, now_ms: int) -> AsyncIterator[int]:
    """Queue messages step by step, yielding the number of each. Half of the time is left to other writers."""

    def put_in_line(tx: WriteTx, some: Sequence[RowNo]) -> int:
        return push_parked.resend(tx, some, ids=ids, now_ms=now_ms)

    loop = asyncio.get_running_loop()
    for at in range(0, len(numbers), STEP):
        began_s = loop.time()
        yield await store.write(partial(put_in_line, some=numbers[at : at + STEP]))
        await asyncio.sleep(loop.time() - began_s)
