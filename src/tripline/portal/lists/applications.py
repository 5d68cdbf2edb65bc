"""The list of applications for a service account.

Not here: showing and deciding one application (`admin/applications.py`).
"""

from typing import Any, Final

from litestar.response import Response

from tripline.domain.access import Action
from tripline.domain.applications import State
from tripline.http.context.base import Call
from tripline.portal.admin.applications import LIST
from tripline.portal.frame.page import page
from tripline.portal.lists import table_pages
from tripline.portal.lists.tables import Column, Filter, ListRequest, Table
from tripline.services.accounts import applications as service
from tripline.store.browsing.applications import Filters


@page("GET", LIST, access=Action.APPLICATION_REVIEW)
async def show_all(request: Call) -> Response[bytes]:
    """Applications, undecided ones first."""
    return await table_pages.listed(request, APPLICATIONS)


@page("GET", f"{LIST}/count", access=Action.APPLICATION_REVIEW)
async def count(request: Call) -> Response[bytes]:
    """Number of applications."""
    return await table_pages.counted(request, APPLICATIONS)


def _filters(wanted: ListRequest) -> Filters:
    return Filters(search=wanted.search, state=_STATES[wanted.chosen["state"]])


_STATES: Final = {**{each.value: each for each in State}, "any": None}
APPLICATIONS: Final = Table(
    noun="applications",
    path=LIST,
    page=lambda tx, actor, wanted, page_request: service.browsed(
        tx, actor=actor, filters=_filters(wanted), page_request=page_request
    ),
    count=lambda tx, actor, wanted: service.count(tx, actor=actor, filters=_filters(wanted)),
    columns=(
        Column(key="service", value=lambda row, _: row.service_name, order="name"),
        Column(key="company", value=lambda row, _: row.company_name, look="middle"),
        Column(key="contact", value=lambda row, _: row.contact_name, look="wide"),
        Column(key="email", value=lambda row, _: row.email, shown=False),
        Column(key="state", value=lambda row, words: words.option("state", row.state.value), look="middle"),
        Column(key="sent", value=lambda row, words: words.time(row.created_ms), order="created"),
        Column(key="decided", value=lambda row, words: words.time(row.decided_ms), shown=False),
    ),
    filters=(Filter(key="state", values=tuple(_STATES), usual=State.SUBMITTED.value),),
    usual_sort=lambda _: "-created",
)
handlers: Final[list[Any]] = [show_all, count]
