"""Reading from Kafka: `ports.bus.BusReader` as a member of a consumer group, in a thread of its own.

The thread reads one batch ahead, keeps the member in its group whatever the event loop does, takes part in rebalances,
and commits the offsets that the loop reports as stored (`docs/decisions/260`). Only this thread calls the library's
consumer, which serves one thread at a time: a call from the loop would wait for a poll to end.
"""

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tripline import metrics, observe
from tripline.adapters.kafka import options
from tripline.adapters.kafka.holdings import Holdings
from tripline.config import Bus
from tripline.ports.bus import BusBatch, BusMessage, BusPartition

GIVE_UP_S: Final = 5.0
"""How long a partition that moves to another member waits for batches under way; they are cut to a second of work."""
SESSION_MS: Final = 6_000
"""A member is dead after this long without a heartbeat; others take over its partitions. It is the least that brokers
allow by default (`group.min.session.timeout.ms`), and five missed heartbeats: the library sends them from a thread of
its own, independently of this process's other work.
"""
HEARTBEAT_MS: Final = 1_000
"""Interval of a member's heartbeats, whose answers announce rebalances."""
STUCK_MS: Final = 30_000
"""A member whose thread has not polled for this long is taken for dead. It polls four times a second, and pauses for
`GIVE_UP_S` at most, however long a batch takes to be stored. The group waits as long for a member to join anew."""
STATISTICS_MS: Final = 10_000
PATIENCE_S: Final = 1.0
"""How long a ready batch may wait before reading pauses: pausing discards the messages that the library has fetched."""
_SHARED_ANEW: Final = frozenset(
    {KafkaError.REBALANCE_IN_PROGRESS, KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID}
)
"""A commit during a rebalance: not an error; `bus.assigned` or `bus.lost` reports the rebalance."""
TOLD_S: Final = 5.0
"""How long reading pauses before that is worth a line."""
TOLD_AGAIN_S: Final = 60.0
"""How long it goes on pausing before that is worth another one."""
FETCHED_KIB: Final = 16_384
"""Size of the library's prefetch: with the batches, the maximum memory of a reader."""
_WAIT_S: Final = 0.25
_WAIT_BUSY_S: Final = 0.02
_STOP_S: Final = 30.0
_log = observe.logger("bus")


class _Lag(msgspec.Struct):
    consumer_lag: int = -1


class _Topic(msgspec.Struct):
    partitions: dict[str, _Lag]


class _Statistics(msgspec.Struct):
    """Of the library's figures the ones that we show."""

    topics: dict[str, _Topic]


class KafkaReader:
    """Implements `ports.bus.BusReader`. Make it on the event loop; it reads from then on. Close it at the end."""

    def __init__(self, settings: Bus, *, topics: Sequence[str], group: str) -> None:
        self._topics, self._limit = list(topics), settings.batch
        self._troubles = options.Troubles("reader")
        self._options: dict[str, Any] = {
            **options.connection(settings),
            "group.id": group,
            # The library would commit messages that were read; only stored ones may be committed.
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "max.poll.interval.ms": STUCK_MS,
            "queued.max.messages.kbytes": FETCHED_KIB,
            "statistics.interval.ms": STATISTICS_MS,
            "stats_cb": self._on_statistics,
            "error_cb": self._troubles.note,
            "on_commit": self._on_commit,
        }
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()
        self._lock = threading.Condition()
        """Guards all attributes below; notified when a batch was taken or is done, and at the end."""
        self._holdings = Holdings()
        self._doing: Callable[[], str] = str
        self._skips: dict[BusPartition, int] = {}
        """Offsets to continue from, until the thread has passed them to the library."""
        self._ahead: BusBatch | None = None
        self._due: dict[BusPartition, int] = {}
        """Offsets to commit."""
        self._stopping = False
        self._left: list[Message] = []
        """Read while pausing; of the thread alone."""
        self._paused_s: float | None = None
        self._told_s: float | None = None
        """When it was last said that reading pauses."""
        self._group = group
        self._thread = threading.Thread(target=self._run, name="bus-reader", daemon=True)
        self._thread.start()

    async def read(self, most: int | None = None) -> BusBatch:
        while True:
            with self._lock:
                self._arrived.clear()
                if self._ahead is not None:
                    batch, self._ahead = self._holdings.next(self._ahead, most or self._limit)
                    if self._ahead is None:
                        self._lock.notify_all()
                    if batch.messages:
                        return batch
                    continue
            await self._arrived.wait()

    def kept(self, batch: BusBatch) -> BusBatch:
        with self._lock:
            return self._holdings.kept(batch)

    def done(self, batch: BusBatch) -> None:
        with self._lock:
            self._due |= self._holdings.done(batch)
            self._lock.notify_all()

    def skip(self, offsets: Mapping[BusPartition, int]) -> None:
        with self._lock:
            ours = self._holdings.skip(offsets)
            self._due |= ours
            self._skips |= ours

    def explain(self, doing: Callable[[], str]) -> None:
        self._doing = doing

    async def close(self) -> None:
        """Leave the group; other members read unfinished messages again."""
        with self._lock:
            self._stopping = True
            self._lock.notify_all()
        await asyncio.to_thread(self._thread.join, _STOP_S)

    def _run(self) -> None:
        """The thread: a member of the group, and another one whenever the library gives up."""
        while not self._stopping:
            try:
                self._be_member()
            except KafkaException as error:
                _log.warning("bus.renewed", side="reader", code=error.args[0].name())
            except Exception:  # noqa: BLE001  a bug costs this member, never the reading
                _log.exception("bus.failed", side="reader")
            with self._lock:
                self._lock.wait_for(lambda: self._stopping, 0 if self._stopping else 1.0)

    def _be_member(self) -> None:
        self._troubles.fatal, self._left, self._paused_s = False, [], None
        consumer = Consumer(self._options)
        try:
            consumer.subscribe(
                self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
            )
            while not self._stopping and not self._troubles.fatal:
                self._turn(consumer)
            if self._troubles.fatal:
                _log.warning("bus.renewed", side="reader", code="_FATAL")
        finally:
            self._commit(consumer)
            consumer.close()
            with self._lock:
                self._holdings.lose_all()
                self._due.clear()
                self._skips.clear()

    def _turn(self, consumer: Consumer) -> None:
        """One round: read a batch ahead, or, when the one before is not taken, just remain in the group."""
        with self._lock:
            patience = PATIENCE_S if self._paused_s is None else 0
            room = self._lock.wait_for(lambda: self._ahead is None or self._stopping, patience)
        self._commit(consumer)
        self._seek(consumer)
        if not room:
            self._remain(consumer)
            return
        if self._paused_s is not None:
            self._resume(consumer)
        batch = self._fetched(consumer)
        if batch is not None:
            self._troubles.over()
            with self._lock:
                self._ahead = batch
            self._call(self._arrived.set)

    def _commit(self, consumer: Consumer) -> None:
        """Have written down how far batches are stored; of partitions that are ours."""
        with self._lock:
            due, self._due = self._due, {}
        if due:
            offsets = [TopicPartition(topic, partition, offset) for (topic, partition), offset in due.items()]
            try:
                consumer.commit(offsets=offsets, asynchronous=True)
            except KafkaException as error:
                self._on_commit(error.args[0], offsets)

    def _seek(self, consumer: Consumer) -> None:
        """Skip stored messages. Batches leave out those that were fetched already."""
        with self._lock:
            skips, self._skips = self._skips, {}
        for (topic, partition), offset in skips.items():
            place = TopicPartition(topic, partition, offset)
            with contextlib.suppress(KafkaException):  # it went meanwhile
                if consumer.position([place])[0].offset < offset:
                    consumer.seek(place)

    def _wait_s(self) -> float:
        """How long to wait for messages: not long while a batch is under way, since its offsets are due soon."""
        with self._lock:
            return _WAIT_S if self._holdings.idle else _WAIT_BUSY_S

    def _remain(self, consumer: Consumer) -> None:
        """Stay in the group without reading on."""
        now = time.monotonic()
        if self._paused_s is None:
            self._paused_s = now
        self._tell_pause(now, now - self._paused_s)
        consumer.pause(consumer.assignment())
        # Polling keeps the membership; a message that was on its way already comes all the same.
        message = consumer.poll(_WAIT_S)
        if message is not None:
            self._left.append(message)

    def _tell_pause(self, now: float, paused_s: float) -> None:
        if paused_s < TOLD_S or (self._told_s is not None and now - self._told_s < TOLD_AGAIN_S):
            return
        self._told_s = now
        with self._lock:
            held = {"messages": self._holdings.under_way, "partitions": len(self._holdings.partitions)}
            ahead = len(self._ahead.messages) if self._ahead is not None else 0
        _log.warning(
            "bus.paused", group=self._group, reason=self._doing(), **held, ahead=ahead, paused_s=round(paused_s, 1)
        )

    def _resume(self, consumer: Consumer) -> None:
        paused_s, self._paused_s = time.monotonic() - (self._paused_s or 0), None
        if self._told_s is not None:
            self._told_s = None
            _log.info("bus.resumed", group=self._group, paused_s=round(paused_s, 1))
        consumer.resume(consumer.assignment())

    def _fetched(self, consumer: Consumer) -> BusBatch | None:
        """A batch of the available messages, or None after a moment without any."""
        messages, self._left = self._left, []
        if not messages:
            first = consumer.poll(self._wait_s())
            if first is None:
                return None
            messages.append(first)
        if len(messages) < self._limit:
            messages += consumer.consume(self._limit - len(messages), 0)
        read = []
        for message in messages:
            error = message.error()
            if error is None:
                read.append(_read(message))
            else:
                self._troubles.note(error)
        with self._lock:
            batch = self._holdings.batch(read)
        for topic, number in Counter(message.topic for message in batch.messages).items():
            metrics.BUS_READ.labels(topic).inc(number)
        return batch if batch.messages else None

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._troubles.over()
        with self._lock:
            self._holdings.gain(_ours(partitions))
            if partitions:
                _log.info("bus.assigned", group=self._group, partitions=len(self._holdings.partitions))

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Let go once nothing of these partitions is under way, or patience ends."""
        lost = _ours(partitions)
        with self._lock:
            self._holdings.leave(lost)
            self._lock.wait_for(lambda: self._stopping or not self._holdings.busy(lost), GIVE_UP_S)
        self._commit(consumer)
        self._let_go(consumer, partitions)
        with self._lock:
            left = len(self._holdings.partitions)
        if lost and not self._stopping:
            _log.info("bus.revoked", group=self._group, partitions=left)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._let_go(consumer, partitions)
        _log.warning("bus.lost", group=self._group, partitions=len(partitions))

    def _let_go(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.resume(partitions)  # the library would keep them paused when they come back
        lost = _ours(partitions)
        with self._lock:
            self._holdings.lose(lost)
            self._due = {partition: offset for partition, offset in self._due.items() if partition not in lost}
            self._skips = {partition: offset for partition, offset in self._skips.items() if partition not in lost}
            self._left = [message for message in self._left if (message.topic(), message.partition()) not in lost]

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        failed = error or next((each.error for each in partitions if each.error), None)
        if failed is None:
            self._troubles.over()
        elif failed.code() != KafkaError._NO_OFFSET:
            if failed.code() not in _SHARED_ANEW:
                self._troubles.note(failed)
            with self._lock:
                self._due = self._holdings.stored | self._due

    def _on_statistics(self, text: str) -> None:
        with self._lock:
            ours = set(self._holdings.partitions)
        for name, topic in msgspec.json.decode(text, type=_Statistics).topics.items():
            lags = [
                partition.consumer_lag for number, partition in topic.partitions.items() if (name, int(number)) in ours
            ]
            metrics.BUS_LAG.labels(name).set(sum(lag for lag in lags if lag > 0))

    def _call(self, what: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(what)


def _read(message: Message) -> BusMessage:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    at_ms = max(message.timestamp()[1], 0)
    return BusMessage(topic, partition, offset, message.key(), message.value() or b"", at_ms)


def _ours(partitions: list[TopicPartition]) -> list[BusPartition]:
    return [BusPartition(each.topic, each.partition) for each in partitions]
