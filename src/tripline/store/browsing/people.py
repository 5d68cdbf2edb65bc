"""People of a company with one role, as a list: by name, e-mail or registration, and how many they are."""

from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, bindparam, func, select

from tripline.domain.access import Authority, Scope
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.store import scopes
from tripline.store.browsing.turns import Browsed, Slice, Source, Turn
from tripline.store.tables import account, vehicle, vehicle_user
from tripline.store.transactions import ReadTx


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which people of a company to list; None: any."""

    company_id: CompanyId | None
    role: Authority
    search: str | None = None
    """Beginning of the name, in any case."""
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


def page(tx: ReadTx, scope: Scope, filters: Filters, turn: Turn) -> Slice[ListedPerson]:
    """The people of the turn that are inside the scope."""
    found = _BROWSED.page(tx, turn, _sources(scope, filters), _values(scope, filters), search=filters.search)
    return found.mapped(_listed)


def count(tx: ReadTx, scope: Scope, filters: Filters) -> int:
    """How many people inside the scope the filters let pass."""
    return _BROWSED.count(tx, _sources(scope, filters), _values(scope, filters), search=filters.search)


class _Which(NamedTuple):
    """What makes a statement."""

    reaches: scopes.Reaches
    enabled: bool | None


def _sources(scope: Scope, filters: Filters) -> list[Source]:
    return [Source(_conditions, (_Which(scope.reaches, filters.enabled),), walked=True)]


def _values(scope: Scope, filters: Filters) -> tuple[str | None, ...]:
    return scope.user_id, scope.company_id, filters.company_id or scope.company_id, filters.role.value


def _conditions(which: _Which) -> list[ColumnElement[bool]]:
    conditions = [
        account.c.company_id == bindparam("of_company"),
        account.c.authority == bindparam("of_role"),
        scopes.accounts(which.reaches),
    ]
    return conditions if which.enabled is None else [*conditions, account.c.enabled.is_(which.enabled)]


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
_BROWSED: Final = Browsed(
    account.c.id,
    {"name": account.c.name, "email": account.c.login, "created": account.c.created_ms},
    "name",
    _shown,
    (scopes.USER, scopes.COMPANY, "of_company", "of_role"),
)


def _listed(row: tuple[Any, ...]) -> ListedPerson:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedPerson(**{**values, "enabled": bool(values["enabled"])})
