"""One attempt at a message: its address, its request, and recording its outcome.

A mute receiver takes messages and never answers (spec/push M1 to M3). A request to it counts as sent after `PLACE_S`,
while its connection keeps listening; the first status line queues all unconfirmed messages again.

Not here: choosing the next message (`pusher.py`), the effect of an outcome on the queue (`queue.py`), sending a request
(`adapters/webhooks/sender.py`).
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from tripline.domain.ids import RowNo, first_no
from tripline.metrics import PUSHES
from tripline.observe import logger
from tripline.ports.clocks import Clock
from tripline.ports.webhooks import (
    UNANSWERED,
    Answered,
    Listening,
    Webhook,
    WebhookFailedError,
    WebhookSender,
    WebhookUnansweredError,
)
from tripline.services import poll_loop
from tripline.services.push import http_requests, outbox, schedule, secrets
from tripline.services.push.ledger import Ledger
from tripline.services.push.queue import Queue
from tripline.services.push.schedule import Outcome, outcome_of
from tripline.store.push import queue as push_queue
from tripline.store.push import receiver_state
from tripline.store.push.queue import Content, Key, Result, Row
from tripline.store.push.receiver_state import Facts
from tripline.store.push.secrets import Secret
from tripline.store.transactions import Store, WriteTx


class Receiver(msgspec.Struct, eq=False):
    """A receiver with waiting messages, as loaded in memory."""

    key: Key
    queue: Queue
    workers: int = 0
    url: str | None = None
    secret: Secret | None = None
    known_until_ms: int = 0
    """Expiry of the cached address and secret. Anything read before the latest of `changes` is invalid."""
    changes: int = 0
    facts: Facts | None = None
    """As read last; None: never read."""
    facts_of: int = -1
    """The value of `changes` when they were read."""
    dropped: bool = False
    """True if it has no waiting messages any more, or another process sends to it."""
    attempts: set[asyncio.Timeout] = msgspec.field(default_factory=set)
    """Requests under way, for cancelling."""
    releasing: bool = False
    """True while unconfirmed messages are being queued again."""

    @property
    def unsure(self) -> bool:
        return self.facts_of != self.changes

    def forget(self) -> None:
        """Reload address, secret and facts."""
        self.known_until_ms = 0
        self.changes += 1

    def hurry(self, *, now_ms: int, readdressed: bool) -> None:
        """End its pauses, and cancel requests to an outdated address or a server that is down."""
        if readdressed or self.queue.down:
            while self.attempts:
                self.attempts.pop().reschedule(0.0)
        self.queue.hurry(now_ms, readdressed=readdressed)


ADDRESS_MS: Final = 60_000
"""How long a company's addresses and secret are cached without a notification."""
AGAIN_MS: Final = 1_000
"""Pause after an internal failure."""
PARK_BATCH: Final = 500
"""Rows parked in one transaction: it delays the commit of device messages."""
PLACE_S: Final = 0.25
"""How long a message to a mute receiver waits for an answer before the next one is sent (spec/push M2)."""
EARLY: Final = "The server answered before older messages of the sensor were confirmed."
NO_ADDRESS: Final = "The company no longer has an address for these messages."

log = logger("push")


class Deliveries:
    """Delivers single messages. `wake` is called when there may be more to do."""

    tasks: asyncio.TaskGroup
    """Owns background work beside attempts; set before the first one."""

    def __init__(
        self,
        *,
        store: Store,
        sender: WebhookSender,
        ledger: Ledger,
        clock: Clock,
        patience_ms: int,
        place_s: float,
        wake: Callable[[], None],
    ) -> None:
        self._store = store
        self._sender = sender
        self._ledger = ledger
        self._clock = clock
        self._patience_ms = patience_ms
        self._place_s = place_s
        self._wake = wake
        self._stopping = False
        self._releases: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """Begin no more background work; unconfirmed messages stay as they are."""
        self._stopping = True
        for release in self._releases:
            release.cancel()

    async def deliver(self, receiver: Receiver, row: Row) -> None:
        """Make one attempt at a message, and record the outcome."""
        try:
            while self._clock() >= receiver.known_until_ms:
                await self.find_address(receiver)
            content = await self._store.read_short(lambda tx: push_queue.content(tx, row.no))
            if content is None:
                receiver.queue.vanished(row)
                return
            if receiver.url is None or receiver.secret is None:
                self._park(receiver, row, NO_ADDRESS)
                await self._park_others(receiver, first_no(self._clock() + self._patience_ms), NO_ADDRESS)
                return
            oldest = await self._oldest_unconfirmed(receiver) if receiver.queue.sounding else None
            sent, content = (row, content) if oldest is None else oldest
            webhook = http_requests.request(
                receiver.key[1], sent, content, url=receiver.url, secret=receiver.secret, now_ms=self._clock()
            )
        except Exception as error:  # noqa: BLE001  one message's trouble must not hold up the others
            poll_loop.report(error, log, failed="push.error", outage="push.outage")
            receiver.queue.put_back(row, due_ms=self._clock() + AGAIN_MS)
            self._wake()
            return
        listening = None
        if receiver.queue.mute and oldest is None:
            listening = Listening(self._place_s, partial(self._heard, receiver, receiver.url, row))
        try:
            async with asyncio.timeout(None) as attempt:
                receiver.attempts.add(attempt)
                try:
                    outcome, error_text, retry_after = await self._attempt(webhook, listening)
                finally:
                    receiver.attempts.discard(attempt)
        except TimeoutError:  # cancelled: the receiver has another address, or its pauses were ended
            receiver.queue.put_back(row, due_ms=self._clock())
            return
        self._hold(receiver, row, retry_after)
        if oldest is not None and outcome is not Outcome.LOST:
            self._sounded(receiver, sent.no, outcome)
            receiver.queue.put_back(row, due_ms=self._clock())
        elif outcome is Outcome.UNANSWERED:
            self._settle_unanswered(receiver, row)
        elif outcome is Outcome.DELIVERED and receiver.queue.owed:
            self._settle_early(receiver, row)
        else:
            await self._settle(receiver, row, outcome, error_text)

    async def _attempt(self, webhook: Webhook, listening: Listening | None) -> tuple[Outcome, str, str | None]:
        """Return the outcome, the reason to store with the message, and `Retry-After`."""
        try:
            answered = await self._sender.post(webhook, listening)
        except WebhookUnansweredError as unanswered:
            return Outcome.UNANSWERED, str(unanswered), None
        except WebhookFailedError as failed:
            return Outcome.LOST, str(failed), None
        except Exception:
            log.exception("push.error")
            return Outcome.LOST, "An unexpected error.", None
        if answered is None:
            return Outcome.UNANSWERED, UNANSWERED, None
        return outcome_of(answered.status), f"HTTP status {answered.status}.", answered.retry_after

    def _hold(self, receiver: Receiver, row: Row, retry_after: str | None) -> None:
        """Pause the receiver as it requested, here and in a process that takes over."""
        now_ms = self._clock()
        pause_ms = schedule.asked_pause_ms(retry_after, now_ms=now_ms)
        if pause_ms:
            held_ms = receiver.queue.hold(row, now_ms=now_ms, pause_ms=pause_ms)
            self._ledger.held(receiver.key, held_ms=held_ms, facts=receiver.facts or Facts())

    async def _oldest_unconfirmed(self, receiver: Receiver) -> tuple[Row, Content] | None:
        """The oldest unconfirmed message, to send before the next one; None: all are confirmed."""
        await self._ledger.flushed()
        found = await self._store.read_short(lambda tx: receiver_state.oldest_unconfirmed(tx, receiver.key))
        if found is None:
            receiver.queue.sounding = False
        return found

    def _sounded(self, receiver: Receiver, no: RowNo, outcome: Outcome) -> None:
        """Record the outcome of resending the oldest unconfirmed message to a server that was away or has a new
        address."""
        if outcome is Outcome.UNANSWERED:
            receiver.queue.sounding = False
            return
        if outcome is Outcome.DELIVERED:
            PUSHES.labels("confirmed").inc()
            self._ledger.delivered(receiver.key, no)
        receiver.queue.heard(self._clock(), well=outcome is not Outcome.FAILED)

    def _settle_early(self, receiver: Receiver, row: Row) -> None:
        now_ms = self._clock()
        early = receiver.queue.early(row, now_ms=now_ms)
        self._ledger.unconfirmed(receiver.key, [Result(early.no, early.attempts, now_ms, EARLY)])

    def _settle_unanswered(self, receiver: Receiver, row: Row) -> None:
        now_ms, was_mute = self._clock(), receiver.queue.mute
        due_ms, unconfirmed = receiver.queue.unanswered(row, now_ms=now_ms)
        if unconfirmed:
            PUSHES.labels("unconfirmed").inc(len(unconfirmed))
            results = [Result(each.no, each.attempts, now_ms, UNANSWERED) for each in unconfirmed]
            self._ledger.unconfirmed(receiver.key, results)
        elif due_ms is not None:
            PUSHES.labels("unanswered").inc()
            self._ledger.postponed(receiver.key, Result(row.no, row.attempts, due_ms, UNANSWERED))
            self._wake()
        else:
            PUSHES.labels("parked").inc()
            self._ledger.parked(receiver.key, Result(row.no, row.attempts, now_ms, UNANSWERED))
        if receiver.queue.mute and not was_mute:
            readdressed_ms = 0 if receiver.facts is None else receiver.facts.readdressed_ms
            self._ledger.mute(receiver.key, since_ms=now_ms, readdressed_ms=readdressed_ms)
            log.warning("push.mute", company=receiver.key[0], channel=receiver.key[1].value)

    def _heard(self, receiver: Receiver, url: str, row: Row, answered: Answered) -> None:
        """Handle a status line on a connection that kept listening. It confirms nothing: the message is resent in
        order, after older ones of the same sensor."""
        if receiver.url == url and not receiver.dropped and not self._stopping:
            self._hold(receiver, row, answered.retry_after)
            receiver.queue.heard(self._clock(), well=outcome_of(answered.status) is not Outcome.FAILED)
            self.release_when_calm(receiver)

    def release_when_calm(self, receiver: Receiver) -> None:
        """Queue unconfirmed messages again, once no request is under way."""
        if receiver.queue.releasing and not (receiver.workers or receiver.releasing or self._stopping):
            receiver.releasing = True
            task = self.tasks.create_task(self._release(receiver))
            self._releases.add(task)
            task.add_done_callback(self._releases.discard)

    async def _release(self, receiver: Receiver) -> None:
        def work(tx: WriteTx) -> int:
            return receiver_state.release(tx, receiver.key, now_ms=self._clock(), limit=PARK_BATCH)

        released, total = PARK_BATCH, 0
        while released >= PARK_BATCH:
            try:
                await self._ledger.flushed()
                released = await self._store.write(work, locked=True)
                total += released
            except Exception as error:  # noqa: BLE001  nothing else is sent to the receiver before
                poll_loop.report(error, log, failed="push.error", outage="push.outage")
                await asyncio.sleep(AGAIN_MS / 1_000)
        log.info("push.answers", company=receiver.key[0], channel=receiver.key[1].value, messages=total)
        receiver.releasing = False
        receiver.queue.released()
        self._wake()

    async def _settle(self, receiver: Receiver, row: Row, outcome: Outcome, error: str) -> None:
        now_ms = self._clock()
        due_ms = receiver.queue.settle(row, outcome, now_ms=now_ms)
        if outcome is Outcome.DELIVERED:
            PUSHES.labels("delivered").inc()
            self._ledger.delivered(receiver.key, row.no)
        elif due_ms is not None:
            PUSHES.labels("failed").inc()
            self._ledger.postponed(receiver.key, Result(row.no, row.attempts, due_ms, error))
            self._wake()
        else:
            PUSHES.labels("parked").inc()
            self._ledger.parked(receiver.key, Result(row.no, row.attempts, now_ms, error))
            if outcome in (Outcome.FAILED, Outcome.LOST) and receiver.queue.hopeless(row):
                await self._park_others(receiver, first_no(now_ms - self._patience_ms), error)

    def _park(self, receiver: Receiver, row: Row, error: str) -> None:
        """Park a message without an attempt."""
        receiver.queue.give_up(row)
        PUSHES.labels("parked").inc()
        self._ledger.parked(receiver.key, Result(row.no, row.attempts, self._clock(), error))

    async def _park_others(self, receiver: Receiver, before_no: int, error: str) -> None:
        """Park all messages that wait for the receiver and have a smaller number."""
        now_ms = self._clock()
        park = outbox.park_unaddressed if error == NO_ADDRESS else push_queue.park_waiting
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
        except outbox.AddressedError:
            return
        except Exception as trouble:  # noqa: BLE001  they are parked the next time
            poll_loop.report(trouble, log, failed="push.error", outage="push.outage")

    async def find_address(self, receiver: Receiver) -> None:
        """Load the receiver's address and secret; creates a missing secret."""
        company_id, channel = receiver.key
        now_ms, changes = self._clock(), receiver.changes
        found = await self._store.read_short(lambda tx: push_queue.addresses(tx, company_id))
        url = None if found is None else http_requests.url_of(channel, found)
        secret = None if found is None else found.secret
        if secret is None and url is not None:
            secret = await self._store.write(lambda tx: secrets.of(tx, company_id, now_ms=now_ms))
        # All at once, since other requests to the receiver continue meanwhile.
        if receiver.changes == changes:
            receiver.url, receiver.secret, receiver.known_until_ms = url, secret, now_ms + ADDRESS_MS
