"""Topics: the state of one as its brokers report it (`ports.bus.BusLog`), and our own, made where they are missing: the
devices' buffer and dead letters. Others are their owners'."""

import asyncio
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from tripline.adapters.kafka import options as kafka_options
from tripline.adapters.kafka.writer import MESSAGE_BYTES
from tripline.config import Bus
from tripline.ports.outages import Outage

T = TypeVar("T")
_WAIT_S: Final = 4.0
"""The library asks one broker and waits for it: one that has just died costs this much, and the next try another one.
"""
_ENVELOPE_BYTES: Final = 65_536
"""Maximum overhead of a batch with one message."""
_HOUR_MS: Final = 3_600_000
_AS_THE_BROKERS_SAY: Final = -1


async def make(settings: Bus) -> None:
    """Create the missing topics of these settings; existing ones stay as they are. Raises `Outage`."""
    topics = _topics(settings)
    if topics:
        await asyncio.to_thread(_make, settings, topics)


def _topics(settings: Bus) -> list[NewTopic]:
    replicas = settings.replicas or _AS_THE_BROKERS_SAY
    found = []
    if settings.dead_letters:
        found.append(NewTopic(settings.dead_letters, 1, replicas))
    if settings.buffer_devices:
        kept = {
            "retention.ms": str(int(settings.buffer_hours * _HOUR_MS)),
            "cleanup.policy": "delete",
            "max.message.bytes": str(MESSAGE_BYTES + _ENVELOPE_BYTES),
        }
        found.append(NewTopic(settings.buffer_topic, settings.buffer_partitions, replicas, config=kept))
    return found


def _make(settings: Bus, topics: list[NewTopic]) -> None:
    troubles = kafka_options.Troubles("topics")
    options = {**kafka_options.connection(settings), "error_cb": troubles.note}
    del options["allow.auto.create.topics"]
    try:
        admin = AdminClient(options)
        there = admin.list_topics(timeout=settings.timeout_s).topics
        missing = [topic for topic in topics if topic.topic not in there]
        made = admin.create_topics(missing, request_timeout=settings.timeout_s) if missing else {}
        for name, done in made.items():
            _settled(name, done.exception(settings.timeout_s + 5))
    except (KafkaException, TimeoutError) as error:
        raise Outage("The bus did not answer a request for its topics.") from error


def _settled(name: str, error: BaseException | None) -> None:
    if error is None:
        return
    if not isinstance(error, KafkaException):
        raise error
    why: KafkaError = error.args[0]
    if why.code() != KafkaError.TOPIC_ALREADY_EXISTS:
        raise Outage(f"The topic {name} does not exist and could not be created: {why.name()}.")


class KafkaLog:
    """Implements `ports.bus.BusLog` for one topic."""

    def __init__(self, settings: Bus, *, topic: str) -> None:
        self._topic = topic
        self._admin = AdminClient(kafka_options.connection(settings))
        self._partitions: list[int] = []

    async def identity(self) -> str:
        asked = self._admin.describe_topics(TopicCollection([self._topic]), request_timeout=_WAIT_S)
        described: Any = await _answer(asked[self._topic])
        self._partitions = [partition.id for partition in described.partitions]
        return f"{self._topic}@{described.topic_id}"

    async def ends(self) -> dict[int, int]:
        await self.identity()
        latest = {TopicPartition(self._topic, partition): OffsetSpec.latest() for partition in self._partitions}  # type: ignore[no-untyped-call]
        answers = self._admin.list_offsets(latest, request_timeout=_WAIT_S)
        return {where.partition: (await _answer(answer)).offset for where, answer in answers.items()}


async def _answer(asked: "Future[T]") -> T:
    try:
        async with asyncio.timeout(_WAIT_S + 1):
            return await asyncio.wrap_future(asked)
    except KafkaException as error:
        raise Outage(f"The bus did not report the state of its topic: {error.args[0].name()}.") from error
    except TimeoutError as error:
        raise Outage("The bus did not report the state of its topic.") from error
