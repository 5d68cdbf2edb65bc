"""Rows of rescorings."""

from functools import cache
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, Update, bindparam, delete, func, insert, literal_column, select, update

from tripline.domain import ids
from tripline.domain.access import Reach, Scope
from tripline.domain.ids import CompanyId, RowNo, UserId
from tripline.domain.rescorings import Batch, Rescoring, RescoringRequest, Stage, UnderWay
from tripline.store import lists, records, scopes
from tripline.store.database import uniqueness
from tripline.store.erasure import erasures
from tripline.store.lists import Span
from tripline.store.tables import company, rescoring, scoring_job, trip
from tripline.store.transactions import AnyRow, Hot, ReadTx, WriteTx

_RUNNING: Final[ColumnElement[bool]] = literal_column(f"rescoring.state = '{Stage.RUNNING}'")
"""As text, for the index is over these rows alone."""
_AREA: Final = "area"


def keep(
    tx: WriteTx,
    *,
    rescoring_id: str,
    company_id: CompanyId,
    requested_by: UserId,
    asked: RescoringRequest,
    outcome: bytes,
    state: Stage,
    now_ms: int,
) -> None:
    """Write a new rescoring. Raises `UnderWay` while the company has one that is not at its end."""
    row = {"no": ids.no_of(rescoring_id), "id": rescoring_id, "company_id": company_id, "requested_by": requested_by}
    row |= {"state": state.value, "due_ms": now_ms, "outcome": _with_area(outcome, asked)}
    row |= dict.fromkeys(("first_no", "after_no", "looked_at"), 0)
    row |= {name: value for name, value in msgspec.structs.asdict(asked).items() if name != _AREA}
    with uniqueness.refusing(((rescoring.c.company_id,), UnderWay())):
        tx.run(insert(rescoring), row)


def forget_old(tx: WriteTx, company_id: CompanyId, *, kept: int) -> None:
    """Forget all of a company but the newest."""
    of_company = select(rescoring.c.no).where(rescoring.c.company_id == company_id)
    old = of_company.order_by(rescoring.c.no.desc()).offset(kept)
    if numbers := [row.no for row in tx.all(old)]:
        tx.run(delete(rescoring).where(rescoring.c.no.in_(numbers)))


def inside(tx: ReadTx, scope: Scope, rescoring_id: str) -> tuple[Rescoring, bool] | None:
    """A rescoring, and whether its company is inside the scope; None: there is none."""
    values = {"of_id": rescoring_id, **scopes.values(scope)}
    return scopes.found(tx.all(_one(scope.reaches), values), _rescoring)


def newest(tx: ReadTx, company_id: CompanyId) -> Rescoring | None:
    """The newest rescoring of a company."""
    row = tx.one(_NEWEST, {"company": company_id})
    return None if row is None else _rescoring(row)


def of_company(tx: ReadTx, company_id: CompanyId, span: Span) -> list[Rescoring]:
    """The rescorings of a company, by time of request. Raises `UnknownOffset`."""
    of_it = rescoring.c.company_id == company_id
    page = lists.in_span(tx, _rescorings().where(of_it), rescoring, span, of=of_it)
    return [_rescoring(row) for row in tx.all(page)]


def close(tx: WriteTx, no: RowNo, state: Stage, *, now_ms: int) -> bool:
    """Give a running rescoring its final state; True if it was still running."""
    values = {"state": state.value, "ended_ms": now_ms, "bite": None}
    return bool(tx.run(update(rescoring).where(rescoring.c.no == no, _RUNNING).values(values)))


def any_due(tx: ReadTx, *, now_ms: int) -> bool:
    """True if a rescoring is due for a worker."""
    return bool(tx.hot(_ANY_DUE, now_ms))


def take(tx: WriteTx, *, now_ms: int, until_ms: int) -> Rescoring | None:
    """Lease the rescoring that has waited longest to the caller; None if none is due."""
    row = tx.one(_FIRST_DUE, {"now": now_ms})
    if row is None:
        return None
    tx.run(update(rescoring).where(rescoring.c.no == row.no).values(due_ms=until_ms))
    return msgspec.structs.replace(_rescoring(row), due_ms=until_ms)


def put_off(tx: WriteTx, taken: Rescoring, *, due_ms: int) -> bool:
    """Move the lease of a rescoring on; False: it is cancelled, or another worker's by now."""
    return bool(tx.run(_held(taken).values(due_ms=due_ms)))


def go_on(tx: WriteTx, taken: Rescoring, now: Rescoring) -> bool:
    """Write how far a rescoring is and when it goes on; False: it is cancelled, or another worker's by now."""
    values = {name: getattr(now, name) for name in ("due_ms", "first_no", "after_no", "looked_at", "ended_ms")}
    bite = None if now.batch is None else msgspec.json.encode(now.batch)
    values |= {"state": now.state.value, "outcome": _with_area(now.outcome, now.asked), "bite": bite}
    return bool(tx.run(_held(taken).values(values)))


def first_trip(tx: ReadTx) -> int:
    """Row number of the first trip that there is; 0: none."""
    return tx.all(select(func.min(trip.c.no)))[0][0] or 0


def jobs_due(tx: ReadTx, *, now_ms: int, most: int) -> int:
    """How many scoring jobs are due, counted up to so many."""
    due = select(scoring_job.c.trip_no).where(scoring_job.c.due_ms <= now_ms).limit(most)
    counted: int = tx.all(select(func.count()).select_from(due.subquery()))[0][0]
    return counted


def _held(taken: Rescoring) -> Update:
    """Update the row only while it runs under the caller's lease."""
    return update(rescoring).where(rescoring.c.no == taken.no, _RUNNING, rescoring.c.due_ms == taken.due_ms)


def _with_area(outcome: bytes, asked: RescoringRequest) -> bytes:
    """The JSON of the counts with the area of the request beside them, which has no column of its own."""
    if asked.area is None:
        return outcome
    return msgspec.json.encode(msgspec.json.decode(outcome, type=dict[str, Any]) | {_AREA: asked.area})


def _rescorings() -> Select[Any]:
    requester = erasures.mentioned(rescoring.c.requested_by).label("requested_by")
    return select(*(column for column in rescoring.c if column.name != requester.name), requester)


@cache
def _one(reaches: frozenset[Reach]) -> Select[Any]:
    joined = rescoring.join(company, company.c.id == rescoring.c.company_id)
    found = _rescorings().add_columns(scopes.companies(reaches).label("inside")).select_from(joined)
    return found.where(rescoring.c.id == bindparam("of_id"))


_DUE: Final = rescoring.c.due_ms <= bindparam("now")
_ANY_DUE: Final = Hot(select(rescoring.c.no).where(_RUNNING, _DUE).limit(1), "now")
_FIRST_DUE: Final = (
    _rescorings()
    .where(_RUNNING, _DUE)
    .order_by(rescoring.c.due_ms, rescoring.c.no)
    .limit(1)
    .with_for_update(of=rescoring, skip_locked=True)
)
_NEWEST: Final = (
    _rescorings().where(rescoring.c.company_id == bindparam("company")).order_by(rescoring.c.no.desc()).limit(1)
)


def _rescoring(row: AnyRow) -> Rescoring:
    area = msgspec.json.decode(row.outcome, type=dict[str, Any]).get(_AREA)
    asked = RescoringRequest(**records.given(RescoringRequest, row), area=area)
    batch = None if row.bite is None else msgspec.json.decode(row.bite, type=Batch)
    return Rescoring(**records.given(Rescoring, row), asked=asked, batch=batch)
