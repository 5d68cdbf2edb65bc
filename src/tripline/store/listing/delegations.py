"""The lists of delegations of vehicles between companies, each of one side, and how many they are."""

from enum import Enum
from functools import cache, partial
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, FromClause, Select, bindparam, exists, func, or_, select

from tripline.domain.access import Scope
from tripline.domain.delegations import UserRole
from tripline.domain.ids import CompanyId, RecordId, VehicleId
from tripline.store import scopes
from tripline.store.listing import engine
from tripline.store.listing.engine import LISTED, THING, Filter, ListSpec, Search, tested
from tripline.store.listing.noun_list import Looked, NounList, shown
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.reach import Kind
from tripline.store.tables import company, vehicle, vehicle_company, vehicle_user
from tripline.store.transactions import ReadTx


class Side(Enum):
    """Which delegations of a company."""

    GIVEN = "its vehicles that others have"
    RECEIVED = "vehicles of others that it has"


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which delegations to list; None: any."""

    search: str | None = None
    """Beginning of the vehicle's number, in any case."""
    company_id: CompanyId | None = None
    """The other company."""
    automatic: bool | None = None
    """True: automatic ones to the operator; False: ones by choice; of given delegations."""
    used: bool | None = None
    """True: vehicles on which people of the company have rights; of received delegations."""


class ListedDelegation(msgspec.Struct, frozen=True):
    """A delegation as a list shows it."""

    id: RecordId
    created_ms: int
    vehicle_id: VehicleId
    vehicle_no: str
    company_id: CompanyId
    """The other company."""
    company_name: str
    automatic: bool
    directors: int
    """Rights of delegated directors that people of the receiving company have on it."""
    drivers: int


def page(tx: ReadTx, side: Side, scope: Scope, filters: Filters, page_request: PageRequest) -> Page[ListedDelegation]:
    """Return the delegations of the page on this side of the scope's company, of vehicles inside the scope."""
    return _list(side, by_time=page_request.by == "created").page(tx, scope, filters, page_request)


def count(tx: ReadTx, side: Side, scope: Scope, filters: Filters) -> int:
    """Return how many of these delegations the filters let pass."""
    return _list(side, by_time=not filters.search).count(tx, scope, filters)


def any_of(tx: ReadTx, side: Side, scope: Scope) -> bool:
    """Return True if there is such a delegation."""
    return bool(page(tx, side, scope, Filters(), PageRequest(limit=1, by="created")).rows)


_RIGHT: Final = vehicle_user.alias("held")
_ROW: Final = vehicle_company.alias("delegation")
_OPERATOR: Final = engine.own("master_id")


@cache
def _list(side: Side, *, by_time: bool) -> NounList[Filters, ListedDelegation]:
    """Return the list; `by_time`: along the delegations of the company, else along the numbers of its vehicles."""
    own, other = (_ROW.c[name] for name in _ENDS[side])
    mine = own == bindparam(scopes.COMPANY)

    def few(*conditions: ColumnElement[bool]) -> Select[Any]:
        return select(_ROW.c.id).where(mine, *conditions)

    # A partner's vehicles go to its operator automatically, and no other company has one so.
    automatic, chosen = other == _OPERATOR, or_(other < _OPERATOR, other > _OPERATOR)
    of_other = other == bindparam("company_id")
    used = exists().where(_RIGHT.c.company_id == own, _RIGHT.c.vehicle_id == _ROW.c.vehicle_id)
    of_people = select(_RIGHT.c.vehicle_id).where(_RIGHT.c.company_id == bindparam(scopes.COMPANY))
    spec = ListSpec(
        rows=_ROW,
        key=_ROW.c.id,
        kind=Kind.VEHICLE,
        thing=_ROW.c.vehicle_id if by_time else None,
        orders={"created": _ROW.c.created_ms}
        if by_time
        else {"number": LISTED.c.sort_key, "created": _ROW.c.created_ms},
        name=None if by_time else "number",
        searches=(_search(mine),) if by_time else (),
        filters={
            "used.True": Filter(where=used, few=few(_ROW.c.vehicle_id.in_(of_people))),
            "used.False": Filter(where=~used),
            "company_id": Filter(where=tested(of_other), few=few(of_other)),
            "automatic.False": Filter(where=tested(chosen), few=few(chosen)),
            "automatic.True": Filter(where=tested(automatic)),
        },
        always=(
            Filter(where=None if by_time else _ROW.c.vehicle_id == THING),
            Filter(where=mine if by_time else tested(mine), few=few()),
        ),
        shown=shown(ListedDelegation, vehicle_company, partial(_looked, other.name)),
    )
    return NounList(record=ListedDelegation, spec=spec)


def _search(mine: ColumnElement[bool]) -> Search:
    """Return the search by the beginning of the vehicle's number, for the list along the time of the delegations."""
    of = vehicle.alias("of_row")
    found = engine.beginning(vehicle.c.vehicle_no, vehicle.c.number_key, engine.own("service_type"))
    return Search(
        names=engine.BOUNDS,
        values=engine.bounds,
        where=exists().where(of.c.id == _ROW.c.vehicle_id, engine.begins(of.c.vehicle_no)),
        # From the numbers on, so that counting them can end early.
        few=found.with_only_columns(_ROW.c.id).where(_ROW.c.vehicle_id == vehicle.c.id, tested(mine)),
    )


def _looked(other: str, row: FromClause) -> Looked:
    of = vehicle.alias("of_shown")
    return Looked(
        {
            "vehicle_no": of.c.vehicle_no,
            "company_id": company.c.id,
            "company_name": company.c.name,
            "directors": _rights(row, UserRole.DELEGATED_DIRECTOR),
            "drivers": _rights(row, UserRole.DRIVER),
        },
        [(of, of.c.id == row.c.vehicle_id), (company, company.c.id == row.c[other])],
    )


def _rights(row: Any, role: UserRole) -> ColumnElement[int]:
    of_company = (_RIGHT.c.vehicle_id == row.c.vehicle_id, _RIGHT.c.company_id == row.c.to_company_id)
    return select(func.count()).where(*of_company, _RIGHT.c.user_role == role.value).scalar_subquery()


_ENDS: Final = {Side.GIVEN: ("from_company_id", "to_company_id"), Side.RECEIVED: ("to_company_id", "from_company_id")}
"""The columns of the company and of the other one."""
