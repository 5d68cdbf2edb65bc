"""People of a company with one role, as a list: by name, e-mail or registration, and how many they are.

Not here: finding people of every company within reach (`numbers.py`).
"""

from enum import Enum
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Column, ColumnElement, Select, Subquery, bindparam, func, not_, or_, select

from tripline.domain import fields
from tripline.domain.access import Authority, Scope
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.store import prefixes, reached, scopes
from tripline.store.browsing import numbers, pages
from tripline.store.browsing.pages import ListQuery, Page, PageRequest, Source
from tripline.store.tables import account, vehicle, vehicle_user
from tripline.store.tables.base import lowered
from tripline.store.transactions import Hot, ReadTx


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which people of a company to list; None: any."""

    company_id: CompanyId | None
    role: Authority
    search: str | None = None
    """Beginning of the name or e-mail address, in any case, or of the telephone number."""
    enabled: bool | None = None


class ListedPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person as a list shows it."""

    id: UserId
    created_ms: int
    name: str
    email: str
    phone: str | None
    enabled: bool
    managed: int
    """Vehicles that this person manages."""
    rights: int
    """Single vehicles on which this person has a right."""
    vehicle_id: VehicleId | None
    """The vehicle that this person drives now; of several, any one."""
    vehicle_no: str | None


def page(tx: ReadTx, scope: Scope, filters: Filters, page_request: PageRequest) -> Page[ListedPerson]:
    """The people of the page that are inside the scope."""
    values = _values(scope, filters)
    found = _QUERY.page(tx, page_request, _sources(tx, scope, filters, values), values, search=filters.search)
    return found.mapped(_listed)


def count(tx: ReadTx, scope: Scope, filters: Filters) -> int:
    """How many people inside the scope the filters let pass."""
    values = _values(scope, filters)
    return _QUERY.count(tx, _sources(tx, scope, filters, values), values, search=filters.search)


class _Found(Enum):
    """How rows are found."""

    NAME = "along the names"
    ADDRESS = "by the index of e-mail addresses"
    ADDRESS_TESTED = "along the order, comparing addresses"
    PHONE = "by the index of telephone numbers"
    PHONE_TESTED = "along the order, comparing telephone numbers"


class _Which(NamedTuple):
    """What makes a statement."""

    found: _Found
    reaches: scopes.Reaches
    enabled: bool | None
    form: int = 0
    """Which of the forms of a telephone number."""


def _sources(tx: ReadTx, scope: Scope, filters: Filters, values: tuple[str | None, ...]) -> list[Source]:
    """Where the rows come from; they share none."""
    which = _Which(_Found.NAME, scope.reaches, filters.enabled)
    sources = [Source(_conditions, (which,), walked=True)]
    if not filters.search:
        return sources
    many = tx.hot(_past_range("login", 0), *values)
    sources.append(_beside_names(which._replace(found=_Found.ADDRESS_TESTED if many else _Found.ADDRESS)))
    for form in range(len(_phones(filters.search))):
        many = tx.hot(_past_range("phone", form), *values)
        found = _Found.PHONE_TESTED if many else _Found.PHONE
        sources.append(_beside_names(which._replace(found=found, form=form)))
    return sources


def _beside_names(which: _Which) -> Source:
    tested = which.found in (_Found.ADDRESS_TESTED, _Found.PHONE_TESTED)
    return Source(_conditions, (which,), walked=tested, named=False)


def _values(scope: Scope, filters: Filters) -> tuple[str | None, ...]:
    """In the order of `_NAMES`."""
    search = filters.search or ""
    beginnings = [fields.compared(search), *_phones(search)]
    beginnings += [""] * (_FORMS + 1 - len(beginnings))
    bounds = [bound for each in beginnings for bound in (each, each + prefixes.LAST)]
    return (
        *(scope.user_id, scope.company_id, filters.company_id or scope.company_id, filters.role.value),
        *(search, *bounds),
    )


def _phones(search: str) -> list[str]:
    """How a telephone number that begins so may be written; no number begins with two of them."""
    forms = numbers.phone_forms(search)
    return [each for each in forms if not any(each.startswith(other) for other in forms if other != each)]


def _conditions(which: _Which) -> list[ColumnElement[bool]]:
    row = account.c
    by_range = which.found in (_Found.ADDRESS, _Found.PHONE)
    role: ColumnElement[str] = reached.beside_index(row.authority) if by_range else row.authority
    conditions = [
        row.company_id == bindparam("of_company"),
        role == bindparam("of_role"),
        scopes.accounts(which.reaches),
        *_found_by(which),
    ]
    return conditions if which.enabled is None else [*conditions, row.enabled.is_(which.enabled)]


def _found_by(which: _Which) -> list[ColumnElement[bool]]:
    """That address or telephone number begins as searched for, and nothing that another source goes by does."""
    row = account.c
    login: ColumnElement[str] = reached.beside_index(row.login)
    text = lowered(bindparam("of_text", type_=row.name.type))
    no_name = func.substr(lowered(row.name), 1, func.length(text)) != text
    no_address = or_(login < bindparam("login_from_0"), login >= bindparam("login_to_0"))
    match which.found:
        case _Found.NAME:
            return []
        case _Found.ADDRESS:
            return [*_begins(row.login, "login"), no_name]
        case _Found.ADDRESS_TESTED:
            return [not_(no_address), no_name]
        case _Found.PHONE:
            return [*_begins(row.phone, "phone", which.form), no_name, no_address]
    return [*_begins(reached.beside_index(row.phone), "phone", which.form), no_name, no_address]


def _begins(column: ColumnElement[str], name: str, form: int = 0) -> list[ColumnElement[bool]]:
    return [column >= bindparam(f"{name}_from_{form}"), column < bindparam(f"{name}_to_{form}")]


@cache
def _past_range(name: str, form: int) -> Hot:
    """The person of the company after so many whose address or telephone number begins so."""
    column: Column[str] = account.c[name]
    within = select(account.c.company_id).where(
        account.c.company_id == bindparam("of_company"), *_begins(column, name, form)
    )
    # In the order of the index, so that no other one is taken.
    return Hot(within.order_by(account.c.company_id, column).limit(1).offset(pages.MANY), *_NAMES)


def _shown(page: Subquery) -> Select[Any]:
    row, drives = account.alias("shown"), vehicle.alias("drives")
    driven = select(func.min(vehicle.c.id)).where(vehicle.c.current_driver_id == row.c.id).scalar_subquery()
    managed = select(func.count()).where(vehicle.c.director_id == row.c.id).scalar_subquery()
    rights = select(func.count()).where(vehicle_user.c.user_id == row.c.id).scalar_subquery()
    looked_up: dict[str, ColumnElement[Any]] = {
        "managed": managed,
        "rights": rights,
        "vehicle_id": drives.c.id,
        "vehicle_no": drives.c.vehicle_no,
    }
    columns = [looked_up[name].label(name) if name in looked_up else row.c[name] for name in _FIELDS]
    joined = page.join(row, row.c.id == page.c.key).outerjoin(drives, drives.c.id == driven)
    return select(page.c.place, page.c.key, *columns).select_from(joined)


_FIELDS: Final = ListedPerson.__struct_fields__
_FORMS: Final = 2 + len(numbers.GROUPS)
"""Forms of a telephone number at most."""
_RANGES: Final = ("login_from_0", "login_to_0", *(f"phone_{end}_{n}" for n in range(_FORMS) for end in ("from", "to")))
_NAMES: Final = (scopes.USER, scopes.COMPANY, "of_company", "of_role", "of_text", *_RANGES)
_QUERY: Final = ListQuery(
    account.c.id,
    {"name": account.c.name, "email": account.c.login, "created": account.c.created_ms},
    "name",
    _shown,
    _NAMES,
)


def _listed(row: tuple[Any, ...]) -> ListedPerson:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedPerson(**{**values, "enabled": bool(values["enabled"])})
