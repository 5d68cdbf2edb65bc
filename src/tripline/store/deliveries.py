"""Finding a message that was delivered lately by its key, so that telling a second delivery costs one look-up.

An entry is (instant, mark, row number). Live messages of all sensors have instants close together, so a batch appends
to a few pages, and a look-up takes as long in a trip of a month as in one of an hour. Entries are needed for as long as
a redelivery counts (`ingest.redelivery_minutes`) and go some time after that.

Not here: instant and mark (`domain/deliveries.py`), who asks (`services/ingest/checking.py`), messages of the version
before, which have no entries (`delivery_gaps.py`).
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, Table, bindparam, delete, select, text, tuple_

from tripline.domain import ids
from tripline.domain.access import Reach, Scope
from tripline.domain.ids import SensorId
from tripline.store.bulk import Bulk
from tripline.store.tables import delivery, device_event, microtrip
from tripline.store.transactions import Hot, ReadTx, WriteTx

ENTRIES: Final = Bulk(delivery, "instant", "mark", "no")
_SIZES: Final = (128, 16, 2, 1)
"""Messages in one statement of SQLite."""
_AHEAD_MS: Final = 3_600_000
"""No row number is further ahead of the clock."""
_MOST: Final = 16
"""Entries with one key that are looked at. Whatever a device sends, no more than three of them can be its own."""


_LOOKED_AT: Final = 2
"""Entries that are looked at for each that is added."""
_KEY: Final = tuple_(delivery.c.instant, delivery.c.mark, delivery.c.no)
_START: Final = (-(2**63), -(2**63), 0)
_END: Final = (2**63 - 1, 2**63 - 1, 2**63 - 1)
_BEHIND: Final = _KEY.op(">")(tuple_(*(bindparam(name, type_=BigInteger) for name in ("instant", "mark", "no"))))
_NEXT: Final = Hot(
    select(delivery).where(_BEHIND).order_by(*delivery.primary_key.columns).limit(1).offset(bindparam("skipped")),
    *("instant", "mark", "no", "skipped"),
)
_DROP: Final = Hot(
    delete(delivery).where(
        _BEHIND,
        _KEY.op("<=")(tuple_(*(bindparam(name, type_=BigInteger) for name in ("to_instant", "to_mark", "to_no")))),
        delivery.c.no < bindparam("before_no"),
    ),
    *("instant", "mark", "no", "to_instant", "to_mark", "to_no", "before_no"),
)


class Sent(NamedTuple):
    """A message that may have come before."""

    place: int
    """In its batch."""
    sensor_id: SensorId
    instant: int
    mark: int
    key: int
    """Of the sensor; its entry has this mark or the other."""
    ty: int | None
    """Number of an event; None: a microtrip."""
    ts: int | None
    payload: bytes


def stored_microtrips(tx: ReadTx, scope: Scope, sent: Sequence[Sent], *, since_ms: int, now_ms: int) -> set[int]:
    """Places of the microtrips of which an equal one was stored since the instant (O3)."""
    return _stored(tx, scope, microtrip, sent, since_ms, now_ms)


def stored_events(tx: ReadTx, scope: Scope, sent: Sequence[Sent], *, since_ms: int, now_ms: int) -> set[int]:
    """Places of the events of which an equal one was stored since the instant."""
    return _stored(tx, scope, device_event, sent, since_ms, now_ms)


class Outlived:
    """Drops entries of a database file that are needed no more, walking round the table.

    Each batch looks at twice as many entries as it adds, so the walk catches up with entries added in front of it. The
    table holds about twice as many as are needed, however fast they come. A shared database drops whole weeks instead
    (`partitions.py`).
    """

    def __init__(self) -> None:
        self._behind = _START
        """The way round has come as far as this entry."""

    def drop_some(self, tx: WriteTx, scope: Scope, *, added: int, before_ms: int) -> None:
        """Drop entries of rows stored before the instant, in a transaction that adds so many."""
        assert Reach.ANY in scope.reaches, "the pipeline works on every sensor"
        last = tx.hot(_NEXT, *self._behind, _LOOKED_AT * added - 1)
        until = last[0] if last else _END
        tx.hot(_DROP, *self._behind, *until, ids.first_no(before_ms))
        self._behind = until if last else _START


def _stored(tx: ReadTx, scope: Scope, table: Table, sent: Sequence[Sent], since_ms: int, now_ms: int) -> set[int]:
    assert Reach.ANY in scope.reaches, "the pipeline works on every sensor"
    found: set[int] = set()
    for start, number, sensor_id, ty, ts, payload in _rows(tx, table, sent, ids.first_no(since_ms), now_ms):
        # Two messages may have the same entry by chance.
        message = sent[start + number]
        if (sensor_id, ty, ts, payload) == (message.sensor_id, message.ty, message.ts, message.payload):
            found.add(message.place)
    return found


def _rows(tx: ReadTx, table: Table, sent: Sequence[Sent], since_no: int, now_ms: int) -> Iterator[tuple[Any, ...]]:
    """The rows with one of the keys: where the statement's part begins, the message within it, what is compared."""
    if not sent:
        return
    if tx.shared:
        bounds = (since_no, ids.first_no(now_ms + _AHEAD_MS))
        columns = (_array(each.instant for each in sent), _array(each.mark for each in sent))
        found = tx.hot(_ENTRIES, *columns, _array(each.key for each in sent), *bounds)
        rows = {row[0]: row for row in tx.hot(_of_all(table), _array(no for _, no in found), *bounds)} if found else {}
        for number, no in found:
            if no in rows:
                yield 0, number - 1, *rows[no][1:]
        return
    start = 0
    for size in _SIZES:
        while len(sent) - start >= size:
            keys = [key for each in sent[start : start + size] for key in (each.instant, each.mark, each.key)]
            for row in tx.hot(_of_some(table, size), *keys, since_no):
                yield start, *row
            start += size


def _array(numbers: Iterable[int]) -> str:
    """An array as PostgreSQL reads it: the driver takes ten times as long over a list."""
    return f"{{{','.join(map(str, numbers))}}}"


@cache
def _of_some(table: Table, size: int) -> Hot:
    """Look-up of so many messages in a database file."""
    keys = ", ".join(f"({n}, :instant{n}, :mark{n}), ({n}, :instant{n}, :key{n})" for n in range(size))
    names = [f"{name}{n}" for n in range(size) for name in ("instant", "mark", "key")]
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
        "SELECT wanted.number, delivery.no FROM unnest(CAST(:instants AS BIGINT[]), CAST(:marks AS BIGINT[]),"
        " CAST(:keys AS BIGINT[])) WITH ORDINALITY AS wanted (instant, mark, key, number) CROSS JOIN LATERAL"
        " (SELECT no FROM delivery WHERE instant = wanted.instant AND mark IN (wanted.mark, wanted.key)"
        f" AND no >= CAST(:since_no AS BIGINT) AND no < CAST(:until_no AS BIGINT) LIMIT {_MOST}) AS delivery"
    ),
    *("instants", "marks", "keys", "since_no", "until_no"),
)
"""Look-up of any number of messages in a shared database. The limit keeps it to descents of one index, whatever the
server believes of the table's size; the bounds leave it one week's part or two."""


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
"""What is compared with a message, and the rows that an entry names."""
