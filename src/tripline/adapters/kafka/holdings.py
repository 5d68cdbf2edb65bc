"""Tracks the partitions of a group member, the batches that it has read, and how far they are stored.

Values only: no network, no thread, no clock. The member (`reader.py`) guards it with a lock.
"""

import itertools
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tripline.ports.bus import BusBatch, BusMark, BusMessage, BusPartition


class _Open(msgspec.Struct):
    """A batch that was read and may not be stored yet."""

    number: int
    marks: dict[BusPartition, BusMark]
    size: int
    done: bool = False


class Given(NamedTuple):
    """Messages that were read ahead, in two."""

    batch: BusBatch
    """Under way from now on."""
    rest: BusBatch | None


class Holdings:
    """The partitions and open batches of a group member. A partition that leaves and returns counts as a new one."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._since: dict[BusPartition, int] = {}
        self._open: deque[_Open] = deque()
        self._came: set[BusPartition] = set()
        """Partitions that no batch has been given of since they were assigned."""
        self._leaving: set[BusPartition] = set()
        """Partitions that leave as soon as none of their messages is under way."""
        self._skipped: dict[BusPartition, int] = {}
        """The first offset to give, of partitions whose earlier messages are skipped."""
        self.stored: dict[BusPartition, int] = {}
        """The next offset of each partition, counting only batches that are stored."""

    @property
    def partitions(self) -> Collection[BusPartition]:
        return self._since.keys()

    @property
    def idle(self) -> bool:
        return not self._open

    def gain(self, partitions: Iterable[BusPartition]) -> None:
        since = next(self._numbers)
        came = dict.fromkeys(partitions, since)
        self._since.update(came)
        self._came |= came.keys()

    def leave(self, partitions: Iterable[BusPartition]) -> None:
        """Give no further messages of partitions that are about to leave."""
        self._leaving.update(partitions)

    def skip(self, offsets: Mapping[BusPartition, int]) -> dict[BusPartition, int]:
        """Give nothing before these offsets, which is stored already. Returns the offsets of partitions that it has."""
        ours = {partition: offset for partition, offset in offsets.items() if partition in self._since}
        self._skipped |= ours
        self.stored |= ours
        return ours

    def lose(self, partitions: Iterable[BusPartition]) -> None:
        """Drop partitions that left: none of their messages counts as stored from now on."""
        for partition in partitions:
            self._since.pop(partition, None)
            self.stored.pop(partition, None)
            self._came.discard(partition)
            self._leaving.discard(partition)
            self._skipped.pop(partition, None)

    def lose_all(self) -> None:
        """Drop every partition and everything that was read."""
        self._since.clear()
        self.stored.clear()
        self._open.clear()
        self._came.clear()
        self._leaving.clear()
        self._skipped.clear()

    def batch(self, messages: list[BusMessage]) -> BusBatch:
        """A batch of these messages, without those from partitions that the member does not hold."""
        marks: dict[BusPartition, BusMark] = {}
        for message in messages:
            partition = message.of
            since = self._since.get(partition)
            if since is not None:
                marks[partition] = BusMark(since, message.offset + 1)
        if len(marks) < len({message.of for message in messages}):
            messages = [message for message in messages if message.of in marks]
        return BusBatch(messages, next(self._numbers), marks)

    def kept(self, batch: BusBatch) -> BusBatch:
        """The batch without messages of partitions that left since it was made."""
        marks = {partition: mark for partition, mark in batch.marks.items() if self._since.get(partition) == mark.since}
        if len(marks) == len(batch.marks):
            return batch
        return _without(batch, batch.marks.keys() - marks.keys())

    def next(self, ahead: BusBatch, most: int) -> Given:
        """At most so many of the first messages, and the rest.

        Neither holds messages of partitions that left or are about to leave, or messages that are skipped.
        """
        ahead = self.kept(ahead)
        if not self._leaving.isdisjoint(ahead.marks):
            ahead = _without(ahead, self._leaving)
        if not self._skipped.keys().isdisjoint(ahead.marks):
            skipped = self._skipped
            ahead = self._cut(ahead, [each for each in ahead.messages if each.offset >= skipped.get(each.of, 0)])
        rest = None
        if len(ahead.messages) > most:
            ahead, rest = self._cut(ahead, ahead.messages[:most]), self._cut(ahead, ahead.messages[most:])
        if ahead.messages:
            ahead = replace(ahead, came=not self._came.isdisjoint(ahead.marks))
            self._came -= ahead.marks.keys()
            self._open.append(_Open(ahead.number, dict(ahead.marks), len(ahead.messages)))
        return Given(ahead, rest)

    def _cut(self, whole: BusBatch, messages: Sequence[BusMessage]) -> BusBatch:
        """These messages of the batch as a batch of their own."""
        marks = {message.of: whole.marks[message.of]._replace(behind=message.offset + 1) for message in messages}
        return BusBatch(messages, next(self._numbers), marks)

    @property
    def under_way(self) -> int:
        return sum(batch.size for batch in self._open if not batch.done)

    def busy(self, partitions: Iterable[BusPartition]) -> bool:
        """True if any of these partitions has messages in progress."""
        asked = set(partitions)
        return any(not batch.done and not asked.isdisjoint(batch.marks) for batch in self._open)

    def done(self, batch: BusBatch) -> dict[BusPartition, int]:
        """Mark the batch as stored. Returns the next offsets of partitions whose earlier batches are stored too."""
        for opened in self._open:
            if opened.number == batch.number:
                opened.done = True
        moved: dict[BusPartition, int] = {}
        while self._open and self._open[0].done:
            for partition, (since, behind) in self._open.popleft().marks.items():
                if self._since.get(partition) == since:
                    moved[partition] = max(behind, self._skipped.get(partition, 0))
        self.stored |= moved
        return moved


def _without(batch: BusBatch, partitions: Collection[BusPartition]) -> BusBatch:
    left = [message for message in batch.messages if message.of not in partitions]
    return replace(
        batch,
        messages=left,
        marks={partition: mark for partition, mark in batch.marks.items() if partition not in partitions},
    )
