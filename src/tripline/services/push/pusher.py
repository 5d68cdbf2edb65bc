"""The pusher: sends what waits in the push outbox to customers' servers, with patience, and keeps them apart.

One loop looks for work: at once when a notification says so, and every few seconds unasked. Each receiver (a company's
address) has a `Queue`; requests run in a few tasks for each receiver, every one of which sends message after message. A
row goes when a status line of 2xx came; what that means for the next one is decided in `queue.py` and `schedule.py`.

On a shared store this process sends to the receivers that it has claimed (`claims.py`). Rows may be committed there
after rows with greater numbers, so what was passed a moment ago is looked at again, and everything now and then.

A receiver cannot harm another one: requests at the same time are shared out evenly among those that have something to
send, those that are down or mute have at most a quarter of them together, and each keeps a bounded number of rows in
memory.

Not here: one attempt and what comes of it (`attempts.py`), writing down (`ledger.py`), old rows (`keeper.py`).
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
from tripline.services.push.attempts import AGAIN_MS, PLACE_S, Deliveries
from tripline.services.push.claims import RENEW_S, Claims
from tripline.services.push.ledger import Ledger
from tripline.services.push.queue import Queue
from tripline.services.push.receivers import Receiver
from tripline.store.push import queue as push_queue
from tripline.store.push import receiver_state
from tripline.store.push.queue import Key, Row
from tripline.store.transactions import ReadTx, Store

LOOK_S: Final = 5.0
"""How often to look for messages unasked: another program on this database gives no notifications."""
LEAST_LOOK_S: Final = 0.02
"""Pause between looks at least, however many notifications come."""
ANEW_S: Final = 300.0
"""How often to look at all that waits, wherever it stands."""
ANEW_SHARED_S: Final = 15.0
"""The same on a shared store, where receivers of processes that died wait to be taken over."""
DOWN_SHARE: Final = 4
"""Those that are down have one of so many requests together."""
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
        """Whether there may be messages behind `_tail`."""
        self._tail = 0
        self._workers = 0
        self._active: set[Receiver] = set()
        """Those with requests under way, and the hungry."""
        self._hungry: dict[Receiver, None] = {}
        """Those for whom no request was free, in the order of asking."""
        self._stopping = False
        self._anew = True
        """Whether to look at everything, the next time."""
        self._unasked_s = 0.0
        """When to look again at what no notification may have told of."""
        self._tasks: asyncio.TaskGroup
        signals.subscribe(SIGNAL_PUSH_DUE, lambda _: self._notified())
        signals.subscribe(SIGNAL_COMPANY_CHANGED, self._company_changed)
        signals.subscribe(SIGNAL_RESYNC, lambda _: self._resync())

    def stop(self) -> None:
        """Send nothing more; `run` returns when what is under way has ended and is written down."""
        self._stopping = True
        self._asked.set()
        self._deliveries.stop()

    async def run(self) -> None:
        """Send until `stop`. Cancelled, it leaves what is under way to be sent again, under the same ids."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._ledger.run())
                async with asyncio.TaskGroup() as self._tasks:
                    self._deliveries.tasks = self._tasks
                    await self._look_on()
                # Not before every request has ended: what came of each is still to be written down.
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
            except Exception as error:  # noqa: BLE001  the loop goes on, whatever stood in its way
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
        """Find out for whom there is something new, and read what waits for those who have room."""
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
        """Read what was written down of these receivers, here or by others."""
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
        """Read what waits for these, and for whom something was put there behind a number, on one view."""
        self._new = False
        spans = [outbox.span(each.key, each.queue) for each in asking]

        def work(tx: ReadTx) -> tuple[int, list[Key], list[tuple[list[Row], list[Row]]]]:
            newest, fresh = (0, []) if behind is None else outbox.newcomers(tx, behind)
            return newest, fresh, [outbox.rows(tx, span) for span in spans]

        try:
            newest, fresh, found = await self._store.read(work)
        # Cancelled, too: a receiver that counts as being read is read never again.
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
        """Begin anew: find every receiver, and forget those for whom nothing waits."""
        self._new = False
        newest, keys = await self._store.read(lambda tx: (push_queue.newest(tx), push_queue.receivers(tx)))
        self._tail = max(self._tail, newest)
        idle = [key for key, each in self._receivers.items() if each.queue.idle and each not in self._active]
        self._drop(idle)
        await self._claims.leave(set(idle).difference(keys))
        for key in await self._claims.wanted(keys):
            self._receiver(key).queue.anew()

    def _drop(self, keys: Iterable[Key]) -> None:
        """Forget receivers for whom nothing waits, or to whom others send now; what is under way ends."""
        for key in keys:
            if (dropped := self._receivers.pop(key, None)) is not None:
                dropped.dropped = True

    async def _pause(self) -> None:
        """Until there may be something to do: a notification, a due message, or `LOOK_S`."""
        now_ms = self._clock()
        dues = [due_ms for each in self._receivers.values() if (due_ms := each.queue.due_ms(now_ms)) is not None]
        # What is due already waits for a request to end, and whoever ends one starts the next.
        wait_ms = min((due_ms - now_ms for due_ms in dues if due_ms > now_ms), default=_BEYOND)
        try:
            async with asyncio.timeout(min(RENEW_S if self._store.shared else LOOK_S, wait_ms / 1_000)):
                await self._asked.wait()
        except TimeoutError:
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
        """Begin as many requests to a receiver as it has messages that are due, and as are free."""
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
        """Requests that the receiver may have under way: its share, and less while it is not well."""
        at_once = self._settings.at_once
        # One that was dropped may have been made anew, or be another process's.
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
        """Send this message and then, one after the other, whatever is due for the receiver."""
        row: Row | None = first
        try:
            while row is not None:
                await self._deliveries.deliver(receiver, row)
                allowed = self._allowed(receiver)
                if self._stopping or self._ledger.full or receiver.workers > allowed:
                    break
                # Others wait for a place: whoever had one gives it up after a message.
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
