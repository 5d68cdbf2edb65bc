"""Find recently delivered messages by key, so that detecting a redelivery takes one query.

An entry is (instant, mark, row number). Live messages of all sensors have instants close together, so a batch appends
to a few pages, and a query takes equally long for a trip of a month and of an hour. An entry stays until its row is
erased.

Not here: instant and mark (`domain/deliveries.py`), the caller (`services/ingest/redeliveries.py`).
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

import msgspec
from sqlalchemy import Table, text

from tripline.domain import ids
from tripline.domain.access import Reach, Scope
from tripline.domain.deliveries import CLOCKS_APART_MS
from tripline.domain.ids import RowNo, SensorId
from tripline.store.bulk import Bulk
from tripline.store.tables import delivery, device_event, microtrip
from tripline.store.transactions import Hot, ReadTx, Store

ENTRIES: Final = Bulk(delivery, "instant", "mark", "no")
_SIZES: Final = (256, 64, 16, 4, 1)
"""Keys in one statement of SQLite."""
_MOST: Final = 16
"""Most entries of one key that we compare. A device can have at most three of its own."""


class Content(NamedTuple):
    """The fields that are equal in all deliveries of one message."""

    sensor_id: SensorId
    ty: int | None
    """Number of an event; None: a microtrip."""
    ts: int | None
    payload: bytes


class Sent(msgspec.Struct, gc=False):
    """A message that may have been delivered before, and its entry for finding the earlier delivery."""

    place: int
    """In its batch."""
    sensor_id: SensorId
    instant: int
    mark: int
    ty: int | None
    """Number of an event; None: a microtrip."""
    ts: int | None
    payload: bytes
    made_ms: int | None
    """Its own time; None: unknown."""

    @property
    def content(self) -> Content:
        """The fields shared by redeliveries."""
        return Content(self.sensor_id, self.ty, self.ts, self.payload)


class _Looked(NamedTuple):
    """A message whose key an entry has, and the row that the entry names."""

    message: Sent
    stored: Content


class Noted(NamedTuple):
    """A message whose key an entry has."""

    message: Sent
    no: RowNo
    """The row that the entry names."""


class StoredEntries(NamedTuple):
    """Places of the messages whose entry was stored since an instant."""

    equal: set[int]
    """By an equal message."""
    other: set[int]
    """By another one."""

    def add(self, message: Sent, stored: Content) -> None:
        """Put in the message by the row that its entry names."""
        (self.equal if stored == message.content else self.other).add(message.place)


def stored(tx: ReadTx, scope: Scope, sent: Sequence[Sent], *, since_ms: int, found: StoredEntries) -> None:
    """Note which of the messages were stored in this database file since the instant (O3)."""
    assert Reach.ANY in scope.reaches, "the pipeline works on every sensor"
    for table in (microtrip, device_event):
        of_table = [each for each in sent if _table(each) is table]
        for looked in _looked_up(tx, table, of_table, ids.first_no(since_ms)):
            found.add(looked.message, looked.stored)


async def noted(store: Store, scope: Scope, sent: Sequence[Sent], *, since_ms: int, now_ms: int) -> list[Noted]:
    """The messages that have the key of an entry made in a shared database since the instant. Old data that comes for
    the first time has none, and costs no hop to a thread. Raises `Outage`.
    """
    assert Reach.ANY in scope.reaches, "the pipeline works on every sensor"
    if not sent:
        return []
    keys = (_array(each.instant for each in sent), _array(each.mark for each in sent))
    found = await store.ask(_ENTRIES, *keys, *_bounds(since_ms, now_ms))
    return [Noted(sent[number - 1], no) for number, no in found]


def compared(
    tx: ReadTx, scope: Scope, entries: Sequence[Noted], *, since_ms: int, now_ms: int, found: StoredEntries
) -> None:
    """Note which of these messages of `noted` are equal to the row of their entry."""
    assert Reach.ANY in scope.reaches, "the pipeline works on every sensor"
    for table in (microtrip, device_event):
        of_table = [each for each in entries if _table(each.message) is table]
        if of_table:
            wanted = _array(each.no for each in of_table)
            rows = {no: Content(*row) for no, *row in tx.hot(_of_all(table), wanted, *_bounds(since_ms, now_ms))}
            for message, no in of_table:
                if no in rows:
                    found.add(message, rows[no])


def _looked_up(tx: ReadTx, table: Table, sent: Sequence[Sent], since_no: RowNo) -> Iterator[_Looked]:
    """The messages with the key of an entry."""
    start = 0
    for size in _SIZES:
        while len(sent) - start >= size:
            keys = [key for each in sent[start : start + size] for key in (each.instant, each.mark)]
            for number, *row in tx.hot(_of_some(table, size), *keys, since_no):
                yield _Looked(sent[start + number], Content(*row))
            start += size


def _table(message: Sent) -> Table:
    """Where an equal one is stored."""
    return microtrip if message.ty is None else device_event


def _bounds(since_ms: int, now_ms: int) -> tuple[RowNo, RowNo]:
    """Row numbers between which an entry counts: they leave one week's partition or two to look at."""
    return ids.first_no(since_ms), ids.first_no(now_ms + CLOCKS_APART_MS)


def _array(numbers: Iterable[int]) -> str:
    """An array as PostgreSQL reads it: the driver takes ten times as long over a list."""
    return f"{{{','.join(map(str, numbers))}}}"


@cache
def _of_some(table: Table, size: int) -> Hot:
    """Look-up of so many messages in a database file."""
    keys = ", ".join(f"({n}, :instant{n}, :mark{n})" for n in range(size))
    names = [f"{name}{n}" for n in range(size) for name in ("instant", "mark")]
    # CROSS JOIN keeps the order: the keys first, then one descent for each.
    statement = (
        f"WITH wanted (number, instant, mark) AS (VALUES {keys})"
        " SELECT wanted.number, {compared} FROM wanted CROSS JOIN delivery"
        " ON delivery.instant = wanted.instant AND delivery.mark = wanted.mark AND delivery.no >= :since_no"
        " CROSS JOIN {rows}"
    )
    return Hot(text(statement.format(**_COMPARED[table.name])), *names, "since_no")


_ENTRIES: Final = Hot(
    text(
        "SELECT wanted.number, delivery.no FROM unnest(CAST(:instants AS BIGINT[]), CAST(:marks AS BIGINT[]))"
        " WITH ORDINALITY AS wanted (instant, mark, number) CROSS JOIN LATERAL"
        " (SELECT no FROM delivery WHERE instant = wanted.instant AND mark = wanted.mark"
        f" AND no >= CAST(:since_no AS BIGINT) AND no < CAST(:until_no AS BIGINT) LIMIT {_MOST}) AS delivery"
    ),
    *("instants", "marks", "since_no", "until_no"),
)
"""Query for any number of messages in a shared database. The limit forces descents of one index, regardless of the
server's estimate of the table's size."""


@cache
def _of_all(table: Table) -> Hot:
    """The rows with these numbers in a shared database."""
    statement = (
        "SELECT delivery.no, {compared} FROM {rows} AND delivery.no >= CAST(:since_no AS BIGINT)"
        " AND delivery.no < CAST(:until_no AS BIGINT)"
    )
    of_rows = _COMPARED[table.name]["rows"].replace("= delivery.no", "= ANY(CAST(:nos AS BIGINT[]))")
    compared = _COMPARED[table.name]["compared"]
    statement = statement.replace("delivery.no", f"{table.name}.no").format(compared=compared, rows=of_rows)
    return Hot(text(statement), "nos", "since_no", "until_no")


_COMPARED: Final = {
    microtrip.name: {
        "compared": "trip.sensor_id, NULL AS ty, microtrip.ts, microtrip.payload",
        "rows": "microtrip CROSS JOIN trip WHERE microtrip.no = delivery.no AND trip.no = microtrip.trip_no",
    },
    device_event.name: {
        "compared": "device_event.sensor_id, device_event.ty, device_event.ts, device_event.payload",
        "rows": "device_event WHERE device_event.no = delivery.no",
    },
}
"""Columns that are compared with a message, by the table of an entry's row."""
