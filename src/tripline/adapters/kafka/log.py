"""The state of a topic, as its brokers report it: `ports.bus.BusLog`."""

import asyncio
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from tripline.adapters.kafka import options
from tripline.config import Bus
from tripline.ports.outages import Outage

T = TypeVar("T")
_WAIT_S: Final = 4.0
"""The library asks one broker and waits for it: one that has just died costs this much, and the next try another one.
"""


class KafkaLog:
    """Implements `ports.bus.BusLog` for one topic."""

    def __init__(self, settings: Bus, *, topic: str) -> None:
        self._topic = topic
        self._admin = AdminClient(options.connection(settings))
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
