"""The list of companies: an operator and its partners, or all companies.

Not here: one company (`records/companies.py`).
"""

from collections.abc import Sequence
from typing import Any, Final

from litestar.response import Response

from tripline.domain.access import Action
from tripline.http.context.base import Call, context_of
from tripline.portal.frame import addresses, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_in
from tripline.portal.lists import table_pages, tables
from tripline.portal.lists.tables import Column, Filter, ListRequest, Table
from tripline.portal.records.companies import kind_of_new
from tripline.services.fleet import lists
from tripline.store.browsing.companies import Filters, ListedCompany
from tripline.store.transactions import ReadTx


@page("GET", "/fleet/companies", access=Action.COMPANY_LIST)
async def companies(request: Call) -> Response[bytes]:
    """The companies that the visitor may see."""
    return await table_pages.listed(
        request,
        COMPANIES,
        create=Action.COMPANY_CREATE,
        create_text=lambda visitor: f"portal.companies.{kind_of_new(visitor)}",
    )


@page("GET", "/fleet/companies/count", access=Action.COMPANY_LIST)
async def count(request: Call) -> Response[bytes]:
    """Number of companies."""
    return await table_pages.counted(request, COMPANIES)


@page("GET", "/fleet/companies/sizes", access=Action.COMPANY_LIST)
async def sizes(request: Call) -> Response[bytes]:
    """Counts of vehicles, sensors and people for each company of a page."""
    wanted = tables.asked(request, COMPANIES)

    def work(tx: ReadTx) -> tuple[Visitor, Sequence[ListedCompany]]:
        visitor = visitor_in(tx, request)
        return visitor, COMPANIES.page(tx, visitor.actor, wanted, wanted.page_request()).rows

    visitor, rows = await context_of(request).store.read(work)
    return views.show(
        request,
        visitor,
        "lists/companies_sizes.html",
        title="portal.lists.companies.title",
        fragment="sizes",
        keys=[key for key in wanted.columns if key in COMPANIES.sizes],
        rows=rows,
        back=addresses.without(request, tables.SIZES),
    )


def _filters(wanted: ListRequest) -> Filters:
    return Filters(search=wanted.search, operators=_KINDS.get(wanted.chosen.get("kind", "")))


_KINDS: Final = {"operator": True, "partner": False}
COMPANIES: Final = Table(
    noun="companies",
    path="/fleet/companies",
    page=lambda tx, actor, wanted, page_request: lists.companies_of(
        tx, actor=actor, filters=_filters(wanted), page_request=page_request
    ),
    count=lambda tx, actor, wanted: lists.count_companies(tx, actor=actor, filters=_filters(wanted)),
    columns=(
        Column(key="name", value=lambda row, _: row.name, order="name"),
        Column(
            key="kind",
            value=lambda row, words: words.option("kind", "operator" if row.master else "partner"),
            look="nowrap",
        ),
        Column(key="service", value=lambda row, _: row.service_type, look="wide"),
        Column(key="vehicles", value=lambda row, _: row.vehicles, look="number"),
        Column(key="sensors", value=lambda row, _: row.sensors, look="number middle"),
        Column(key="people", value=lambda row, _: row.people, look="number middle"),
        Column(key="contact", value=lambda row, _: row.pic_name, look="widest"),
        Column(key="email", value=lambda row, _: row.pic_email, shown=False),
        Column(key="phone", value=lambda row, _: row.pic_phone, shown=False),
        Column(key="region", value=lambda row, _: row.region, shown=False),
        Column(key="created", value=lambda row, words: words.time(row.created_ms), order="created", look="wide"),
    ),
    filters=(Filter(key="kind", values=tuple(_KINDS)),),
    bare=lambda tx, actor, wanted, page_request: lists.companies_of(
        tx, actor=actor, filters=_filters(wanted), page_request=page_request, counted=False
    ),
    sizes=("vehicles", "sensors", "people"),
    icon="building-2",
)
handlers: Final[list[Any]] = [companies, count, sizes]
