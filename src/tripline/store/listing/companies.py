"""The list of companies within a scope, and how many they are."""

from typing import Final

import msgspec
from sqlalchemy import FromClause, bindparam, func, null, select

from tripline.domain.ids import CompanyId
from tripline.store import scopes
from tripline.store.listing.engine import Filter, ListSpec
from tripline.store.listing.noun_list import Looked, NounList, shown
from tripline.store.tables import account, company, sensor, vehicle


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which companies to list; None: any."""

    service_type: str | None = None
    search: str | None = None
    """Beginning of the name, in any case."""
    operators: bool | None = None
    """Operators alone, or partners alone."""


class ListedCompany(msgspec.Struct, frozen=True):
    """A company as a list shows it."""

    id: CompanyId
    created_ms: int
    name: str
    service_type: str
    master: bool
    region: str | None
    pic_name: str | None
    pic_email: str | None
    pic_phone: str | None
    vehicles: int | None
    """None, like the next two: not counted."""
    sensors: int | None
    people: int | None


def _looked(row: FromClause, counted: bool = True) -> Looked:
    held = {"vehicles": vehicle, "sensors": sensor, "people": account}
    return Looked(
        {
            name: select(func.count()).where(rows.c.company_id == row.c.id).scalar_subquery() if counted else null()
            for name, rows in held.items()
        }
    )


SPEC: Final = ListSpec(
    rows=company,
    key=company.c.id,
    orders={"name": company.c.name, "created": company.c.created_ms},
    name="name",
    inside=scopes.companies,
    filters={
        "service_type": Filter(where=company.c.service_type == bindparam("service_type")),
        "operators.True": Filter(where=company.c.master.is_(True)),
        "operators.False": Filter(where=company.c.master.is_(False)),
    },
    shown=shown(ListedCompany, company, _looked),
)
LIST: Final[NounList[Filters, ListedCompany]] = NounList(record=ListedCompany, spec=SPEC)
"""With False as a further argument of its page, vehicles, sensors and people are not counted, which takes a walk
through all of them."""
