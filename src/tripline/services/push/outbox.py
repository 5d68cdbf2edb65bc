"""Reads the outbox for receivers: the next messages, and on a shared store those committed late.

There a row may be committed after rows with greater numbers, which others wrote at the same time. So what was passed a
moment ago is looked at again at each reading; the pusher looks at everything now and then for what came even later.
"""

from typing import Final

import msgspec

from tripline.domain.ids import RowNo, first_no, ms_of_no
from tripline.services.push import addresses
from tripline.services.push.queue import BATCH, Queue
from tripline.store.push import queue as push_queue
from tripline.store.push.queue import Key, Row
from tripline.store.transactions import ReadTx, WriteTx

LATE_MS: Final = 3_000
"""How far back a reading goes: longer than nearly any transaction, and what fits in little memory."""


class Span(msgspec.Struct, frozen=True):
    """What is to be read for a receiver, from which numbers on."""

    key: Key
    after: RowNo
    late_behind: int
    known: list[RowNo]


def span(key: Key, queue: Queue) -> Span:
    """What the queue wants to read now."""
    after = queue.reading()
    late_behind = _before(after)
    return Span(key, after, late_behind, queue.known_behind(late_behind))


class AddressedError(Exception):
    """The receiver has an address by now."""


def park_unaddressed(tx: WriteTx, key: Key, *, before_no: int, error: str, now_ms: int, limit: int) -> int:
    """As `push_queue.park_waiting`, for want of an address. Raises `AddressedError`, looking after what was parked:
    whoever gives the company an address and then has messages sent again must not see these given up once more."""
    count = push_queue.park_waiting(tx, key, before_no=before_no, error=error, now_ms=now_ms, limit=limit)
    company_id, channel = key
    found = push_queue.addresses(tx, company_id)
    if found is not None and addresses.url_of(channel, found) is not None:
        raise AddressedError
    return count


def newcomers(tx: ReadTx, behind: int) -> tuple[int, list[Key]]:
    """The greatest number, and the receivers of what was put there behind a number, or late."""
    return push_queue.newcomers(tx, _before(behind) if tx.shared else behind)


def rows(tx: ReadTx, of: Span) -> tuple[list[Row], list[Row]]:
    """The next rows, and those that came late."""
    late: list[Row] = []
    if tx.shared and of.after:
        late = push_queue.late(tx, of.key, behind=of.late_behind, up_to=of.after, known=of.known, limit=BATCH)
    return push_queue.rows(tx, of.key, after=of.after, limit=BATCH), late


def _before(no: int) -> int:
    """The number of a moment earlier."""
    return max(0, first_no(ms_of_no(no) - LATE_MS))
