"""Find recently delivered messages by key, so that detecting a redelivery takes one query.

An entry is (instant, mark, row number). Live messages of all sensors have instants close together, so a batch appends
to a few pages, and a query takes equally long for a trip of a month and of an hour. An entry stays until its row is
erased.

Not here: instant and mark (`domain/deliveries.py`), the caller (`services/ingest/redeliveries.py`).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final, NamedTuple

import msgspec
from sqlalchemy import Table, and_, bindparam, select, text, update

from tripline.domain import deliveries, ids
from tripline.domain.access import Scope
from tripline.domain.ids import RowNo, SensorId
from tripline.domain.instants import DAY_MS
from tripline.store.bulk import Bulk
from tripline.store.tables import delivery, device_event, microtrip, sensor
from tripline.store.transactions import Hot, ReadTx, Store, WriteTx

ENTRIES: Final = Bulk(delivery, "instant", "mark", "no")
_HASHES: Final = Bulk(delivery, "instant", "mark", "no", on_conflict="ON CONFLICT DO NOTHING")
KEPT_MS: Final = 10 * DAY_MS
"""Resends of rows stored so long before their vehicle's deletion, or later, are recognised."""
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
    made_ms: int
    """Its own time; 0: unknown."""

    @property
    def content(self) -> Content:
        """The fields shared by redeliveries."""
        return Content(self.sensor_id, self.ty, self.ts, self.payload)


class StoredEntries(NamedTuple):
    """Places of the messages whose entry was stored since an instant."""

    equal: set[int]
    """By an equal message."""
    other: set[int]
    """By another one."""

    def add(self, message: Sent, stored: Content | None) -> None:
        """Add the message by the row that its entry names. An erased row counts as equal if its mark has a hash."""
        if stored is not None:
            (self.equal if stored == message.content else self.other).add(message.place)
        elif message.mark != deliveries.key_of(message.sensor_id):
            self.equal.add(message.place)


async def search(
    store: Store, scope: Scope, sent: Sequence[Sent], *, since_ms: int, now_ms: int, found: StoredEntries
) -> Callable[[ReadTx], None] | None:
    """Return work for a transaction that notes the messages stored since the instant (O3); None: there are none.

    In a shared database, entries are looked up at once: old data that comes for the first time has none, and costs no
    hop to a thread. Raises `Outage`.
    """
    scope.require_everything()
    if not sent:
        return None
    since_no = ids.first_no(since_ms)
    if not store.shared:
        return lambda tx: _search_file(tx, sent, since_no, found)
    keys = (_array(each.instant for each in sent), _array(each.mark for each in sent))
    bounds = (since_no, ids.first_no(now_ms + deliveries.CLOCKS_APART_MS))  # leave one or two weekly partitions
    noted = [(sent[number - 1], no) for number, no in await store.ask(_ENTRIES, *keys, *bounds)]

    def compare(tx: ReadTx) -> None:
        for table in (microtrip, device_event):
            of_table = [(each, no) for each, no in noted if _table(each) is table]
            if of_table:
                wanted = _array(no for _, no in of_table)
                rows = {no: Content(*row) for no, *row in tx.hot(_of_all(table), wanted, *bounds)}
                for each, no in of_table:
                    found.add(each, rows.get(no))

    return compare if noted else None


def keep_hashes(tx: WriteTx, sensor_id: SensorId, trip_no: RowNo, *, deleted_ms: int, limit: int) -> None:
    """Before the newest `limit` microtrips of a deleted vehicle's trip are erased, store an entry with a hash for each
    that has none, so that a resend is recognised without its row; of rows from the last ten days only."""
    key = deliveries.key_of(sensor_id)
    rows = tx.hot(_NEWEST, key, trip_no, ids.first_no(deleted_ms - KEPT_MS), limit)
    if rows:
        _HASHES.insert(tx, [value for no, ts, payload in rows for value in (ts, deliveries.mark_of(key, payload), no)])
        tx.run(_ERASED, {"of_sensor": sensor_id, "at_ms": deleted_ms + deliveries.CLOCKS_APART_MS})


def _search_file(tx: ReadTx, sent: Sequence[Sent], since_no: RowNo, found: StoredEntries) -> None:
    """Note the messages that are stored in this database file."""
    for table in (microtrip, device_event):
        of_table = [each for each in sent if _table(each) is table]
        start = 0
        for size in _SIZES:
            while len(of_table) - start >= size:
                keys = [key for each in of_table[start : start + size] for key in (each.instant, each.mark)]
                for number, *row in tx.hot(_of_some(table, size), *keys, since_no):
                    found.add(of_table[start + number], None if row[-1] is None else Content(*row))
                start += size


def _table(message: Sent) -> Table:
    """Where an equal one is stored."""
    return microtrip if message.ty is None else device_event


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
        " {joined}"
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
    no = f"{table.name}.no"
    statement = (
        f"SELECT {no}, {{compared}} FROM {{rows}} WHERE {no} = ANY(CAST(:nos AS BIGINT[]))"
        f" AND {no} >= CAST(:since_no AS BIGINT) AND {no} < CAST(:until_no AS BIGINT)"
    )
    return Hot(text(statement.format(**_COMPARED[table.name])), "nos", "since_no", "until_no")


_ENTRY: Final = (
    delivery.c.instant == microtrip.c.ts,
    delivery.c.mark == bindparam("key"),
    delivery.c.no == microtrip.c.no,
)
_NEWEST: Final = Hot(
    select(microtrip.c.no, microtrip.c.ts, microtrip.c.payload)
    .join(delivery, and_(*_ENTRY))
    .where(microtrip.c.trip_no == bindparam("trip_no"), microtrip.c.no >= bindparam("since_no"))
    .order_by(microtrip.c.no.desc())
    .limit(bindparam("most")),
    *("key", "trip_no", "since_no", "most"),
)
_ERASED: Final = (
    update(sensor)
    .where(sensor.c.id == bindparam("of_sensor"), sensor.c.erased_ms.is_distinct_from(bindparam("at_ms")))
    .values(erased_ms=bindparam("at_ms"), has_hashes=True)
)
_COMPARED: Final = {
    microtrip.name: {
        "compared": "trip.sensor_id, NULL AS ty, microtrip.ts, microtrip.payload",
        "rows": "microtrip JOIN trip ON trip.no = microtrip.trip_no",
        "joined": "LEFT JOIN microtrip ON microtrip.no = delivery.no LEFT JOIN trip ON trip.no = microtrip.trip_no",
    },
    device_event.name: {
        "compared": "device_event.sensor_id, device_event.ty, device_event.ts, device_event.payload",
        "rows": "device_event",
        "joined": "LEFT JOIN device_event ON device_event.no = delivery.no",
    },
}
"""Columns that are compared with a message, by the table of an entry's row."""
