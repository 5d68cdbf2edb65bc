"""Rows of calls to devices: requests, answers and outcomes, and reading them back: one, the newest, pages by key.

Callers check access to the sensor, or process answers of devices. A sensor goes from vehicle to vehicle: of its
calls those are shown that were within the scope when they were made.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, bindparam, delete, exists, func, insert, literal_column, select, update

from tripline.domain import ids
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, RequestId, RowNo, SensorId, TimeIds, VehicleId
from tripline.domain.rpc import Call, State, StoredCall
from tripline.store import lists, reach, records, scopes
from tripline.store.bulk import Bulk
from tripline.store.erasure import erasures
from tripline.store.lists import Span, UnknownOffset
from tripline.store.tables import activation, company, rpc_call, rpc_later_result, sensor
from tripline.store.transactions import Hot, ReadTx, WriteTx

_FIELDS: Final = list(Call.__struct_fields__)
_COLUMNS: Final = [rpc_call.c[name] for name in _FIELDS]


_call: Final = records.maker(Call)
_NEWEST: Final = Hot(select(func.coalesce(func.max(rpc_call.c.no), 0)))
_BY_ID: Final = Hot(select(*_COLUMNS).where(rpc_call.c.id == bindparam("key")), "key")
_STANDING: Final = Hot(
    select(rpc_call.c.response, rpc_call.c.result, rpc_call.c.result_code).where(rpc_call.c.no == bindparam("key")),
    "key",
)
_NEW: Final = Bulk(rpc_call, *_FIELDS, "params")
_WITH_SENSOR: Final = Hot(
    select(sensor.c.vehicle_id, *_COLUMNS)
    .select_from(rpc_call.join(sensor, sensor.c.id == rpc_call.c.sensor_id))
    .where(rpc_call.c.no == bindparam("key"))
    .with_for_update(of=rpc_call),
    "key",
)
_ACKNOWLEDGED, _CONCLUDED = (
    Hot(
        update(rpc_call)
        .where(rpc_call.c.no == bindparam("key"))
        .values({"state": bindparam("new_state"), part: bindparam("body")})
        .values({f"{part}_ms": bindparam("at_ms"), f"{part}_code": bindparam("code")}),
        *("new_state", "body", "at_ms", "code", "key"),
    )
    for part in ("response", "result")
)
_ENDED: Final = Hot(
    update(rpc_call)
    .where(rpc_call.c.no == bindparam("key"))
    .values(state=bindparam("new_state"), result_code=bindparam("code")),
    *("new_state", "code", "key"),
)
_OWNER: Final = Hot(select(sensor.c.company_id, sensor.c.vehicle_id).where(sensor.c.id == bindparam("key")), "key")
_WANTS_RESULTS: Final = Hot(
    select(func.trim(func.coalesce(company.c.rpc_notify_host, "")) != "").where(company.c.id == bindparam("key")), "key"
)


class Standing(msgspec.Struct, frozen=True):
    """The state of a call, for a caller waiting for its acknowledgement."""

    response: bytes | None
    result: bytes | None
    result_code: int | None


def newest_no(tx: ReadTx) -> int:
    """The greatest row number, or 0."""
    return tx.number(_NEWEST)


def owner_and_vehicle(tx: ReadTx, sensor_id: SensorId) -> tuple[CompanyId, VehicleId | None] | None:
    """Who owns a sensor and where it is; the caller was let pass. None when it is gone."""
    rows = tx.hot(_OWNER, sensor_id)
    return (rows[0][0], rows[0][1]) if rows else None


def owner_and_vehicle_inside(
    tx: ReadTx, scope: Scope, sensor_id: SensorId
) -> tuple[tuple[CompanyId, VehicleId | None], bool] | None:
    """Who owns a sensor and where it is, and whether it is inside the scope. None when it is gone."""
    rows = tx.hot(_owner_inside(scope.reaches), sensor_id, scope.user_id, scope.company_id)
    return ((rows[0][0], rows[0][1]), bool(rows[0][2])) if rows else None


@cache
def _owner_inside(reaches: scopes.Reaches) -> Hot:
    statement = select(sensor.c.company_id, sensor.c.vehicle_id, reach.predicate(reaches, sensor.c.id))
    return Hot(statement.where(sensor.c.id == bindparam("key")), "key", scopes.USER, scopes.COMPANY)


def insert_new(tx: WriteTx, call: Call, params: bytes) -> None:
    """Keep a new call, with its parameters as they are forwarded."""
    _NEW.insert(tx, [*(getattr(call, name) for name in _FIELDS), params])


def find(tx: ReadTx, request_id: RequestId) -> Call | None:
    """The call with this Request-ID; the caller made it."""
    rows = tx.hot(_BY_ID, request_id)
    return _call(rows[0]) if rows else None


def standing(tx: ReadTx, call_no: RowNo) -> Standing | None:
    """How the call stands; None when it is gone."""
    rows = tx.hot(_STANDING, call_no)
    return Standing(*rows[0]) if rows else None


def of_requests(
    tx: WriteTx, scope: Scope, request_ids: Collection[RequestId]
) -> dict[RequestId, tuple[Call, VehicleId | None]]:
    """Lock and return the calls with these Request-IDs whose sensor exists, with the sensor's current vehicle.

    The scope must be the pipeline's: every sensor's rows.
    """
    scope.require_everything()
    numbers = sorted({ids.no_of(request_id) for request_id in request_ids})
    found = [row for no in numbers for row in tx.hot(_WITH_SENSOR, no)]
    calls = ((row[0], _call(row[1:])) for row in found)
    return {call.id: (call, mounted_on) for mounted_on, call in calls if call.id in request_ids}


def without_end(tx: ReadTx, sensor_id: SensorId, *, limit: int) -> list[Call]:
    """The newest unfinished calls of a sensor."""
    unfinished = rpc_call.c.sensor_id == sensor_id, rpc_call.c.state.in_((State.REQUESTED, State.ACKED))
    newest = select(*_COLUMNS).where(*unfinished).order_by(rpc_call.c.no.desc()).limit(limit)
    return [_call(row) for row in tx.all(newest)]


def overdue(tx: ReadTx, *, before_ms: int, limit: int, lock: bool = False) -> list[Call]:
    """Unfinished calls without an acknowledgement by this instant; `lock` locks them and skips those locked by
    others."""
    # As text, for the index is over these rows alone.
    unanswered: ColumnElement[bool] = literal_column("state = 'REQUESTED'")
    first = (
        select(*_COLUMNS)
        .where(unanswered, rpc_call.c.deadline_ms < before_ms)
        .order_by(rpc_call.c.deadline_ms)
        .limit(limit)
    )
    return [_call(row) for row in tx.all(first.with_for_update(skip_locked=True) if lock else first)]


def acknowledge(tx: WriteTx, calls: Iterable[tuple[Call, bytes]]) -> None:
    """Write the acknowledgements that came, with their bodies."""
    for call, body in calls:
        tx.hot(_ACKNOWLEDGED, call.state.value, body, call.response_ms, call.response_code, call.no)


def conclude(tx: WriteTx, calls: Iterable[tuple[Call, bytes]]) -> None:
    """Write the results that came, with their bodies."""
    for call, body in calls:
        tx.hot(_CONCLUDED, call.state.value, body, call.result_ms, call.result_code, call.no)


def end(tx: WriteTx, calls: Sequence[Call]) -> None:
    """Write that the platform ended these calls."""
    for call in calls:
        tx.hot(_ENDED, call.state.value, call.result_code, call.no)


def later_results(tx: ReadTx, call_no: RowNo) -> int:
    """Count the stored results of a call beside the effective one; no body is read."""
    return tx.count(rpc_later_result.c.call_no == call_no)


def result_bodies(tx: ReadTx, call_no: RowNo) -> list[bytes]:
    """The stored results of a call, the effective one first."""
    first = tx.all(select(rpc_call.c.result).where(rpc_call.c.no == call_no, rpc_call.c.result.is_not(None)))
    later = select(rpc_later_result.c.body).where(rpc_later_result.c.call_no == call_no)
    return [row[0] for row in (*first, *tx.all(later.order_by(rpc_later_result.c.no)))]


def add_later_result(tx: WriteTx, maker: TimeIds, no: RowNo, call_no: RowNo, code: int | None, body: bytes) -> None:
    """Keep a result that does not count (R4). It is numbered behind all others; `no` is its place by our clock."""
    newest = 0 if tx.shared else tx.all(select(func.coalesce(func.max(rpc_later_result.c.no), 0)))[0][0]
    behind = maker.behind(max(no - 1, newest)).start
    tx.run(insert(rpc_later_result), {"no": behind, "call_no": call_no, "code": code, "body": body})


def wants_results(tx: ReadTx, company_id: CompanyId) -> bool:
    """True if a company has an address for results of calls (spec/push 4.3)."""
    rows = tx.hot(_WANTS_RESULTS, company_id)
    return bool(rows and rows[0][0])


def purge(tx: WriteTx, *, before_no: RowNo, limit: int) -> int:
    """Delete some calls older than this row number; skips calls of pending activations; return how many."""
    gone = old(tx, before_no=before_no, limit=limit)
    forget(tx, gone)
    return len(gone)


def old(tx: ReadTx, *, before_no: RowNo, limit: int) -> list[RowNo]:
    """Row numbers of the oldest calls before this one; skips calls of pending activations."""
    pending = exists().where(activation.c.sensor_id == rpc_call.c.sensor_id, activation.c.call_id == rpc_call.c.id)
    oldest = select(rpc_call.c.no).where(rpc_call.c.no < before_no, ~pending).order_by(rpc_call.c.no)
    return [row.no for row in tx.all(oldest.limit(limit))]


def erase_of_sensor(tx: WriteTx, sensor_id: SensorId, *, limit: int) -> int:
    """Delete some calls of a deleted sensor; how many."""
    some = select(rpc_call.c.no).where(rpc_call.c.sensor_id == sensor_id).limit(limit)
    gone = [row.no for row in tx.all(some)]
    forget(tx, gone)
    return len(gone)


def forget(tx: WriteTx, call_nos: Sequence[RowNo]) -> None:
    """Delete these calls with their later results."""
    if call_nos:
        tx.run(delete(rpc_later_result).where(rpc_later_result.c.call_no.in_(call_nos)))
        tx.run(delete(rpc_call).where(rpc_call.c.no.in_(call_nos)))


_STORED: Final[list[ColumnElement[Any]]] = [
    erasures.mentioned(rpc_call.c.vehicle_id) if name == "vehicle_id" else rpc_call.c[name]
    for name in StoredCall.__struct_fields__
]


_stored: Final = records.maker(StoredCall)


def find_stored(tx: ReadTx, scope: Scope, sensor_id: SensorId, request_id: RequestId) -> tuple[StoredCall, bool] | None:
    """The sensor's call and whether it is inside the scope; None when the sensor has none with this Request-ID."""
    of_sensor = rpc_call.c.id == request_id, rpc_call.c.sensor_id == sensor_id
    statement = select(*_STORED, scopes.calls(scope.reaches)).where(*of_sensor)
    return scopes.found(tx.all(statement, scopes.values(scope)), _stored)


def latest_stored(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> StoredCall | None:
    """The sensor's newest call inside the scope."""
    found = stored_of_sensor(tx, scope, sensor_id, Span(limit=1))
    return found[0] if found else None


def stored_of_sensor(tx: ReadTx, scope: Scope, sensor_id: SensorId, span: Span) -> Sequence[StoredCall]:
    """Calls of the sensor inside the scope, by creation. Raises `UnknownOffset`."""
    found = None if span.after is None else find_stored(tx, scope, sensor_id, RequestId(span.after))
    if span.after is not None and (found is None or not found[1]):
        raise UnknownOffset.of_list()
    place = None if found is None else found[0].no
    rows = _of_sensor(scope.reaches).page(tx, span, place, sensor_id, scope.user_id, scope.company_id)
    return [_stored(row) for row in rows]


@cache
def _of_sensor(reaches: scopes.Reaches) -> lists.ByNumber:
    of_it = rpc_call.c.sensor_id == bindparam("sensor_id"), scopes.calls(reaches)
    return lists.ByNumber(select(*_STORED).where(*of_it), rpc_call.c.no, "sensor_id", scopes.USER, scopes.COMPANY)
