"""The pusher: sends what waits in the push outbox to customers' servers, with patience, and keeps them apart.

One loop looks for work: at once when a hint says so, and every few seconds unasked. Each receiver (a company's address)
has a `Queue`; requests run in a few tasks for each receiver, every one of which sends message after message. A row goes
when a status line of 2xx came; what that means for the next one is decided in `queue.py` and `schedule.py`.

On a shared store this process sends to the receivers that it has claimed (`claims.py`). Rows may be committed there
after rows with greater numbers, so what was passed a moment ago is looked at again, and everything now and then.

A receiver cannot harm another one: requests at the same time are shared out evenly among those that have something to
send, those that are down have at most a quarter of them together, and each keeps a bounded number of rows in memory.

Not here: how a request travels (`adapters/webhook_http.py`), writing down (`ledger.py`), old rows (`keeper.py`).
"""

import asyncio
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from tripline import config
from tripline.domain.ids import RowNo, first_no
from tripline.observe import PUSHES, SIGNAL_COMPANY_CHANGED, SIGNAL_PUSH_DUE, SIGNAL_RESYNC, logger
from tripline.ports import Clock, Signals, Webhook, WebhookFailedError, WebhookSender
from tripline.services import rounds
from tripline.services.push import addresses, reading, requests, secrets
from tripline.services.push.claims import RENEW_S, Claims
from tripline.services.push.ledger import Ledger
from tripline.services.push.queue import Queue
from tripline.services.push.schedule import Outcome, outcome_of
from tripline.services.push.secrets import Sign
from tripline.store import push_queue
from tripline.store.push_queue import Key, Result, Row
from tripline.store.transactions import ReadTx, Store

LOOK_S: Final = 5.0
"""How often to look for messages unasked: another program on this database gives no hints."""
LEAST_LOOK_S: Final = 0.02
"""Pause between looks at least, however many hints come."""
ANEW_S: Final = 300.0
"""How often to look at all that waits, wherever it stands."""
ANEW_SHARED_S: Final = 15.0
"""The same on a shared store, where receivers of processes that died wait to be taken over."""
ADDRESS_MS: Final = 60_000
"""How long a company's addresses and secret are kept without a hint."""
DOWN_SHARE: Final = 4
"""Those that are down have one of so many requests together."""
AGAIN_MS: Final = 1_000
"""Pause after trouble of our own."""
PARK_BATCH: Final = 500
"""Rows given up in one transaction: it delays the commit of what devices send."""
_MS_PER_HOUR: Final = 3_600_000
_BEYOND: Final = 2**62
NO_ADDRESS: Final = "The company has no address for this any more."

log = logger("push")


@dataclass(slots=True, eq=False)
class _Receiver:
    key: Key
    queue: Queue
    workers: int = 0
    url: str | None = None
    sign: Sign | None = None
    known_until_ms: int = 0
    """Until when address and secret need not be read again. What was read before the latest of `changes` is no good."""
    changes: int = 0

    def forget(self) -> None:
        """Have address and secret read again."""
        self.known_until_ms = 0
        self.changes += 1


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
    ) -> None:
        self._store = store
        self._sender = sender
        self._settings = settings
        self._patience_ms = round(settings.patience_hours * _MS_PER_HOUR)
        self._clock = clock
        self._receivers: dict[Key, _Receiver] = {}
        self._claims = Claims(store=store, holder=holder or str(uuid.uuid4()), request_s=settings.timeout_s)
        self._ledger = Ledger(store=store, written=self._written)
        self._asked = asyncio.Event()
        self._new = True
        """Whether there may be messages behind `_tail`."""
        self._tail = 0
        self._workers = 0
        self._active: set[_Receiver] = set()
        """Those with requests under way, and the hungry."""
        self._hungry: dict[_Receiver, None] = {}
        """Those for whom no request was free, in the order of asking."""
        self._stopping = False
        self._anew = True
        """Whether to look at everything, the next time."""
        self._tasks: asyncio.TaskGroup
        signals.subscribe(SIGNAL_PUSH_DUE, lambda _: self._hinted())
        signals.subscribe(SIGNAL_COMPANY_CHANGED, self._company_changed)
        signals.subscribe(SIGNAL_RESYNC, lambda _: self._resync())

    def stop(self) -> None:
        """Send nothing more; `run` returns when what is under way has ended and is written down."""
        self._stopping = True
        self._asked.set()

    async def run(self) -> None:
        """Send until `stop`. Cancelled, it leaves what is under way to be sent again, under the same ids."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._ledger.run())
                async with asyncio.TaskGroup() as self._tasks:
                    await self._look_on()
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
                rounds.report(error, log, failed="push.error", outage="push.outage")
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
        while (asking := [each for each in self._receivers.values() if each.queue.wants_more]) or self._new:
            await self._read(asking, behind=self._tail if self._new else None)

    async def _read(self, asking: list[_Receiver], *, behind: int | None) -> None:
        """Read what waits for these, and for whom something was put there behind a number, on one view."""
        self._new = False
        spans = [reading.span(each.key, each.queue) for each in asking]

        def work(tx: ReadTx) -> tuple[int, list[Key], list[tuple[list[Row], list[Row]]]]:
            newest, fresh = (0, []) if behind is None else reading.newcomers(tx, behind)
            return newest, fresh, [reading.rows(tx, span) for span in spans]

        try:
            newest, fresh, found = await self._store.read(work)
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
            self._receivers.pop(key, None)

    async def _pause(self) -> None:
        """Until there may be something to do: a hint, a due message, or `LOOK_S`."""
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

    def _hinted(self) -> None:
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

    def _receiver(self, key: Key) -> _Receiver:
        receiver = self._receivers.get(key)
        if receiver is None:
            receiver = self._receivers[key] = _Receiver(key, Queue(patience_ms=self._patience_ms))
        return receiver

    def _written(self, key: Key, numbers: Iterable[RowNo]) -> None:
        receiver = self._receivers.get(key)
        if receiver is not None:
            receiver.queue.forget(numbers)
        self._asked.set()

    # Sending

    def _start(self, receiver: _Receiver) -> None:
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

    def _allowed(self, receiver: _Receiver) -> int:
        """Requests that the receiver may have under way: its share, and less while it is not well."""
        at_once = self._settings.at_once
        if not self._claims.hold(receiver.key) or self._receivers.get(receiver.key) is not receiver:
            return 0
        if receiver.queue.down:
            down = sum(each.workers for each in self._active if each.queue.down and each is not receiver)
            return 1 if down < max(1, at_once // DOWN_SHARE) else 0
        share = max(1, at_once // max(1, len(self._active)))
        return min(receiver.queue.slots, self._settings.per_receiver, share)

    async def _work(self, receiver: _Receiver, first: Row) -> None:
        """Send this message and then, one after the other, whatever is due for the receiver."""
        row: Row | None = first
        try:
            while row is not None:
                await self._deliver(receiver, row)
                allowed = self._allowed(receiver)
                if self._stopping or self._ledger.full or receiver.workers > allowed:
                    break
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
        if receiver.queue.wants_more or receiver.queue.down:
            self._asked.set()

    def _start_hungry(self) -> None:
        while self._hungry and self._workers < self._settings.at_once:
            receiver = next(iter(self._hungry))
            del self._hungry[receiver]
            if not receiver.workers:
                self._active.discard(receiver)
            self._start(receiver)

    async def _deliver(self, receiver: _Receiver, row: Row) -> None:
        """One attempt at a message, and what comes of it."""
        try:
            while self._clock() >= receiver.known_until_ms:
                await self._find_address(receiver)
            content = await self._store.read_short(lambda tx: push_queue.content(tx, row.no))
            if content is None:
                receiver.queue.vanished(row)
                return
            if receiver.url is None or receiver.sign is None:
                self._park(receiver, row, NO_ADDRESS)
                await self._park_others(receiver, first_no(self._clock() + self._patience_ms), NO_ADDRESS)
                return
            webhook = requests.request(
                receiver.key[1], row, content, url=receiver.url, sign=receiver.sign, now_ms=self._clock()
            )
        except Exception as error:  # noqa: BLE001  one message's trouble must not hold up the others
            rounds.report(error, log, failed="push.error", outage="push.outage")
            receiver.queue.put_back(row, due_ms=self._clock() + AGAIN_MS)
            self._asked.set()
            return
        outcome, error_text = await self._attempt(webhook)
        await self._settle(receiver, row, outcome, error_text)

    async def _attempt(self, webhook: Webhook) -> tuple[Outcome, str]:
        try:
            status = await self._sender.post(webhook)
        except WebhookFailedError as failed:
            return Outcome.FAILED, str(failed)
        except Exception:
            log.exception("push.error")
            return Outcome.FAILED, "An unexpected error."
        return outcome_of(status), f"HTTP status {status}."

    async def _settle(self, receiver: _Receiver, row: Row, outcome: Outcome, error: str) -> None:
        now_ms = self._clock()
        due_ms = receiver.queue.settle(row, outcome, now_ms=now_ms)
        if outcome is Outcome.DELIVERED:
            PUSHES.labels("delivered").inc()
            self._ledger.delivered(receiver.key, row.no)
        elif due_ms is not None:
            PUSHES.labels("failed").inc()
            self._ledger.postponed(receiver.key, Result(row.no, row.attempts, due_ms, error))
            self._asked.set()
        else:
            PUSHES.labels("parked").inc()
            self._ledger.parked(receiver.key, Result(row.no, row.attempts, now_ms, error))
            if outcome is Outcome.FAILED and receiver.queue.hopeless(row):
                await self._park_others(receiver, first_no(now_ms - self._patience_ms), error)

    def _park(self, receiver: _Receiver, row: Row, error: str) -> None:
        """Give a message up without an attempt."""
        receiver.queue.give_up(row)
        PUSHES.labels("parked").inc()
        self._ledger.parked(receiver.key, Result(row.no, row.attempts, self._clock(), error))

    async def _park_others(self, receiver: _Receiver, before_no: int, error: str) -> None:
        """Give up everything that waits for the receiver and has a smaller number."""
        now_ms = self._clock()
        park = reading.park_unaddressed if error == NO_ADDRESS else push_queue.park_waiting
        work = partial(park, key=receiver.key, before_no=before_no, error=error, now_ms=now_ms, limit=PARK_BATCH)
        try:
            parked = PARK_BATCH
            while parked >= PARK_BATCH and not self._stopping:
                parked = await self._store.write(work, locked=True)
                if parked:
                    PUSHES.labels("parked").inc(parked)
                    log.warning(
                        "push.parked",
                        company=receiver.key[0],
                        channel=receiver.key[1].value,
                        messages=parked,
                        error=error,
                    )
        except reading.AddressedError:
            return
        except Exception as trouble:  # noqa: BLE001  they are parked the next time
            rounds.report(trouble, log, failed="push.error", outage="push.outage")

    async def _find_address(self, receiver: _Receiver) -> None:
        """Read where the receiver's messages go, and what signs them; makes a secret when there is none."""
        company_id, channel = receiver.key
        now_ms, changes = self._clock(), receiver.changes
        found = await self._store.read_short(lambda tx: push_queue.addresses(tx, company_id))
        url = None if found is None else addresses.url_of(channel, found)
        sign = None
        if found is not None and found.secret is not None:
            sign = Sign(found.secret, found.former, found.former_until_ms)
        elif url is not None:
            made = await self._store.write(lambda tx: secrets.of(tx, company_id, now_ms=now_ms))
            sign = Sign(made.secret, made.former, made.former_until_ms)
        # All at once: other requests to the receiver go on meanwhile.
        if receiver.changes == changes:
            receiver.url, receiver.sign, receiver.known_until_ms = url, sign, now_ms + ADDRESS_MS
