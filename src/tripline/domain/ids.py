"""Identifiers: their types, their form, and how new ones are made.

Every id is a version 1 (time-based) UUID as canonical lower-case text, the form in which it is stored, compared and
sent (spec/rest 4). Rows that arrive by the thousand are keyed by the same instant as a number:
the UUID's 60-bit count of 100 ns ticks since 1582-10-15, which sorts by creation time and fits a signed 64-bit column.

Not here: the `{"id": ...}` object that REST wraps around an id (`wire/rest/base.py`).
"""

import re
import threading
from collections.abc import Sequence
from typing import Final, NewType

CompanyId = NewType("CompanyId", str)
UserId = NewType("UserId", str)
VehicleId = NewType("VehicleId", str)
SensorId = NewType("SensorId", str)
TripId = NewType("TripId", str)
RequestId = NewType("RequestId", str)
"""Request-ID of a call to a device: a version 1 UUID, 36 characters (spec/rpc 1)."""
RecordId = NewType("RecordId", str)
"""Id of a microtrip, GPS event, device event or delegation."""

RowNo = NewType("RowNo", int)
"""Time-ordered number of a row: 100 ns ticks since 1582-10-15."""

PLACEHOLDER: Final = "13814000-1dd2-11b2-8080-808080808080"
"""The version 1 UUID of epoch time 0: replaces null in an unset Id."""

_EPOCH_TICKS: Final = 0x01B21DD213814000
_TICKS_PER_MS: Final = 10_000
SLOTS: Final = 256
"""Programs that can number rows of one shared store at a time: 39 numbers a millisecond for each."""
_FORM: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)


def canonical(text: str) -> str | None:
    """The id in canonical lower-case form, or None when the text is not a UUID."""
    lowered = text.lower()
    return lowered if _FORM.fullmatch(lowered) else None


def first_no(at_ms: int) -> RowNo:
    """The smallest row number of the millisecond."""
    return RowNo(at_ms * _TICKS_PER_MS + _EPOCH_TICKS)


def ms_of_no(no: int) -> int:
    """The creation instant (epoch ms) inside a row number."""
    return (no - _EPOCH_TICKS) // _TICKS_PER_MS


def no_of(record_id: str) -> RowNo:
    """The row number inside a canonical version 1 UUID."""
    return RowNo(int(record_id[15:18] + record_id[9:13] + record_id[:8], 16))


def created_ms(record_id: str) -> int:
    """The creation instant (epoch ms) inside a canonical version 1 UUID."""
    return ms_of_no(no_of(record_id))


class TimeIds:
    """Makes ids: unique, ascending, each carrying the millisecond it was made for.

    `node` is the 48-bit node field; `clock_sequence` has 14 bits. Two makers with different nodes never make the same
    id. When more than 10,000 ids are asked for one millisecond the surplus runs ahead into the next.

    With a `slot` (0 to 255) every number leaves that remainder when divided by 256: makers in different slots never
    make the same number, so never the same id either, although they share node and clock sequence; there are 39
    numbers a millisecond then. Safe to call from any thread.
    """

    def __init__(self, *, node: int, clock_sequence: int = 0, slot: int | None = None) -> None:
        # RFC 9562 5.1: the multicast bit marks a node that is random and not a hardware address.
        self._suffix = f"{0x8000 | clock_sequence & 0x3FFF:04x}-{node & 0xFFFFFFFFFFFF | 1 << 40:012x}"
        self._last = self._last_behind = 0
        self._slot, self._stride = 0, 1
        self._lock = threading.Lock()
        if slot is not None:
            self.reslot(slot)

    def reslot(self, slot: int) -> None:
        """Make every further number in this slot: the program lost its previous one."""
        if not 0 <= slot < SLOTS:
            raise ValueError(f"A slot is 0 to {SLOTS - 1}, not {slot}.")
        with self._lock:
            self._slot, self._stride = slot, SLOTS

    def take(self, count: int, *, now_ms: int) -> RowNo:
        """The first of `count` row numbers, which lie 1 apart, or 256 in a slot; `numbers` gives all of them."""
        return RowNo(self.numbers(count, now_ms=now_ms).start)

    def numbers(self, count: int, *, now_ms: int) -> range:
        """`count` row numbers, ascending; `text` makes the id of one, `texts` of all."""
        first = now_ms * _TICKS_PER_MS + _EPOCH_TICKS
        with self._lock:
            if first <= self._last:
                first = self._last + 1
            stride = self._stride
            if stride > 1:
                first += (self._slot - first) % stride
            self._last = first + (count - 1) * stride
        return range(first, first + count * stride, stride)

    def behind(self, no: int, count: int = 1) -> range:
        """`count` row numbers greater than `no`, for rows that must follow all existing ones.

        They are not ids, and `take` may make them too: for tables whose rows get all their numbers here. A maker
        without a slot is alone inside a write transaction, where `no` is the greatest number; in a slot several
        transactions may be under way, so each gets greater numbers than the one before.
        """
        with self._lock:
            stride = self._stride
            if stride == 1:
                return range(no + 1, no + 1 + count)
            first = max(no, self._last_behind) + 1
            first += (self._slot - first) % stride
            self._last_behind = first + (count - 1) * stride
            return range(first, first + count * stride, stride)

    def skip_to(self, no: int) -> None:
        """Make no number up to this one: it is taken."""
        with self._lock:
            self._last = max(self._last, no)

    def text(self, no: int) -> str:
        """The id that belongs to a row number of this maker."""
        return f"{no & 0xFFFFFFFF:08x}-{no >> 32 & 0xFFFF:04x}-1{no >> 48:03x}-{self._suffix}"

    def next(self, *, now_ms: int) -> str:
        """One new id."""
        return self.text(self.take(1, now_ms=now_ms))

    def run(self, count: int, *, now_ms: int) -> Sequence[str]:
        """`count` new ids, ascending."""
        return self.texts(self.numbers(count, now_ms=now_ms))

    def texts(self, numbers: range) -> list[str]:
        """The ids of row numbers of this maker; several times faster than `text` for each."""
        first, last = numbers.start, numbers.stop - 1
        if first >> 32 != last >> 32:
            return [self.text(no) for no in numbers]
        tail = self.text(first)[8:]
        base = first >> 32 << 32
        return [f"{no:08x}{tail}" for no in range(first - base, numbers.stop - base, numbers.step)]
