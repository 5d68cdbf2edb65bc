"""The list of a company's people with one role, and how many they are.

Not here: finding people of every company within a scope (`numbers.py`).
"""

from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, and_, bindparam, func, or_, select

from tripline.domain import fields
from tripline.domain.access import Authority, Scope
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.store import prefixes, scopes
from tripline.store.listing import engine, numbers
from tripline.store.listing.engine import Filter, ListQuery, ListSpec, Search
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.tables import account, vehicle, vehicle_user
from tripline.store.transactions import ReadTx


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
    """Return the people of the page that are inside the scope."""
    return SPEC.page(tx, _query(scope, filters), page_request).mapped(_listed)


def count(tx: ReadTx, scope: Scope, filters: Filters) -> int:
    """Return how many people inside the scope the filters let pass."""
    return SPEC.count(tx, _query(scope, filters))


def _query(scope: Scope, filters: Filters) -> ListQuery:
    chosen = {
        "company": filters.company_id or scope.company_id,
        "role": filters.role.value,
        _ENABLED.get(filters.enabled, ""): True,
    }
    return engine.query_of(scope, chosen, filters.search)


_ENABLED: Final[dict[bool | None, str]] = {True: "enabled", False: "disabled"}
_FORMS: Final = 2 + len(numbers.GROUPS)
"""Forms of a telephone number at most."""


def _range(column: ColumnElement[Any], n: int) -> ColumnElement[bool]:
    return and_(column >= bindparam(f"{column.name}_from_{n}"), column < bindparam(f"{column.name}_to_{n}"))


def _search(column: Any, forms: int, of: Any) -> Search:
    """Return the search for people of the company whose column begins with one of the forms of the text."""

    def values(text: str) -> tuple[str, ...] | None:
        found = of(text)
        padded = [*found, *(found[-1:] * (forms - len(found)))]
        return tuple(bound for each in padded for bound in (each, each + prefixes.LAST)) if found else None

    begins = or_(*(_range(column, n) for n in range(forms)))
    return Search(
        names=tuple(f"{column.name}_{end}_{n}" for n in range(forms) for end in ("from", "to")),
        values=values,
        where=begins,
        few=select(account.c.id).where(account.c.company_id == bindparam("company"), begins),
    )


def _shown(page: Subquery) -> Select[Any]:
    row, drives = account.alias("shown"), vehicle.alias("drives")
    driven = select(func.min(vehicle.c.id)).where(vehicle.c.current_driver_id == row.c.id).scalar_subquery()
    looked_up: dict[str, ColumnElement[Any]] = {
        "managed": select(func.count()).where(vehicle.c.director_id == row.c.id).scalar_subquery(),
        "rights": select(func.count()).where(vehicle_user.c.user_id == row.c.id).scalar_subquery(),
        "vehicle_id": drives.c.id,
        "vehicle_no": drives.c.vehicle_no,
    }
    joined = page.join(row, row.c.id == page.c.key).outerjoin(drives, drives.c.id == driven)
    return select(page.c.place, page.c.key, *engine.fields(_FIELDS, row, looked_up)).select_from(joined)


_FIELDS: Final = ListedPerson.__struct_fields__


def _listed(row: tuple[Any, ...]) -> ListedPerson:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedPerson(**{**values, "enabled": bool(values["enabled"])})


SPEC: Final = ListSpec(
    rows=account,
    key=account.c.id,
    orders={"name": account.c.name, "email": account.c.login, "created": account.c.created_ms},
    name="name",
    inside=scopes.accounts,
    searches=(
        _search(account.c.login, 1, lambda text: [fields.compared(text)]),
        _search(account.c.phone, _FORMS, numbers.phone_forms),
    ),
    values=("company", "role"),
    filters={
        "company": Filter(where=account.c.company_id == bindparam("company"), leads=True),
        "role": Filter(where=account.c.authority == bindparam("role"), leads=True),
        "enabled": Filter(where=account.c.enabled.is_(True)),
        "disabled": Filter(where=account.c.enabled.is_(False)),
    },
    shown=_shown,
)
