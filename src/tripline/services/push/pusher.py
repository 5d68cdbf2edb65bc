"""The pusher: send the messages of the push outbox to customers' servers, retry patiently, and isolate receivers.

One loop looks for work: on notification, and every few seconds. Each receiver (a company's address) has a `Queue`;
requests run in a few tasks per receiver, each of which sends message after message. A row is deleted when a 2xx status
line arrives; `queue.py` and `schedule.py` decide what an outcome means for the next message.

On a shared store this process sends to the receivers that it has claimed (`claims.py`). Rows may be committed there
after rows with greater numbers, so each read covers the last moment again, and now and then everything.

Receivers cannot harm each other: concurrent requests are divided evenly among receivers with due messages, down or mute
ones share at most a quarter of them, and each has a bounded number of rows in memory.
"""

import asyncio
import uuid
from collections.abc import Iterable
from typing import Final

from tripline import config
from tripline.domain.ids import RowNo
from tripline.observe import SIGNAL_COMPANY_CHANGED, SIGNAL_PUSH_DUE, SIGNAL_RESYNC, logger
from tripline.ports.clocks import Clock
from tripline.ports.signals import Signals
from tripline.ports.webhooks import WebhookSender
from tripline.services import poll_loop
from tripline.services.push import outbox
from tripline.services.push.attempts import AGAIN_MS, PLACE_S, Deliveries, Receiver
from tripline.services.push.claims import RENEW_S, Claims
from tripline.services.push.ledger import Ledger
from tripline.services.push.queue import Queue
from tripline.store.push import outbox as push_outbox
from tripline.store.push import queue as push_queue
from tripline.store.push import receiver_state
from tripline.store.push.queue import Key, Row
from tripline.store.transactions import ReadTx, Store

LOOK_S: Final = 5.0
"""Interval between checks without a notification: other programs on this database send none."""
LEAST_LOOK_S: Final = 0.02
"""Shortest pause between checks, however many notifications arrive."""
ANEW_S: Final = 300.0
"""Interval between scans of all waiting messages."""
ANEW_SHARED_S: Final = 15.0
"""The same on a shared store, where the receivers of dead processes must be taken over."""
DOWN_SHARE: Final = 4
"""Receivers that are down or mute share one of this many requests."""
_MS_PER_HOUR: Final = 3_600_000
_BEYOND: Final = 2**62

log = logger("push")


class Pusher:
    """Sends waiting messages to all receivers."""

    def __init__(
        self,
        *,
        store: Store,
        sender: WebhookSender,
        settings: config.Push,
        signals: Signals,
        clock: Clock,
        holder: str | None = None,
        place_s: float = PLACE_S,
    ) -> None:
        self._store = store
        self._settings = settings
        self._patience_ms = round(settings.patience_hours * _MS_PER_HOUR)
        self._clock = clock
        self._receivers: dict[Key, Receiver] = {}
        self._claims = Claims(store=store, holder=holder or str(uuid.uuid4()), request_s=2 * settings.timeout_s)
        self._ledger = Ledger(store=store, written=self._written)
        self._asked = asyncio.Event()
        self._deliveries = Deliveries(
            store=store,
            sender=sender,
            ledger=self._ledger,
            clock=clock,
            patience_ms=self._patience_ms,
            place_s=place_s,
            wake=self._asked.set,
        )
        self._new = True
        """True if there may be messages after `_tail`."""
        self._tail = 0
        self._workers = 0
        self._active: set[Receiver] = set()
        """Receivers with requests under way, and hungry ones."""
        self._hungry: dict[Receiver, None] = {}
        """Receivers waiting for a free request, in order of arrival."""
        self._stopping = False
        self._anew = True
        """True if the next check must scan everything."""
        self._unasked_s = 0.0
        """When to check for changes whose notification may be lost."""
        self._tasks: asyncio.TaskGroup
        signals.subscribe(SIGNAL_PUSH_DUE, lambda _: self._notified())
        signals.subscribe(SIGNAL_COMPANY_CHANGED, self._company_changed)
        signals.subscribe(SIGNAL_RESYNC, lambda _: self._resync())

    def stop(self) -> None:
        """Send nothing more; `run` returns when requests under way have ended and are recorded."""
        self._stopping = True
        self._asked.set()
        self._deliveries.stop()

    async def run(self) -> None:
        """Send until `stop`. If cancelled, requests under way are sent again later, under the same ids."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._ledger.run())
                async with asyncio.TaskGroup() as self._tasks:
                    self._deliveries.tasks = self._tasks
                    await self._look_on()
                # Not before every request has ended: its outcome must still be written.
                self._ledger.end()
        finally:
            await self._claims.leave_all()

    # Looking for work

    async def _look_on(self) -> None:
        loop = asyncio.get_running_loop()
        anew_s = 0.0
        while not self._stopping:
            self._asked.clear()
            everything = self._anew or loop.time() >= anew_s
            self._anew = False
            try:
                self._drop(await self._claims.renew())
                await self._look(everything=everything)
            except Exception as error:  # noqa: BLE001  the loop continues after any error
                poll_loop.report(error, log, failed="push.error", outage="push.outage")
                self._anew = True
                await asyncio.sleep(AGAIN_MS / 1_000)
                continue
            if everything:
                anew_s = loop.time() + (ANEW_SHARED_S if self._store.shared else ANEW_S)
            for receiver in list(self._receivers.values()):
                self._start(receiver)
            await self._pause()

    async def _look(self, *, everything: bool) -> None:
        """Find receivers with new messages, and read messages for queues that have room."""
        if everything:
            await self._look_at_all()
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._unasked_s:
            self._unasked_s = now_s + LOOK_S
            for each in self._receivers.values():
                # A pause can be ended in another process, whose notification may be lost.
                if each.queue.unwell:
                    each.facts_of = -1
        while True:
            unsure = [each for each in self._receivers.values() if each.unsure]
            if unsure:
                await self._learn(unsure)
            asking = [each for each in self._receivers.values() if each.queue.wants_more]
            if not asking and not self._new:
                return
            await self._read(asking, behind=self._tail if self._new else None)

    async def _learn(self, unsure: list[Receiver]) -> None:
        changes = [each.changes for each in unsure]
        found = await self._store.read(lambda tx: [receiver_state.facts(tx, each.key) for each in unsure])
        now_ms = self._clock()
        for each, facts, seen in zip(unsure, found, changes, strict=True):
            known, each.facts, each.facts_of = each.facts, facts, seen
            if known is None:
                hurried_ms = max(facts.readdressed_ms, facts.asked_ms)
                each.queue.begin(mute=facts.mute_ms > 0, owed=facts.owed, hurried_ms=hurried_ms, held_ms=facts.held_ms)
            elif facts.readdressed_ms > known.readdressed_ms:
                each.known_until_ms = 0
                each.hurry(now_ms=now_ms, readdressed=True)
            elif facts.asked_ms > known.asked_ms:
                each.hurry(now_ms=now_ms, readdressed=False)
            self._start(each)

    async def _read(self, asking: list[Receiver], *, behind: int | None) -> None:
        """Read waiting messages of these receivers, and find receivers with messages after a number, in one
        snapshot."""
        self._new = False
        spans = [(each.key, *outbox.span(each.queue)) for each in asking]

        def work(tx: ReadTx) -> tuple[int, list[Key], list[tuple[list[Row], list[Row]]]]:
            newest, fresh = (0, []) if behind is None else outbox.newcomers(tx, behind)
            return newest, fresh, [outbox.rows(tx, *span) for span in spans]

        try:
            newest, fresh, found = await self._store.read(work)
        # Also if cancelled: a receiver marked as being read would never be read again.
        except BaseException:
            self._new = True
            for each in asking:
                each.queue.not_read()
            raise
        self._tail = max(self._tail, newest)
        now_ms = self._clock()
        for each, (rows, late) in zip(asking, found, strict=True):
            each.queue.admit(rows, now_ms=now_ms, late=late)
            self._start(each)
        for key in await self._claims.wanted(fresh):
            self._receiver(key).queue.more()

    async def _look_at_all(self) -> None:
        """Scan everything: find every receiver, and drop the idle ones."""
        self._new = False
        newest, keys = await self._store.read(lambda tx: (push_outbox.newest_no(tx), push_queue.receivers(tx)))
        self._tail = max(self._tail, newest)
        idle = [key for key, each in self._receivers.items() if each.queue.idle and each not in self._active]
        self._drop(idle)
        await self._claims.leave(set(idle).difference(keys))
        for key in await self._claims.wanted(keys):
            self._receiver(key).queue.anew()

    def _drop(self, keys: Iterable[Key]) -> None:
        """Drop receivers that are idle or belong to another process; requests under way end by themselves."""
        for key in keys:
            if (dropped := self._receivers.pop(key, None)) is not None:
                dropped.dropped = True

    async def _pause(self) -> None:
        """Wait for a notification, a due message, or `LOOK_S`."""
        now_ms = self._clock()
        dues = [due_ms for each in self._receivers.values() if (due_ms := each.queue.due_ms(now_ms)) is not None]
        # Messages already due wait for a request to end; its task then starts the next one.
        wait_ms = min((due_ms - now_ms for due_ms in dues if due_ms > now_ms), default=_BEYOND)
        within_s = min(RENEW_S if self._store.shared else LOOK_S, wait_ms / 1_000)
        if not await poll_loop.set_within(self._asked, within_s):
            self._new = True
        if not self._stopping:
            await asyncio.sleep(LEAST_LOOK_S)

    def _notified(self) -> None:
        self._new = True
        self._asked.set()

    def _resync(self) -> None:
        for receiver in self._receivers.values():
            receiver.forget()
        self._anew = True
        self._asked.set()

    def _company_changed(self, company_id: str) -> None:
        for key, receiver in self._receivers.items():
            if key[0] == company_id:
                receiver.forget()
        self._asked.set()

    def _receiver(self, key: Key) -> Receiver:
        receiver = self._receivers.get(key)
        if receiver is None:
            receiver = self._receivers[key] = Receiver(key, Queue(patience_ms=self._patience_ms))
        return receiver

    def _written(self, key: Key, numbers: Iterable[RowNo]) -> None:
        receiver = self._receivers.get(key)
        if receiver is not None:
            receiver.queue.forget(numbers)
        self._asked.set()

    # Sending

    def _start(self, receiver: Receiver) -> None:
        """Begin requests for the receiver's due messages, within its allowance."""
        while not self._stopping and not self._ledger.full and receiver.workers < self._allowed(receiver):
            if self._workers >= self._settings.at_once:
                now_ms = self._clock()
                due_ms = receiver.queue.due_ms(now_ms)
                if due_ms is not None and due_ms <= now_ms:
                    self._hungry[receiver] = None
                    self._active.add(receiver)
                return
            row = receiver.queue.take(self._clock())
            if row is None:
                return
            receiver.workers += 1
            self._workers += 1
            self._active.add(receiver)
            self._tasks.create_task(self._work(receiver, row))

    def _allowed(self, receiver: Receiver) -> int:
        """Number of concurrent requests that the receiver may have: its share, or fewer while it is unwell."""
        at_once = self._settings.at_once
        # A dropped receiver may have been recreated, or belong to another process.
        if not self._claims.hold(receiver.key) or self._receivers.get(receiver.key) is not receiver:
            return 0
        share = max(1, at_once // max(1, len(self._active)))
        allowed = min(receiver.queue.slots, self._settings.per_receiver, share)
        if receiver.queue.down or receiver.queue.mute:
            others = (each for each in self._active if each is not receiver and (each.queue.down or each.queue.mute))
            left = max(1, at_once // DOWN_SHARE) - sum(each.workers for each in others)
            return max(0, min(allowed, left))
        return allowed

    async def _work(self, receiver: Receiver, first: Row) -> None:
        """Send this message and then the receiver's due messages, one after the other."""
        row: Row | None = first
        try:
            while row is not None:
                await self._deliveries.deliver(receiver, row)
                allowed = self._allowed(receiver)
                if self._stopping or self._ledger.full or receiver.workers > allowed:
                    break
                # If others wait for a free request, release this one after a message.
                if self._hungry and self._workers >= self._settings.at_once:
                    break
                row = receiver.queue.take(self._clock())
                if row is not None and receiver.workers < allowed:
                    self._start(receiver)
        finally:
            receiver.workers -= 1
            self._workers -= 1
            if not receiver.workers and receiver not in self._hungry:
                self._active.discard(receiver)
        self._start_hungry()
        self._start(receiver)
        self._deliveries.release_when_calm(receiver)
        if receiver.queue.wants_more or receiver.queue.down or receiver.queue.mute:
            self._asked.set()

    def _start_hungry(self) -> None:
        while self._hungry and self._workers < self._settings.at_once:
            receiver = next(iter(self._hungry))
            del self._hungry[receiver]
            if not receiver.workers:
                self._active.discard(receiver)
            self._start(receiver)
