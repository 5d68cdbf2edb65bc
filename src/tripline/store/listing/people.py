"""The list of a company's people with one role, and how many they are."""

from typing import Any, Final

import msgspec
from msgspec.structs import replace
from sqlalchemy import ColumnElement, FromClause, and_, bindparam, func, or_, select

from tripline.domain import fields
from tripline.domain.access import Authority, Scope
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.store import prefixes, scopes
from tripline.store.listing import numbers
from tripline.store.listing.engine import Filter, ListQuery, ListSpec, Search
from tripline.store.listing.noun_list import Looked, NounList, by_field, shown
from tripline.store.tables import account, vehicle, vehicle_user


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which people of a company to list; None: any."""

    company_id: CompanyId | None
    role: Authority
    search: str | None = None
    """Beginning of the name or e-mail address, in any case, or of the telephone number."""
    enabled: bool | None = None


class ListedPerson(msgspec.Struct, frozen=True):
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


def _query(scope: Scope | None, filters: Filters) -> ListQuery:
    assert scope is not None
    mine = replace(filters, company_id=filters.company_id or scope.company_id)
    return by_field(SPEC, scope, mine)


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
        few=select(account.c.id).where(account.c.company_id == bindparam("company_id"), begins),
    )


def _looked(row: FromClause) -> Looked:
    drives = vehicle.alias("drives")
    driven = select(func.min(vehicle.c.id)).where(vehicle.c.current_driver_id == row.c.id).scalar_subquery()
    return Looked(
        {
            "managed": select(func.count()).where(vehicle.c.director_id == row.c.id).scalar_subquery(),
            "rights": select(func.count()).where(vehicle_user.c.user_id == row.c.id).scalar_subquery(),
            "vehicle_id": drives.c.id,
            "vehicle_no": drives.c.vehicle_no,
        },
        [(drives, drives.c.id == driven)],
    )


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
    filters={
        "company_id": Filter(where=account.c.company_id == bindparam("company_id"), leads=True),
        "role": Filter(where=account.c.authority == bindparam("role"), leads=True),
        "enabled.True": Filter(where=account.c.enabled.is_(True)),
        "enabled.False": Filter(where=account.c.enabled.is_(False)),
    },
    shown=shown(ListedPerson, account, _looked),
)
LIST: Final[NounList[Filters, ListedPerson]] = NounList(record=ListedPerson, spec=SPEC, query=_query)
