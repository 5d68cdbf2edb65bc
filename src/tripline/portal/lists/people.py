"""The lists of directors and of drivers, of the visitor's company or of the company in the address.

Not here: one person (`records/people.py`).
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from litestar.response import Response

from tripline.domain.access import Action, Actor, Authority
from tripline.domain.ids import CompanyId
from tripline.http.context.base import Call
from tripline.portal.frame.page import page
from tripline.portal.lists import table_pages
from tripline.portal.lists.tables import Column, Filter, ListRequest, Table
from tripline.services.fleet import companies, lists
from tripline.store.browsing.pages import Page, PageRequest
from tripline.store.browsing.people import Filters, ListedPerson
from tripline.store.transactions import ReadTx


@page("GET", "/fleet/directors", access=Action.PERSON_LIST)
async def directors(request: Call) -> Response[bytes]:
    """The directors of a company."""
    return await table_pages.listed(request, DIRECTORS, create=Action.PERSON_CREATE, names=_names)


@page("GET", "/fleet/directors/count", access=Action.PERSON_LIST)
async def count_directors(request: Call) -> Response[bytes]:
    """Number of directors."""
    return await table_pages.counted(request, DIRECTORS)


@page("GET", "/fleet/drivers", access=Action.PERSON_LIST)
async def drivers(request: Call) -> Response[bytes]:
    """The drivers of a company."""
    return await table_pages.listed(request, DRIVERS, create=Action.PERSON_CREATE, names=_names)


@page("GET", "/fleet/drivers/count", access=Action.PERSON_LIST)
async def count_drivers(request: Call) -> Response[bytes]:
    """Number of drivers."""
    return await table_pages.counted(request, DRIVERS)


def _filters(role: Authority, wanted: ListRequest) -> Filters:
    chosen = wanted.chosen
    return Filters(
        company_id=CompanyId(chosen["company"]) if "company" in chosen else None,
        role=role,
        search=wanted.search,
        enabled=_ENABLED.get(chosen.get("enabled", "")),
    )


def _page(
    role: Authority, tx: ReadTx, actor: Actor, wanted: ListRequest, page_request: PageRequest
) -> Page[ListedPerson]:
    return lists.people_of(tx, actor=actor, filters=_filters(role, wanted), page_request=page_request)


def _count(role: Authority, tx: ReadTx, actor: Actor, wanted: ListRequest) -> int:
    return lists.count_people(tx, actor=actor, filters=_filters(role, wanted))


def _names(tx: ReadTx, actor: Actor, wanted: ListRequest) -> Mapping[str, str]:
    """Name of the company in the filter. Raises `NotFound` and `Forbidden`."""
    if "company" not in wanted.chosen:
        return {}
    company_id = CompanyId(wanted.chosen["company"])
    return {"company": companies.read(tx, actor=actor, company_id=company_id).name}


def _table(noun: str, role: Authority, icon: str, *of_role: Column) -> Table:
    return Table(
        noun=noun,
        path=f"/fleet/{noun}",
        page=partial(_page, role),
        count=partial(_count, role),
        columns=(
            Column(key="name", value=lambda row, _: row.name, order="name"),
            Column(key="email", value=lambda row, _: row.email, order="email", look="middle"),
            Column(key="phone", value=lambda row, _: row.phone, look="middle"),
            Column(key="enabled", value=lambda row, words: words.option("enabled", "yes" if row.enabled else "no")),
            *of_role,
            Column(key="created", value=lambda row, words: words.time(row.created_ms), order="created", look="widest"),
        ),
        filters=(Filter(key="enabled", values=tuple(_ENABLED)),),
        references=("company",),
        icon=icon,
    )


_ENABLED: Final = {"yes": True, "no": False}
_DRIVEN: Final = Column(key="vehicle", value=lambda row, _: row.vehicle_no)
_RIGHTS: Final = Column(key="rights", value=lambda row, _: row.rights, look="number wide")
DIRECTORS: Final = _table(
    "directors",
    Authority.DIRECTOR,
    "user-cog",
    Column(key="managed", value=lambda row, _: row.managed, look="number"),
    _RIGHTS,
)
DRIVERS: Final = _table("drivers", Authority.DRIVER, "id-card", _DRIVEN, _RIGHTS)
handlers: Final[list[Any]] = [directors, count_directors, drivers, count_drivers]
