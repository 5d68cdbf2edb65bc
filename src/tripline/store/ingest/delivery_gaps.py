"""Entries for messages that the version before stored without one, so that their second delivery is found too.

On a shared store such programs may still be at work while it is upgraded. Whoever reads a sensor asks here first: the
newest message of each of its trips has its entry, or everything of that trip lately gets one. So an upgrade moves
nothing ahead of time.

Not here: entries (`deliveries.py`), when a sensor is read (`services/ingest/tracks.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ARRAY, BigInteger, ColumnElement, Select, String, and_, bindparam, func, select, true

from tripline.domain import deliveries, ids
from tripline.domain.access import Reach, Scope
from tripline.domain.ids import SensorId
from tripline.domain.samples import RECORD
from tripline.store.bulk import Bulk
from tripline.store.tables import delivery, device_event, microtrip
from tripline.store.transactions import Hot, ReadTx, WriteTx

_FILLED: Final = Bulk(delivery, "instant", "mark", "no", on_conflict="ON CONFLICT (instant, mark, no) DO NOTHING")
_AT_ONCE: Final = 1_000
"""Rows read in one statement while a gap is filled."""


class Gap(NamedTuple):
    """Where entries are missing."""

    sensor_id: SensorId
    trip_no: int | None
    """Of its microtrips; None: among its events."""


class _Microtrip(NamedTuple):
    """Of a stored microtrip what tells its entry."""

    no: int
    ts: int | None
    payload: bytes
    samples: bytes


class _Event(NamedTuple):
    """The same of an event."""

    no: int
    ts: int | None
    payload: bytes
    ty: int
    event_ms: int


_Stored = _Microtrip | _Event


class _Newest(NamedTuple):
    """Where an entry may be missing, and the newest row there."""

    gap: Gap
    row: _Stored


class _Entry(NamedTuple):
    """A row of `delivery`."""

    instant: int
    mark: int
    no: int


def _of_trip(owner: ColumnElement[Any]) -> Select[Any]:
    own = and_(microtrip.c.trip_no == owner, microtrip.c.bus_key.is_(None))
    return select(microtrip.c.no, microtrip.c.ts, microtrip.c.payload, microtrip.c.samples).where(own)


def _of_sensor(owner: ColumnElement[Any]) -> Select[Any]:
    event = device_event.c
    own = and_(event.sensor_id == owner, event.bus_key.is_(None))
    return select(event.no, event.ts, event.payload, event.ty, event.event_ms).where(own)


_MICROTRIP: Final = Hot(
    _of_trip(bindparam("owner"))
    .where(microtrip.c.no >= bindparam("since_no"))
    .order_by(microtrip.c.no.desc())
    .limit(1),
    *("owner", "since_no"),
)
_EVENT: Final = Hot(
    _of_sensor(bindparam("owner"))
    .where(device_event.c.no >= bindparam("since_no"))
    .order_by(device_event.c.no.desc())
    .limit(1),
    *("owner", "since_no"),
)
_MICROTRIPS: Final = Hot(
    _of_trip(bindparam("owner"))
    .where(microtrip.c.no >= bindparam("since_no"))
    .order_by(microtrip.c.no)
    .limit(bindparam("most")),
    *("owner", "since_no", "most"),
)
_EVENTS: Final = Hot(
    _of_sensor(bindparam("owner"))
    .where(device_event.c.no >= bindparam("since_no"))
    .order_by(device_event.c.no)
    .limit(bindparam("most")),
    *("owner", "since_no", "most"),
)
_ENTRY: Final = Hot(
    select(delivery.c.no).where(
        delivery.c.instant == bindparam("instant"),
        delivery.c.mark.in_([bindparam("plain"), bindparam("mark"), bindparam("untimed")]),
        delivery.c.no == bindparam("no"),
    ),
    *("instant", "plain", "mark", "untimed", "no"),
)
_OWNERS: Final = func.unnest(bindparam("owners", type_=ARRAY(BigInteger))).table_valued("id").render_derived("owner")
_SENSORS: Final = func.unnest(bindparam("owners", type_=ARRAY(String))).table_valued("id").render_derived("owner")
_NEWEST_MICROTRIP: Final = (
    _of_trip(_OWNERS.c.id)
    .where(microtrip.c.no >= bindparam("since_no"))
    .order_by(microtrip.c.no.desc())
    .limit(1)
    .lateral("newest")
)
_NEWEST_EVENT: Final = (
    _of_sensor(_SENSORS.c.id)
    .where(device_event.c.no >= bindparam("since_no"))
    .order_by(device_event.c.no.desc())
    .limit(1)
    .lateral("newest")
)
_NEWEST_MICROTRIPS: Final = Hot(
    select(_OWNERS.c.id, _NEWEST_MICROTRIP).select_from(_OWNERS.join(_NEWEST_MICROTRIP, true())),
    *("owners", "since_no"),
)
_NEWEST_EVENTS: Final = Hot(
    select(_SENSORS.c.id, _NEWEST_EVENT).select_from(_SENSORS.join(_NEWEST_EVENT, true())), *("owners", "since_no")
)
_KEYS: Final = (
    func.unnest(*(bindparam(name, type_=ARRAY(BigInteger)) for name in ("instants", "marks", "nos")))
    .table_valued("instant", "mark", "no")
    .render_derived("wanted")
)
_ENTRIES: Final = Hot(
    select(_KEYS.c.no).where(
        select(delivery.c.no)
        .where(delivery.c.instant == _KEYS.c.instant, delivery.c.mark == _KEYS.c.mark, delivery.c.no == _KEYS.c.no)
        .exists()
    ),
    *("instants", "marks", "nos"),
)


def found(tx: ReadTx, scope: Scope, lately: Mapping[SensorId, Sequence[int]], *, since_ms: int) -> list[Gap]:
    """Where the sensors' entries since the instant are missing; `lately` has the numbers of their trips."""
    assert Reach.ANY in scope.reaches, "the pipeline works on every sensor"
    since_no = ids.first_no(since_ms)
    newest: list[_Newest] = []
    if tx.shared:
        sensor_of = {trip_no: sensor_id for sensor_id, trips in lately.items() for trip_no in trips}
        rows = tx.hot(_NEWEST_MICROTRIPS, list(sensor_of), since_no) if sensor_of else []
        newest += [_Newest(Gap(sensor_of[trip_no], trip_no), _Microtrip(*row)) for trip_no, *row in rows]
        newest += [
            _Newest(Gap(SensorId(sensor_id), None), _Event(*row))
            for sensor_id, *row in tx.hot(_NEWEST_EVENTS, list(lately), since_no)
        ]
        keys = [key for gap, row in newest for key in _keys(gap, row)]
        columns = [list(column) for column in zip(*keys, strict=True)]
        there = {no for (no,) in tx.hot(_ENTRIES, *columns)} if keys else set()
        return [gap for gap, row in newest if row.no not in there]
    for sensor_id, trips in lately.items():
        for trip_no in trips:
            rows = tx.hot(_MICROTRIP, trip_no, since_no)
            newest += [_Newest(Gap(sensor_id, trip_no), _Microtrip(*row)) for row in rows]
        newest += [_Newest(Gap(sensor_id, None), _Event(*row)) for row in tx.hot(_EVENT, sensor_id, since_no)]
    return [gap for gap, row in newest if not _is_there(tx, gap, row)]


def fill(tx: WriteTx, scope: Scope, gaps: Sequence[Gap], *, since_ms: int) -> int:
    """Make the entries of what was stored since the instant; how many rows there were."""
    assert Reach.ANY in scope.reaches, "the pipeline works on every sensor"
    filled = 0
    for gap in gaps:
        key = deliveries.key_of(gap.sensor_id)
        since_no: int = ids.first_no(since_ms)
        while rows := _stored(tx, gap, since_no):
            _FILLED.insert(tx, [value for row in rows for value in _entry(key, row)])
            filled += len(rows)
            since_no = rows[-1].no + 1
    return filled


def _stored(tx: ReadTx, gap: Gap, since_no: int) -> Sequence[_Stored]:
    """The first rows there from this number on."""
    if gap.trip_no is None:
        return [_Event(*row) for row in tx.hot(_EVENTS, gap.sensor_id, since_no, _AT_ONCE)]
    return [_Microtrip(*row) for row in tx.hot(_MICROTRIPS, gap.trip_no, since_no, _AT_ONCE)]


def _is_there(tx: ReadTx, gap: Gap, row: _Stored) -> bool:
    entry = _entry(key := deliveries.key_of(gap.sensor_id), row)
    return bool(tx.hot(_ENTRY, entry.instant, key, entry.mark, deliveries.untimed(key), entry.no))


def _keys(gap: Gap, row: _Stored) -> list[_Entry]:
    """What the entry of this row may be."""
    entry = _entry(key := deliveries.key_of(gap.sensor_id), row)
    return [entry._replace(mark=mark) for mark in (key, entry.mark, deliveries.untimed(key))]


def _entry(key: int, row: _Stored) -> _Entry:
    """The entry of a stored row, with the mark of a message whose instant alone does not tell it."""
    no, ts, payload = row.no, row.ts, row.payload
    if isinstance(row, _Event):
        return _Entry(row.event_ms if ts is None else ts, deliveries.mark_of(key, payload, row.ty), no)
    if ts is None:
        ts = max((record[0] for record in RECORD.iter_unpack(row.samples)), default=ids.ms_of_no(no))
    return _Entry(ts, deliveries.mark_of(key, payload), no)
