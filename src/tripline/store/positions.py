"""Live positions of vehicles: coalesced writes, and reads of changes within a scope.

Every transaction that changes a position or its visibility first takes the next number of `position_change` and locks
that row until its commit. So numbers become visible in order, and a reader that has read up to one misses no later
write, however slow the writing process. SQLite has a single writer anyway.

A row of `position_reach` records that a company or a person gained or lost access to a vehicle, or that its position
was deleted. Current access is read from the rows themselves.

Not here: choosing the newest sample (`domain/positions.py`), the times of writes (`services/live/position_keeper.py`).
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, exists, or_, select, union, update

from tripline.domain.access import Reach, Scope
from tripline.domain.ids import CompanyId, SensorId, VehicleId
from tripline.domain.positions import Position
from tripline.store import reach, scopes
from tripline.store.bulk import in_sizes
from tripline.store.reach import Kind
from tripline.store.tables import (
    position_change,
    position_reach,
    sensor,
    vehicle,
    vehicle_company,
    vehicle_position,
    vehicle_user,
)
from tripline.store.transactions import Hot, ReadTx, WriteTx

FIELDS: Final = Position._fields
GIVEN: Final = (*FIELDS, "driving", "sensor_id")
"""Values that `write` takes per vehicle."""
_TYPES: Final = ("text", "int8", "float8", "float8", "float8", "float8", "boolean", "boolean", "text")
_SET: Final = ", ".join(f"{name} = given.{name}" for name in GIVEN[1:-1])
# The place decides between samples of one instant, so that every process keeps the same of them.
_NEWER: Final = "(given.time_ms, given.lat, given.lon) > (kept.time_ms, kept.lat, kept.lon)"
_UPDATE: Final = (
    f"UPDATE vehicle_position AS kept SET change_no = (SELECT no FROM position_change), {_SET}"
    f" FROM ({{given}}) AS given WHERE kept.vehicle_id = given.vehicle_id AND {_NEWER}"
)
_INSERT: Final = (
    f"INSERT INTO vehicle_position (company_id, change_no, {', '.join(GIVEN[:-1])}) SELECT vehicle.company_id,"
    f" (SELECT no FROM position_change), {', '.join(f'given.{name}' for name in GIVEN[:-1])} FROM ({{given}}) AS given"
    " JOIN vehicle ON vehicle.id = given.vehicle_id JOIN sensor ON sensor.id = given.sensor_id"
    " WHERE true ON CONFLICT DO NOTHING"
)
"""A vehicle or sensor that was deleted meanwhile leaves no position behind."""
_NEXT: Final = (
    "INSERT INTO position_change (id, no) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET no = position_change.no + 1"
)
_NOW: Final = Hot(select(position_change.c.no))


def write(tx: WriteTx, given: Sequence[Any]) -> None:
    """Store the positions that are newer than the stored ones. `given` has the values of `GIVEN`, one after the other,
    once per vehicle; at most a few hundred vehicles, since the number row stays locked meanwhile."""
    _next_no(tx)
    # As a rule every vehicle has a row: inserting is tried only where an update found none, or nothing newer.
    if _run(tx, _UPDATE, given) * len(GIVEN) < len(given):
        _run(tx, _INSERT, given)


def any_idle(tx: ReadTx, until_ms: int) -> bool:
    """True if a vehicle counts as driving whose position is not newer than the instant."""
    return bool(tx.all(select(vehicle_position.c.vehicle_id).where(_is_idle(until_ms)).limit(1)))


def note_idle(tx: WriteTx, until_ms: int) -> None:
    """Vehicles whose position is not newer than the instant no longer count as driving."""
    _next_no(tx)  # as every writer of positions: two of them never wait for each other
    tx.run(update(vehicle_position).where(_is_idle(until_ms)).values(driving=None))


def now_no(tx: ReadTx) -> int:
    """The number of the newest change that this transaction sees."""
    found = tx.hot(_NOW)
    return int(found[0][0]) if found else 0


def time_ms(tx: ReadTx, vehicle_id: VehicleId) -> int | None:
    """When the vehicle was at its position; the caller was let pass. None: it has none."""
    found = of_vehicle(tx, vehicle_id)
    return None if found is None else found.time_ms


def of_vehicle(tx: ReadTx, vehicle_id: VehicleId) -> Position | None:
    """The vehicle's position; the caller was let pass. None: it has none."""
    rows = tx.hot(_OF_VEHICLE, vehicle_id)
    return _position(rows[0]) if rows else None


class Followed(NamedTuple):
    """A change of a vehicle for a follower of positions: its new position, or None if it has none or left the
    follower's reach."""

    vehicle_id: VehicleId
    position: Position | None


def changed(
    tx: ReadTx, scope: Scope, company_id: CompanyId, *, since_no: int, after: str, limit: int
) -> list[Followed]:
    """Return the changed vehicles inside the scope that the company owns or was delegated, since the number; with
    `since_no` 0 all that have a position. Ordered by id, after `after`, up to `limit`."""
    values = (company_id, since_no, after, scope.user_id, scope.company_id, limit)
    found: dict[str, Followed] = {}
    for statement in _changed(scope.reaches):
        found |= {row[0]: Followed(row[0], _position(row)) for row in tx.hot(statement, *values)}
    if since_no:
        holder_id = company_id if _has_whole(scope.reaches) else scope.user_id
        for row in tx.hot(_reach(scope.reaches), *values, holder_id):
            found[row[0]] = Followed(row[0], None if row[2] is None else _position(row))
    return [found[key] for key in sorted(found)[:limit]]


def reach_changed(tx: WriteTx, vehicle_id: VehicleId, holder_ids: Iterable[str | None]) -> None:
    """These companies or persons may see the vehicle from now on, or no longer."""
    _next_no(tx)  # before the query: another process may be writing the first position
    if time_ms(tx, vehicle_id) is not None:
        for holder_id in {each for each in holder_ids if each is not None}:
            tx.run(_TELL, {"holder_id": holder_id, "vehicle_id": vehicle_id})


def reach_of_people_changed(tx: WriteTx, vehicle_id: VehicleId, company_id: CompanyId) -> None:
    """As `reach_changed`, of everybody of the company who has a right on the vehicle."""
    rights = vehicle_user.c.vehicle_id == vehicle_id, vehicle_user.c.company_id == company_id
    people = tx.all(select(vehicle_user.c.user_id).where(*rights))
    reach_changed(tx, vehicle_id, [row.user_id for row in people])


def forget(tx: WriteTx, vehicle_id: VehicleId) -> None:
    """Delete the vehicle's position and notify everyone with access."""
    holders = union(
        select(vehicle.c.company_id).where(vehicle.c.id == vehicle_id),
        select(vehicle.c.director_id).where(vehicle.c.id == vehicle_id),
        select(vehicle_company.c.to_company_id).where(vehicle_company.c.vehicle_id == vehicle_id),
        select(vehicle_user.c.user_id).where(vehicle_user.c.vehicle_id == vehicle_id),
    )
    reach_changed(tx, vehicle_id, [row[0] for row in tx.all(holders)])
    tx.run(delete(vehicle_position).where(vehicle_position.c.vehicle_id == vehicle_id))


def forget_of_sensor(tx: WriteTx, sensor_id: SensorId) -> None:
    """As `forget`, of the vehicle that the sensor is on, unless another sensor is on it, too: then that one goes on
    reporting where the vehicle is."""
    beside = sensor.alias("beside")
    is_beside = exists().where(beside.c.vehicle_id == sensor.c.vehicle_id, beside.c.id != sensor.c.id)
    row = tx.one(select(sensor.c.vehicle_id).where(sensor.c.id == sensor_id, ~is_beside))
    if row is not None and row.vehicle_id is not None:
        forget(tx, row.vehicle_id)


def purge(tx: WriteTx, *, now_ms: int, keep_ms: int, limit: int) -> int:
    """Forget changes of reach that were first seen here so long ago; how many. Called now and then."""
    row = position_reach.c
    tx.run(update(position_reach).where(row.seen_ms.is_(None)).values(seen_ms=now_ms))
    is_old = row.seen_ms < now_ms - keep_ms
    old = select(row.change_no).where(is_old).order_by(row.seen_ms).limit(limit)
    return tx.run(delete(position_reach).where(row.change_no.in_(old), is_old))


def _is_idle(until_ms: int) -> ColumnElement[bool]:
    return vehicle_position.c.driving.is_not(None) & (vehicle_position.c.time_ms <= until_ms)


def _next_no(tx: WriteTx) -> None:
    """Take the next number; other changes of positions wait until this transaction ends."""
    tx.run_sql(_NEXT, ())


def _run(tx: WriteTx, sql: str, given: Sequence[Any]) -> int:
    """Run a statement on the given vehicles, on SQLite in few statements of few sizes (`bulk.py`); the rows touched."""
    width = len(GIVEN)
    if tx.shared:
        columns = ", ".join(f"{name} {kind}" for name, kind in zip(GIVEN, _TYPES, strict=True))
        # As JSON: the driver takes thirty times as long to write arrays.
        each = [dict(zip(GIVEN, given[at : at + width], strict=True)) for at in range(0, len(given), width)]
        rows = f"SELECT * FROM json_to_recordset(%s::json) AS each({columns})"
        return tx.run_sql(sql.format(given=rows), [msgspec.json.encode(each).decode()])
    return sum(tx.run_sql(_of_size(sql, size), some) for size, some in in_sizes(given, width))


@cache
def _of_size(sql: str, size: int) -> str:
    """The statement for so many vehicles, in SQLite's writing, where the columns of VALUES have numbers."""
    row = f"({', '.join('?' * len(GIVEN))})"
    named = ", ".join(f"column{number} AS {name}" for number, name in enumerate(GIVEN, 1))
    return sql.format(given=f"SELECT {named} FROM (VALUES {', '.join([row] * size)})")


_KEPT: Final = vehicle_position
_COLUMNS: Final = tuple(_KEPT.c[name] for name in FIELDS)
_OF_VEHICLE: Final = Hot(select(*_COLUMNS).where(_KEPT.c.vehicle_id == bindparam("vehicle")), "vehicle")
_VALUES: Final = ("company", "since_no", "after", scopes.USER, scopes.COMPANY, "most")
_OWN: Final = _KEPT.c.company_id == bindparam("company")


def _delegated() -> ColumnElement[bool]:
    delegation = vehicle_company.alias("delegation")
    return exists().where(
        delegation.c.vehicle_id == _KEPT.c.vehicle_id, delegation.c.to_company_id == bindparam("company")
    )


def _has_whole(reaches: scopes.Reaches) -> bool:
    """True if the reach includes a whole company; otherwise it consists of single vehicles."""
    return not reaches.isdisjoint({Reach.ANY, Reach.OWN_COMPANY, Reach.PARTNERS})


@cache
def _changed(reaches: scopes.Reaches) -> tuple[Hot, ...]:
    """Statements that find changed positions: own vehicles by company, delegated vehicles by the rows that grant
    access."""
    rows = select(*_COLUMNS).where(
        _KEPT.c.change_no > bindparam("since_no"), _KEPT.c.vehicle_id > bindparam("after"), scopes.positions(reaches)
    )
    if _has_whole(reaches):
        received = vehicle_company.alias("received")
        of_others = rows.join_from(_KEPT, received, received.c.vehicle_id == _KEPT.c.vehicle_id).where(
            received.c.to_company_id == bindparam("company"), received.c.vehicle_id > bindparam("after")
        )
        return _hot(rows.where(_OWN)), _hot(of_others)
    singles = _KEPT.c.vehicle_id.in_(reach.things(Kind.VEHICLE, reaches))
    return (_hot(rows.where(singles, or_(_OWN, _delegated()))),)


def _hot(rows: Select[Any]) -> Hot:
    return Hot(rows.order_by(_KEPT.c.vehicle_id).limit(bindparam("most")), *_VALUES)


@cache
def _reach(reaches: scopes.Reaches) -> Hot:
    """Vehicles that a holder gained or lost access to, with their positions where currently within reach."""
    inside = and_(_KEPT.c.vehicle_id == position_reach.c.vehicle_id, or_(_OWN, _delegated()), scopes.positions(reaches))
    rows = (
        select(position_reach.c.vehicle_id, *_COLUMNS[1:])
        .join_from(position_reach, _KEPT, inside, isouter=True)
        .where(
            position_reach.c.holder_id == bindparam("of_holder"),
            position_reach.c.change_no > bindparam("since_no"),
            position_reach.c.vehicle_id > bindparam("after"),
        )
    )
    return Hot(rows.distinct().order_by(position_reach.c.vehicle_id).limit(bindparam("most")), *_VALUES, "of_holder")


def _position(row: Sequence[Any]) -> Position:
    return Position._make((*row[:6], bool(row[6])))


_TELL: Final = position_reach.insert().from_select(
    ["holder_id", "change_no", "vehicle_id"],
    select(bindparam("holder_id"), position_change.c.no, bindparam("vehicle_id")).where(
        ~exists().where(
            position_reach.c.holder_id == bindparam("holder_id"),
            position_reach.c.change_no == position_change.c.no,
            position_reach.c.vehicle_id == bindparam("vehicle_id"),
        )
    ),
)
