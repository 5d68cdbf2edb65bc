"""The list of services: each service type, its operator, and the numbers of its vehicles, sensors and
accounts.
"""

from typing import Final

import msgspec
from sqlalchemy import ColumnElement, FromClause, exists, func, select

from tripline.domain.access import Authority
from tripline.domain.ids import CompanyId
from tripline.store.listing.engine import Filter, ListSpec
from tripline.store.listing.noun_list import Looked, NounList, shown
from tripline.store.tables import account, company, sensor, vehicle


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which services to list; None: any."""

    search: str | None = None
    """Beginning of the service type, in any case."""
    enabled: bool | None = None


class ListedService(msgspec.Struct, frozen=True):
    """A service as a list shows it."""

    id: CompanyId
    """Of the operator."""
    created_ms: int
    service_type: str
    name: str
    """Of the operator."""
    companies: int
    """The operator and its partners."""
    vehicles: int
    sensors: int
    accounts: int
    enabled: bool
    """True if an administrator of the operator may sign in."""


def _enabled(operator: FromClause) -> ColumnElement[bool]:
    return exists().where(
        account.c.company_id == operator.c.id, account.c.authority == Authority.COMPANY_ADMIN.value, account.c.enabled
    )


def _looked(row: FromClause) -> Looked:
    inside = company.alias("inside")
    companies = select(inside.c.id).where(inside.c.service_type == row.c.service_type).correlate(row)
    return Looked(
        {
            "companies": _counted(inside.c.service_type == row.c.service_type),
            "vehicles": _counted(vehicle.c.service_type == row.c.service_type),
            "sensors": _counted(sensor.c.service_type == row.c.service_type),
            "accounts": _counted(account.c.company_id.in_(companies)),
            "enabled": _enabled(row),
        }
    )


def _counted(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return select(func.count()).where(condition).scalar_subquery()


_SPEC: Final = ListSpec(
    rows=company,
    key=company.c.id,
    orders={"service": company.c.service_type, "name": company.c.name, "created": company.c.created_ms},
    name="service",
    always=(Filter(where=company.c.master.is_(True)),),
    filters={"enabled.True": Filter(where=_enabled(company)), "enabled.False": Filter(where=~_enabled(company))},
    shown=shown(ListedService, company, _looked),
)
LIST: Final[NounList[Filters, ListedService]] = NounList(record=ListedService, spec=_SPEC)
