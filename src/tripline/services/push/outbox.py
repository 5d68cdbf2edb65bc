"""Read the outbox for receivers: the next messages, and on a shared store also rows that were committed late.

There a row may be committed after rows with greater numbers, which other processes wrote at the same time. So each read
covers the last moment again; the pusher occasionally scans everything for even later rows.
"""

from typing import Final

from tripline.domain.ids import RowNo, first_no, ms_of_no
from tripline.services.push import http_requests
from tripline.services.push.queue import BATCH, Queue
from tripline.store.push import queue as push_queue
from tripline.store.push.queue import Key, Row
from tripline.store.transactions import ReadTx, WriteTx

LATE_MS: Final = 3_000
"""How far back a read goes: longer than nearly any transaction, and small enough for memory."""


def span(queue: Queue) -> tuple[RowNo, list[RowNo]]:
    """Begin a read for the queue; return after which row it reads, and the known ones among rows that may be late."""
    after = queue.reading()
    return after, queue.known_behind(_before(after))


class AddressedError(Exception):
    """The receiver has an address now."""


def park_unaddressed(tx: WriteTx, key: Key, *, before_no: int, error: str, now_ms: int, limit: int) -> int:
    """Like `push_queue.park_waiting`, for receivers without an address. Raises `AddressedError` if the company has one
    after all: messages that were resent after adding the address must not be parked again."""
    count = push_queue.park_waiting(tx, key, before_no=before_no, error=error, now_ms=now_ms, limit=limit)
    company_id, channel = key
    found = push_queue.addresses(tx, company_id)
    if found is not None and http_requests.url_of(channel, found) is not None:
        raise AddressedError
    return count


def newcomers(tx: ReadTx, behind: int) -> tuple[int, list[Key]]:
    """The greatest number, and the receivers of messages added after a number, or late."""
    return push_queue.newcomers(tx, _before(behind) if tx.shared else behind)


def rows(tx: ReadTx, key: Key, after: RowNo, known: list[RowNo]) -> tuple[list[Row], list[Row]]:
    """The next rows of the `span`, and the late ones."""
    late: list[Row] = []
    if tx.shared and after:
        late = push_queue.late(tx, key, behind=_before(after), up_to=after, known=known, limit=BATCH)
    return push_queue.rows(tx, key, after=after, limit=BATCH), late


def _before(no: int) -> int:
    """The number `LATE_MS` earlier."""
    return max(0, first_no(ms_of_no(no) - LATE_MS))
