"""Rows of `reach`: the vehicles and sensors that each company and person may see; scopes as a principal and a mask.

`refresh` is called in the transaction that changes a vehicle, a sensor, a delegation or a right. One statement selects
the rows of these vehicles and sensors that differ from what `_VEHICLES` and `_SENSORS` select; these are deleted or
written. `services/doctor.py` goes through every vehicle and sensor.

Not here: which reaches a role has (`domain/access.py`), lists (`listing/`).
"""

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum, IntFlag
from functools import cache
from operator import itemgetter
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, FromClause, Select, bindparam, delete, exists, literal_column, select, text, true

from tripline import cooperative
from tripline.domain.access import Reach, Scope
from tripline.domain.ids import VehicleId
from tripline.store import scopes, tables
from tripline.store.bulk import Bulk, Rows
from tripline.store.transactions import Hot, ReadTx, WriteTx

PRINCIPAL: Final = "reach_principal"
"""Name of the principal in statements."""
AT_ONCE: Final = 1_000
"""Vehicles or sensors in one statement."""


class Kind(IntEnum):
    """Kind of a row."""

    VEHICLE = 1
    SENSOR = 2


class Why(IntFlag):
    """Reasons for a row: the first three of companies, the others of people."""

    OWN = 1
    PARTNER = 2
    DELEGATED = 4
    MANAGED = 8
    DIRECTING = 16
    DRIVING = 32


OF_COMPANIES: Final = Why.OWN | Why.PARTNER | Why.DELEGATED
OF_PEOPLE: Final = Why.MANAGED | Why.DIRECTING | Why.DRIVING
_BITS: Final = {
    Reach.OWN_COMPANY: Why.OWN,
    Reach.PARTNERS: Why.PARTNER,
    Reach.DELEGATED_COMPANY: Why.DELEGATED,
    Reach.MANAGED: Why.MANAGED,
    Reach.DIRECTING_RIGHT: Why.DIRECTING,
    Reach.DRIVING_RIGHT: Why.DRIVING,
}


class Within(NamedTuple):
    """A scope on vehicles or sensors: the rows of one principal for any of these reasons."""

    principal: str | None
    mask: Why


def within(scope: Scope) -> Within:
    """Return the scope as a principal and a mask; every role looks either as its company or as itself."""
    mask = mask_of(scope.reaches)
    assert not (mask & OF_COMPANIES and mask & OF_PEOPLE), scope.why
    return Within(scope.user_id if mask & OF_PEOPLE else scope.company_id, mask)


def mask_of(reaches: scopes.Reaches) -> Why:
    """Return the reasons of these reaches."""
    mask = Why(0)
    for each in reaches:
        mask |= _BITS.get(each, Why(0))
    return mask


def has_reason(rows: FromClause, mask: Why) -> ColumnElement[bool]:
    """Return the condition that a row of `reach` has one of the reasons; true when every row of its principal has."""
    if mask in (OF_COMPANIES, OF_PEOPLE):
        return true()
    # A literal, so that each mask is a statement with its own plan.
    bits: ColumnElement[int] = rows.c.why.op("&")(literal_column(str(int(mask))))
    return bits != literal_column("0")


@cache
def predicate(reaches: scopes.Reaches, thing_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the condition that a vehicle or sensor is within the reaches: one probe of the key.

    Its values have the names of those of `scopes`.
    """
    return true() if Reach.ANY in reaches else exists().where(_HELD.c.thing_id == thing_id, *_held(reaches))


def things(kind: Kind, reaches: scopes.Reaches) -> Select[tuple[str]]:
    """Select the vehicles or sensors within the reaches, with values as in `predicate`."""
    return select(_HELD.c.thing_id).where(_HELD.c.kind == literal_column(str(int(kind))), *_held(reaches))


_HELD: Final = tables.reach.alias("held")


def _held(reaches: scopes.Reaches) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    mask = mask_of(reaches)
    principal: ColumnElement[str] = bindparam(scopes.USER if mask & OF_PEOPLE else scopes.COMPANY)
    return _HELD.c.principal == principal, has_reason(_HELD, mask)


@contextlib.contextmanager
def together(tx: WriteTx) -> Iterator[None]:
    """Refresh the things that the block changes once, at its end; until then their rows stay as they were."""
    if tx.to_refresh is not None:
        yield
        return
    vehicle_ids: dict[str, None] = {}
    sensor_ids: dict[str, None] = {}
    tx.to_refresh = vehicle_ids, sensor_ids
    try:
        yield
    finally:
        tx.to_refresh = None
    refresh(tx, vehicle_ids, sensor_ids)


def refresh(tx: WriteTx, vehicle_ids: Collection[str] = (), sensor_ids: Collection[str] = ()) -> int:
    """Write the rows of these vehicles with the sensors on them, and of these sensors, as the fleet's tables now are;
    return how many were missing, wrong or too many.

    Deleted vehicles and sensors lose their rows.
    """
    if tx.to_refresh is not None:
        for pending, ids in zip(tx.to_refresh, (vehicle_ids, sensor_ids), strict=True):
            pending.update(dict.fromkeys(ids))
        return 0
    written = 0
    for some in _parts(vehicle_ids):
        if tx.shared:
            tx.hot(_MEET, some)
        written += _write(tx, Kind.VEHICLE, some)
    for some in _parts(sensor_ids):
        written += _write(tx, Kind.SENSOR, some)
    return written


def meet(tx: WriteTx, vehicle_id: VehicleId) -> None:
    """Let a batch, which is not SERIALIZABLE, and `refresh` of the vehicle see each other's changes: who comes second
    waits, and then sees the change or runs again."""
    if tx.shared:
        tx.hot(_TOUCH, vehicle_id)


def rows_of_new(
    kind: Kind, principals: Mapping[str, Why], things: Sequence[tuple[str, str]], *, created_ms: int
) -> Rows:
    """Return rows for many new vehicles or sensors, ids and numbers: each principal may see all of them."""
    values = [value for thing in cooperative.each(things) for value in thing]
    return Rows(_NEW, values, [(kind.value, created_ms, *of) for of in sorted(principals.items())])


def forget_principal(tx: WriteTx, principal: str) -> None:
    """Delete the rows of a company or person who is about to be deleted."""
    tx.run(_FORGET, {PRINCIPAL: principal})


def behind(tx: ReadTx, kind: Kind, after: str) -> list[str]:
    """Return the next ids of vehicles, or of sensors on no vehicle, behind an id: at most `AT_ONCE`."""
    return [row[0] for row in tx.all(_NEXT[kind], {"after": after})]


def orphans(tx: ReadTx) -> list[str]:
    """Return ids in `reach` that neither a vehicle nor a sensor has: at most `AT_ONCE`."""
    return [row[0] for row in tx.all(_ORPHANS)]


def wrong(tx: ReadTx, kind: Kind, ids: list[str]) -> int:
    """Return how many rows of these vehicles and the sensors on them, or of these sensors, are missing, wrong or too
    many: `refresh` would write these."""
    return len(_differences(tx, kind, ids))


def _differences(tx: ReadTx, kind: Kind, ids: list[str]) -> list[tuple[Any, ...]]:
    return tx.hot(_COMPARED[kind, tx.shared], ids if tx.shared else msgspec.json.encode(ids).decode())


def _write(tx: WriteTx, kind: Kind, ids: list[str]) -> int:
    """Delete surplus rows, write missing and wrong ones; return how many."""
    found = _differences(tx, kind, ids)
    gone = [(thing_id, principal) for thing_id, principal, *_, why in found if not why]
    if gone and tx.shared:
        tx.hot(_DELETE[True], *(list(column) for column in zip(*gone, strict=True)))
    elif gone:
        tx.hot(_DELETE[False], msgspec.json.encode(gone).decode())
    # Sorted by principal, so that rows go into the indexes side by side.
    written = sorted((row for row in found if row[-1]), key=itemgetter(1))
    _WRITTEN.insert(tx, [value for row in written for value in row])
    return len(found)


def _parts(ids: Collection[str]) -> Iterable[list[str]]:
    every = list(ids)
    for start in range(0, len(every), AT_ONCE):
        yield every[start : start + AT_ONCE]


# PostgreSQL must not count the ids: it expects ten then, however many there are, and probes the keys.
_EACH: Final = {
    False: "SELECT value AS id FROM json_each(:ids)",
    True: "SELECT unnest((SELECT CAST(:ids AS text[]))) AS id",
}
"""Ids in a statement, by whether the database is shared."""
_OF_RIGHT: Final = f"CASE held.user_role WHEN 'DRIVER' THEN {Why.DRIVING:d} ELSE {Why.DIRECTING:d} END"
# CROSS JOIN: SQLite joins the tables in the order written, whatever its statistics say. No condition is of the last
# table alone: it would first read that table whole and make a Bloom filter.
_OF_COMPANIES: Final = f"""
SELECT thing.id, thing.company_id AS principal, {Why.OWN:d} AS bit, 0 AS had, CAST(NULL AS text) AS had_key
FROM given CROSS JOIN {{thing}} AS thing WHERE thing.id = given.id
UNION ALL
SELECT thing.id, company.master_id, {Why.PARTNER:d}, 0, NULL FROM given CROSS JOIN {{thing}} AS thing CROSS JOIN company
WHERE thing.id = given.id AND company.id = thing.company_id AND company.master_id <> thing.company_id
"""
_VEHICLES: Final = f"""{_OF_COMPANIES.format(thing="vehicle")}
UNION ALL
SELECT given.id, held.to_company_id, {Why.DELEGATED:d}, 0, NULL
FROM given CROSS JOIN vehicle_company AS held WHERE held.vehicle_id = given.id
UNION ALL
SELECT thing.id, thing.director_id, {Why.MANAGED:d}, 0, NULL
FROM given CROSS JOIN vehicle AS thing WHERE thing.id = given.id AND coalesce(thing.director_id, given.id) <> given.id
UNION ALL
SELECT given.id, held.user_id, {_OF_RIGHT}, 0, NULL
FROM given CROSS JOIN vehicle_user AS held WHERE held.vehicle_id = given.id
"""
"""Principals of the vehicles in `given`, a row for each reason. The last two columns are for rows of `reach`."""
_SENSORS: Final = f"""{_OF_COMPANIES.format(thing="sensor")}
UNION ALL
SELECT thing.id, held.to_company_id, {Why.DELEGATED:d}, 0, NULL
FROM given CROSS JOIN sensor AS thing CROSS JOIN vehicle_company AS held
WHERE thing.id = given.id AND held.vehicle_id = thing.vehicle_id
UNION ALL
SELECT thing.id, vehicle.director_id, {Why.MANAGED:d}, 0, NULL
FROM given CROSS JOIN sensor AS thing CROSS JOIN vehicle
WHERE thing.id = given.id AND vehicle.id = thing.vehicle_id AND coalesce(vehicle.director_id, given.id) <> given.id
UNION ALL
SELECT thing.id, held.user_id, {_OF_RIGHT}, 0, NULL
FROM given CROSS JOIN sensor AS thing CROSS JOIN vehicle_user AS held
WHERE thing.id = given.id AND held.vehicle_id = thing.vehicle_id
"""
"""As `_VEHICLES`, of sensors, by the vehicle they are on."""


def _differing(kind: Kind, number: str, given: str, wanted: str) -> str:
    thing = kind.name.lower()
    return f"""
SELECT found.id, found.principal, {kind:d}, thing.{number}, thing.created_ms,
CASE WHEN thing.id IS NULL THEN 0 ELSE sum(found.bit) END
FROM (WITH given AS ({given}) {wanted}
UNION ALL
SELECT given.id, held.principal, 0, held.why, held.sort_key
FROM given CROSS JOIN reach AS held WHERE held.thing_id = given.id
) AS found LEFT JOIN {thing} AS thing ON thing.id = found.id
GROUP BY found.id, found.principal, thing.id, thing.{number}, thing.created_ms
HAVING thing.id IS NULL OR sum(found.bit) <> sum(found.had) OR max(found.had_key) <> thing.{number}
"""


def _compared(kind: Kind, shared: bool) -> Hot:
    """Build the statement that compares the rows of vehicles and the sensors on them, or of sensors."""
    given = _EACH[shared]
    if kind is Kind.SENSOR:
        return Hot(text(_differing(Kind.SENSOR, "serial_no", given, _SENSORS)), "ids")
    of_vehicles = _differing(Kind.VEHICLE, "vehicle_no", given, _VEHICLES)
    on_them = f"SELECT sensor.id FROM ({given}) AS onto CROSS JOIN sensor WHERE sensor.vehicle_id = onto.id"
    return Hot(text(f"{of_vehicles} UNION ALL {_differing(Kind.SENSOR, 'serial_no', on_them, _SENSORS)}"), "ids")


_COMPARED: Final = {(kind, shared): _compared(kind, shared) for kind in Kind for shared in (False, True)}
_DELETE: Final = {
    False: Hot(
        text(
            "DELETE FROM reach WHERE (thing_id, principal) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:gone))"
        ),
        "gone",
    ),
    True: Hot(
        text(
            "DELETE FROM reach USING unnest((SELECT CAST(:things AS text[])), (SELECT CAST(:principals AS text[])))"
            " AS gone (thing_id, principal)"
            " WHERE reach.thing_id = gone.thing_id AND reach.principal = gone.principal"
        ),
        "things",
        "principals",
    ),
}
_OWN_ROW: Final = f"(held.why & {Why.OWN:d}) <> 0"
_MEET: Final = Hot(
    text(
        f"SELECT 1 FROM ({_EACH[True]}) AS given JOIN reach AS held ON held.thing_id = given.id AND {_OWN_ROW}"
        " ORDER BY held.thing_id FOR NO KEY UPDATE OF held"
    ),
    "ids",
)
_TOUCH: Final = Hot(text(f"UPDATE reach AS held SET why = why WHERE thing_id = :vehicle AND {_OWN_ROW}"), "vehicle")
_COLUMNS: Final = ("thing_id", "principal", "kind", "sort_key", "created_ms", "why")
_WRITTEN: Final = Bulk(
    tables.reach,
    *_COLUMNS,
    on_conflict="ON CONFLICT (thing_id, principal) DO UPDATE SET sort_key = excluded.sort_key, why = excluded.why",
)
_NEW: Final = Bulk(tables.reach, "thing_id", "sort_key", "kind", "created_ms", "principal", "why")
_FORGET: Final = delete(tables.reach).where(tables.reach.c.principal == bindparam(PRINCIPAL))
_NEXT: Final = {
    kind: select(table.c.id).where(table.c.id > bindparam("after"), condition).order_by(table.c.id).limit(AT_ONCE)
    for kind, table, condition in (
        (Kind.VEHICLE, tables.vehicle, true()),
        (Kind.SENSOR, tables.sensor, tables.sensor.c.vehicle_id.is_(None)),
    )
}
_ORPHANS: Final = (
    select(tables.reach.c.thing_id)
    .where(
        ~exists().where(tables.vehicle.c.id == tables.reach.c.thing_id),
        ~exists().where(tables.sensor.c.id == tables.reach.c.thing_id),
    )
    .distinct()
    .limit(AT_ONCE)
)
