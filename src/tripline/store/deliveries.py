"""Finding a message that was delivered lately by its key, so that telling a second delivery costs one look-up.

An entry is (instant, mark, row number). Live messages of all sensors have instants close together, so a batch appends
to a few pages, and a look-up takes as long in a trip of a month as in one of an hour. Entries are needed for as long as
a redelivery counts (`ingest.redelivery_minutes`) and go some time after that.

Not here: instant and mark (`domain/deliveries.py`), who asks (`services/ingest/checking.py`), messages of the version
before, which have no entries (`delivery_gaps.py`).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Select,
    Table,
    bindparam,
    column,
    delete,
    func,
    literal_column,
    null,
    select,
    true,
    tuple_,
    values,
)

from tripline.domain import ids
from tripline.domain.access import Reach, Scope
from tripline.domain.ids import SensorId
from tripline.store.bulk import Bulk
from tripline.store.tables import delivery, device_event, microtrip, trip
from tripline.store.transactions import Hot, ReadTx, WriteTx

ENTRIES: Final = Bulk(delivery, "instant", "mark", "no")
_SIZES: Final = (256, 32, 4, 1)
"""Keys in one statement of SQLite."""
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

    sensor_id: SensorId
    instant: int
    marks: tuple[int, ...]
    """One of these is its entry's, if there is one."""
    ty: int | None
    """Number of an event; None: a microtrip."""
    ts: int | None
    payload: bytes


def stored(tx: ReadTx, scope: Scope, sent: Sequence[Sent], *, since_ms: int) -> set[int]:
    """Positions of the messages of which an equal one was stored since the instant (O3)."""
    assert Reach.ANY in scope.reaches, "the pipeline works on every sensor"
    since_no = ids.first_no(since_ms)
    wanted: dict[tuple[int, int], list[int]] = {}
    for position, message in enumerate(sent):
        for mark in message.marks:
            wanted.setdefault((message.instant, mark), []).append(position)
    tables = {microtrip if message.ty is None else device_event for message in sent}
    return {
        position
        for table in tables
        for *found, instant, mark in _found(tx, table, list(wanted), since_no)
        for position in wanted[instant, mark]
        if _is(sent[position], *found)
    }


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


def _is(message: Sent, sensor_id: str | None, ty: int | None, ts: int | None, payload: bytes) -> bool:
    known = (message.sensor_id, message.ty, message.ts)
    return known == (sensor_id, ty, ts) and message.payload == payload


def _found(tx: ReadTx, table: Table, keys: Sequence[tuple[int, int]], since_no: int) -> list[tuple[Any, ...]]:
    """The rows of these keys: what `_is` compares, and the key."""
    if tx.shared:
        return tx.hot(_of_all(table), [key[0] for key in keys], [key[1] for key in keys], since_no)
    rows: list[tuple[Any, ...]] = []
    start = 0
    for size in _SIZES:
        while len(keys) - start >= size:
            flat = [number for key in keys[start : start + size] for number in key]
            rows += tx.hot(_of_some(table, size), *flat, since_no)
            start += size
    return rows


@cache
def _of_some(table: Table, size: int) -> Hot:
    """Look-up of so many keys in a database file."""
    rows = [tuple(bindparam(f"{name}{n}", type_=BigInteger) for name in ("instant", "mark")) for n in range(size)]
    keys = values(column("instant", BigInteger), column("mark", BigInteger)).data(rows).cte("wanted")
    of_key = tuple_(delivery.c.instant, delivery.c.mark).in_(select(keys))
    names = [name for n in range(size) for name in (f"instant{n}", f"mark{n}")]
    statement = _compared(table).add_columns(delivery.c.instant, delivery.c.mark)
    kept = delivery.c.no >= bindparam("since_no")
    return Hot(statement.where(table.c.no == delivery.c.no, of_key, kept), *names, "since_no")


@cache
def _of_all(table: Table) -> Hot:
    """Look-up of any number of keys in a shared database. The limits keep it to descents of indexes, whatever the
    server believes of the tables' sizes."""
    arrays = [bindparam(name, type_=ARRAY(BigInteger)) for name in ("instants", "marks")]
    keys = func.unnest(*arrays).table_valued("instant", "mark").render_derived(name="wanted")
    since_no = bindparam("since_no", type_=BigInteger)
    of_key = (delivery.c.instant == keys.c.instant, delivery.c.mark == keys.c.mark, delivery.c.no >= since_no)
    entry = select(delivery.c.no).where(*of_key).limit(literal_column(str(_MOST))).lateral("entry")
    own = _compared(table).where(table.c.no == entry.c.no, table.c.no >= since_no)
    row = own.limit(literal_column("1")).lateral("row")
    statement = select(row, keys).select_from(keys.join(entry, true()).join(row, true()))
    return Hot(statement, "instants", "marks", "since_no")


def _compared(table: Table) -> Select[Any]:
    """What is compared with a message."""
    if table is microtrip:
        compared = select(trip.c.sensor_id, null().label("ty"), microtrip.c.ts, microtrip.c.payload)
        return compared.where(trip.c.no == microtrip.c.trip_no)
    return select(*(device_event.c[name] for name in ("sensor_id", "ty", "ts", "payload")))
