"""Writing to Kafka: `ports.bus.BusWriter` with an idempotent producer that waits for all in-sync replicas.

The library sends and retries in threads of its own; one thread here collects delivery reports and passes them to the
event loop in batches, so a message needs no task and no future (`docs/decisions/261`).
"""

import asyncio
import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tripline import metrics, observe
from tripline.adapters.kafka import options
from tripline.config import Bus
from tripline.ports.bus import BusMessageRefusedError, BusNote, Receipts
from tripline.ports.outages import Outage

LINGER_MS: Final = 5
"""How long messages wait for company, as frames do for a commit of the store."""
QUEUED_KIB: Final = 65_536
"""Bytes that wait to be written; more are refused."""
MESSAGE_BYTES: Final = 2**23
"""Longest message we try to send; brokers have a limit of their own, 1 MiB by default."""
CROWDED: Final = 0.8
_REFUSED: Final = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD, KafkaError.INVALID_MSG})
REACH_S: Final = 5.0
_FOR_EVER: Final = 0
_WAIT_S: Final = 0.25
_GATHER_S: Final = 0.002
"""Interval of collecting delivery reports: each collection wakes the loop."""
_log = observe.logger("bus")

_Outcome: TypeAlias = tuple[Receipts, Any, KafkaError | None]


class KafkaWriter:
    """Implements `ports.bus.BusWriter`. Make it on the event loop; close it at the end."""

    def __init__(self, settings: Bus, *, patient: bool = False) -> None:
        """A patient one tries for ever: a message is not dropped while others of its key are behind it."""
        self._troubles = options.Troubles("writer")
        self._timeout_s = settings.timeout_s
        self._crowded_at = max(1, int(settings.queue * CROWDED))
        self._options: dict[str, Any] = {
            **options.connection(settings),
            "enable.idempotence": True,
            "acks": "all",
            "compression.type": "lz4",
            "linger.ms": LINGER_MS,
            "partitioner": "murmur2_random",
            "queue.buffering.max.messages": settings.queue,
            "queue.buffering.max.kbytes": QUEUED_KIB,
            "message.max.bytes": MESSAGE_BYTES,
            "message.timeout.ms": _FOR_EVER if patient else int(settings.timeout_s * 1000),
            "request.timeout.ms": int(settings.timeout_s * 1000),
            "error_cb": self._troubles.note,
        }
        self._loop = asyncio.get_running_loop()
        self._outcomes: list[_Outcome] = []
        """Of the thread alone."""
        self._stopping = threading.Event()
        self._producer = Producer(self._options)
        self._thread = threading.Thread(target=self._run, name="bus-writer", daemon=True)
        self._thread.start()

    @property
    def crowded(self) -> bool:
        return len(self._producer) >= self._crowded_at

    def send(self, note: BusNote, told: Receipts, ticket: Any) -> None:
        """Queue a message; `told` receives the outcome. Raises `Outage`, or `BusMessageRefusedError` if it is
        too long."""
        try:
            self._producer.produce(note.topic, note.value, note.key, on_delivery=partial(self._settled, told, ticket))
        except BufferError as error:
            raise Outage("The bus accepts messages more slowly than they arrive, and the queue is full.") from error
        except KafkaException as error:
            raise _trouble(error.args[0]) from error

    async def deliver(self, notes: Sequence[BusNote]) -> None:
        if not notes:
            return
        waiting = _Waiting(len(notes), self._loop)
        for note in notes:
            self.send(note, waiting, note)
        async with asyncio.timeout(self._timeout_s + 5):
            error = await waiting.all
        if error is not None:
            raise _trouble(error)

    async def reach(self, topic: str) -> None:
        producer = self._producer
        try:
            await asyncio.to_thread(producer.list_topics, topic, REACH_S)
        except KafkaException as error:
            raise Outage(f"The bus does not answer: {error.args[0].name()}.") from error

    async def close(self) -> None:
        """Write the queue, within the timeout of a message; the rest counts as failed."""
        self._stopping.set()
        await asyncio.to_thread(self._thread.join, self._timeout_s + 5)

    def _run(self) -> None:
        """The thread: collect delivery reports."""
        while not self._stopping.is_set():
            if self._producer.poll(_WAIT_S):
                self._tell()
                time.sleep(_GATHER_S)
            if self._troubles.fatal:
                self._renew()
        self._producer.flush(self._timeout_s)
        self._give_up(self._producer)

    def _renew(self) -> None:
        """Replace a producer that gave up; its waiting messages count as failed."""
        before, self._producer = self._producer, Producer(self._options)
        self._troubles.fatal = False
        _log.warning("bus.renewed", side="writer", code="_FATAL")
        self._give_up(before)

    def _give_up(self, producer: Producer) -> None:
        producer.purge()
        producer.flush(1)
        self._tell()

    def _settled(self, told: Receipts, ticket: Any, error: KafkaError | None, _: Message) -> None:
        self._outcomes.append((told, ticket, error))

    def _tell(self) -> None:
        if not self._outcomes:
            return
        outcomes, self._outcomes = self._outcomes, []
        last = outcomes[-1][2]
        if last is None:
            self._troubles.over()
        else:
            self._troubles.note(last)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._tell_loop, outcomes)

    def _tell_loop(self, outcomes: list[_Outcome]) -> None:
        """Call each receiver once with its successes and once with its failures."""
        well: defaultdict[Receipts, list[Any]] = defaultdict(list)
        badly: defaultdict[Receipts, list[Any]] = defaultdict(list)
        for told, ticket, error in outcomes:
            if error is None:
                well[told].append(ticket)
            else:
                if isinstance(told, _Waiting):
                    told.error = error
                badly[told].append(ticket)
        metrics.BUS_WRITTEN.labels("delivered").inc(sum(map(len, well.values())))
        metrics.BUS_WRITTEN.labels("failed").inc(sum(map(len, badly.values())))
        for told, tickets in badly.items():
            told.failed(tickets)
        for told, tickets in well.items():
            told.delivered(tickets)


class _Waiting:
    def __init__(self, number: int, loop: asyncio.AbstractEventLoop) -> None:
        self.all: asyncio.Future[KafkaError | None] = loop.create_future()
        self.error: KafkaError | None = None
        self._missing = number

    def delivered(self, tickets: list[Any]) -> None:
        self._missing -= len(tickets)
        if self._missing == 0:
            self._end(None)

    def failed(self, _: list[Any]) -> None:
        """One is enough."""
        self._end(self.error)

    def _end(self, error: KafkaError | None) -> None:
        if not self.all.done():
            self.all.set_result(error)


def _trouble(error: KafkaError) -> Exception:
    if error.code() in _REFUSED:
        return BusMessageRefusedError(f"The brokers do not take the message: {error.name()}.")
    return Outage(f"The bus did not accept a message in time: {error.name()}.")
