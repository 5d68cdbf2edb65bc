"""The list of companies: an operator and its partners, or all companies."""

from typing import Final

from litestar.response import Response

from tripline.domain.access import Action
from tripline.http.context import Call
from tripline.portal.frame import addresses, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import visitor_and
from tripline.portal.lists import tables
from tripline.portal.lists.columns import Column, Filter, Kind
from tripline.portal.lists.tables import Table
from tripline.portal.records.companies import kind_of_new
from tripline.services.fleet import lists
from tripline.store.listing.companies import Filters

_PATH: Final = "/fleet/companies"


@page("GET", f"{_PATH}{tables.SIZES}", access=Action.COMPANY_LIST)
async def sizes(request: Call) -> Response[bytes]:
    """Counts of vehicles, sensors and people for each company of a page."""
    wanted = tables.asked(request, COMPANIES)
    _, rows = await visitor_and(
        request, lambda tx, visitor: COMPANIES.page(tx, visitor.actor, wanted, wanted.page_request()).rows, short=False
    )
    return views.show(
        request,
        "lists/companies_sizes.html",
        title="portal.lists.companies.title",
        fragment="sizes",
        keys=[each.key for each in COMPANIES.columns if each.kind is Kind.SIZE and each.key in wanted.columns],
        rows=rows,
        back=addresses.without(request, tables.SIZES),
    )


_KIND: Final = Filter(key="kind", field="operators", values={"operator": True, "partner": False})
COMPANIES: Final = Table(
    noun="companies",
    path=_PATH,
    access=Action.COMPANY_LIST,
    listing=lists.COMPANIES,
    bare=lists.UNCOUNTED_COMPANIES,
    which=Filters,
    columns=(
        Column("name", Kind.TEXT, order="name", to=lambda row, _: f"{_PATH}/{row.id}"),
        Column("kind", Kind.CHOICE, "master", choice=_KIND, look="nowrap"),
        Column("service", Kind.CODE, "service_type", look="wide"),
        Column("vehicles", Kind.SIZE),
        Column("sensors", Kind.SIZE, look="middle"),
        Column("people", Kind.SIZE, look="middle"),
        Column("contact", Kind.CLIP, "pic_name", look="widest"),
        Column("email", Kind.ADDRESS, "pic_email", shown=False),
        Column("phone", Kind.TEXT, "pic_phone", shown=False),
        Column("region", Kind.TEXT, shown=False),
        Column("created", Kind.DATE, "created_ms", order="created", look="wide"),
    ),
    filters=(_KIND,),
    create=Action.COMPANY_CREATE,
    create_text=lambda visitor: f"portal.companies.{kind_of_new(visitor)}",
    icon="building-2",
)
