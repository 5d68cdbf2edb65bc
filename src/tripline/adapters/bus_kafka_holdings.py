"""Which partitions a member of a consumer group has, which batches it has read, and how far they are stored.

Values only: no network, no thread, no clock. The member (`bus_kafka_reader.py`) guards it with a lock.
"""

import itertools
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from tripline.ports import BusBatch, BusMessage, BusPart


@dataclass(slots=True)
class _Open:
    """A batch that was read and perhaps not stored."""

    number: int
    marks: dict[BusPart, tuple[int, int]]
    done: bool = False


class Holdings:
    """What a member has. A partition that goes and comes back counts as another one."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._since: dict[BusPart, int] = {}
        self._open: deque[_Open] = deque()
        self.stored: dict[BusPart, int] = {}
        """Where each partition goes on, as far as batches of this member are done."""

    @property
    def parts(self) -> Collection[BusPart]:
        """The partitions it has."""
        return self._since.keys()

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._open

    def gain(self, parts: Iterable[BusPart]) -> None:
        """Partitions came."""
        since = next(self._numbers)
        self._since.update(dict.fromkeys(parts, since))

    def lose(self, parts: Iterable[BusPart]) -> None:
        """Partitions went; nothing of them is stored from now on."""
        for part in parts:
            self._since.pop(part, None)
            self.stored.pop(part, None)

    def lose_all(self) -> None:
        """Every partition went, and whatever was read is forgotten."""
        self._since.clear()
        self.stored.clear()
        self._open.clear()

    def batch(self, messages: list[BusMessage]) -> BusBatch:
        """These messages, without those of partitions that it has not."""
        marks = {}
        for message in messages:
            part = (message.topic, message.partition)
            since = self._since.get(part)
            if since is not None:
                marks[part] = (since, message.offset + 1)
        if len(marks) < len({(message.topic, message.partition) for message in messages}):
            messages = [message for message in messages if (message.topic, message.partition) in marks]
        return BusBatch(messages, next(self._numbers), marks)

    def kept(self, batch: BusBatch) -> BusBatch:
        """The batch without what has gone since it was made."""
        marks = {part: mark for part, mark in batch.marks.items() if self._since.get(part) == mark[0]}
        if len(marks) == len(batch.marks):
            return batch
        left = [message for message in batch.messages if (message.topic, message.partition) in marks]
        return replace(batch, messages=left, marks=marks)

    def give(self, batch: BusBatch) -> None:
        """The batch is under way from now on."""
        self._open.append(_Open(batch.number, dict(batch.marks)))

    def busy(self, parts: Iterable[BusPart]) -> bool:
        """Whether something of these partitions is under way."""
        asked = set(parts)
        return any(not batch.done and not asked.isdisjoint(batch.marks) for batch in self._open)

    def done(self, batch: BusBatch) -> dict[BusPart, int]:
        """Where partitions go on now that the batch is stored: behind it, once all that were read before it are."""
        for opened in self._open:
            if opened.number == batch.number:
                opened.done = True
        moved: dict[BusPart, int] = {}
        while self._open and self._open[0].done:
            for part, (since, behind) in self._open.popleft().marks.items():
                if self._since.get(part) == since:
                    moved[part] = behind
        self.stored |= moved
        return moved
