"""Calls to devices as they are read back: one, the newest, pages by key.

The caller has asked before whether the sensor is inside the scope (`sensors.inside`). A sensor goes from vehicle to
vehicle: of its calls those are shown that were within the scope when they were made.

Not here: writing them (`calls.py`).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, bindparam, select

from tripline.domain.access import Scope
from tripline.domain.ids import RequestId, SensorId
from tripline.domain.rpc import State, StoredCall
from tripline.store import lists, scopes
from tripline.store.erasure import erasures
from tripline.store.lists import Span, UnknownOffset
from tripline.store.tables import rpc_call
from tripline.store.transactions import Hot, ReadTx

_COLUMNS: Final[list[ColumnElement[Any]]] = [
    erasures.mentioned(rpc_call.c.vehicle_id) if name == "vehicle_id" else rpc_call.c[name]
    for name in StoredCall.__struct_fields__
]


def find(tx: ReadTx, scope: Scope, sensor_id: SensorId, request_id: RequestId) -> tuple[StoredCall, bool] | None:
    """The sensor's call and whether it is inside the scope; None when the sensor has none with this Request-ID."""
    rows = tx.hot(_find(scope.reaches), request_id, sensor_id, scope.user_id, scope.company_id)
    return (_call(rows[0]), bool(rows[0][-1])) if rows else None


def latest(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> StoredCall | None:
    """The sensor's newest call inside the scope."""
    found = of_sensor(tx, scope, sensor_id, Span(limit=1))
    return found[0] if found else None


def of_sensor(tx: ReadTx, scope: Scope, sensor_id: SensorId, span: Span) -> Sequence[StoredCall]:
    """Calls of the sensor inside the scope, by creation. Raises `UnknownOffset`."""
    found = None if span.after is None else find(tx, scope, sensor_id, RequestId(span.after))
    if span.after is not None and (found is None or not found[1]):
        raise UnknownOffset.of_list()
    bounds = lists.numbers(span, None if found is None else found[0].no)
    statement = _page(scope.reaches, span.ascending)
    rows = tx.hot(statement, sensor_id, *bounds, span.limit, scope.user_id, scope.company_id)
    return [_call(row) for row in rows]


@cache
def _find(reaches: scopes.Reaches) -> Hot:
    statement = select(*_COLUMNS, scopes.calls(reaches)).where(
        rpc_call.c.id == bindparam("key"), rpc_call.c.sensor_id == bindparam("of_sensor")
    )
    return Hot(statement, "key", "of_sensor", scopes.USER, scopes.COMPANY)


@cache
def _page(reaches: scopes.Reaches, ascending: bool) -> Hot:
    no = rpc_call.c.no
    statement = (
        select(*_COLUMNS)
        .where(
            rpc_call.c.sensor_id == bindparam("of_sensor"),
            no >= bindparam("first"),
            no < bindparam("end"),
            scopes.calls(reaches),
        )
        .order_by(no if ascending else no.desc())
        .limit(bindparam("limit"))
    )
    return Hot(statement, "of_sensor", "first", "end", "limit", scopes.USER, scopes.COMPANY)


def _call(row: tuple[Any, ...]) -> StoredCall:
    values = dict(zip((name for name in StoredCall.__struct_fields__), row, strict=False))
    values["state"] = State(values["state"])
    return StoredCall(**values)
