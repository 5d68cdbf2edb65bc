"""Lists of delegations between companies: vehicles delegated by the visitor's company, and vehicles delegated to it.

Not here: candidates (`delegation/candidates.py`), delegating and taking back (`delegation/bulk.py`), the chain of a
single vehicle (`delegation/chains.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from litestar.response import Response

from tripline.domain.access import Action, Actor
from tripline.domain.ids import CompanyId
from tripline.http.context.base import Call, context_of
from tripline.portal.delegation import candidates
from tripline.portal.delegation.candidates import BETWEEN, Choice
from tripline.portal.frame import views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_in
from tripline.portal.lists import table_pages
from tripline.portal.lists.tables import Bulk, Column, Filter, ListRequest, Table
from tripline.services.fleet import lists
from tripline.store.browsing.delegations import Filters, ListedDelegation, Side
from tripline.store.browsing.pages import PageRequest
from tripline.store.transactions import ReadTx

_GIVEN: Final = "/delegation"
_RECEIVED: Final = "/delegation/received"


@page("GET", _GIVEN, access=Action.VEHICLE_DELEGATIONS_READ)
async def given(request: Call) -> Response[bytes]:
    """Vehicles delegated by the company; without a query, a company with received vehicles only goes to those."""
    if not request.query_params and await context_of(request).store.read(lambda tx: _has_only_received(tx, request)):
        return views.moved(request, _RECEIVED)
    return await table_pages.listed(
        request, GIVEN, create=Action.VEHICLE_DELEGATE, names=_names(GIVEN), choices=_receivers
    )


@page("GET", f"{_GIVEN}/count", access=Action.VEHICLE_DELEGATIONS_READ)
async def count_given(request: Call) -> Response[bytes]:
    """Number of delegations."""
    return await table_pages.counted(request, GIVEN)


@page("GET", _RECEIVED, access=Action.VEHICLE_DELEGATIONS_READ)
async def received(request: Call) -> Response[bytes]:
    """Vehicles delegated to the company."""
    return await table_pages.listed(request, RECEIVED, names=_names(RECEIVED), choices=_owners)


@page("GET", f"{_RECEIVED}/count", access=Action.VEHICLE_DELEGATIONS_READ)
async def count_received(request: Call) -> Response[bytes]:
    """Number of delegations."""
    return await table_pages.counted(request, RECEIVED)


def _has_only_received(tx: ReadTx, request: Call) -> bool:
    actor = visitor_in(tx, request).actor
    return not lists.has_delegations(tx, actor=actor, side=Side.GIVEN) and lists.has_delegations(
        tx, actor=actor, side=Side.RECEIVED
    )


def _receivers(tx: ReadTx, visitor: Visitor, _: ListRequest) -> Mapping[str, Sequence[Choice]]:
    """Companies that currently have the vehicles, if the visitor may see them."""
    if visitor.company is None or not visitor.may(Action.CANDIDATE_READ):
        return {}
    return {"company": candidates.holders_of(tx, visitor.actor)}


def _owners(tx: ReadTx, visitor: Visitor, _: ListRequest) -> Mapping[str, Sequence[Choice]]:
    """An operator's partners, the owners of most vehicles delegated to it; other companies receive few."""
    if visitor.company is None or not visitor.may(Action.COMPANY_LIST):
        return {}
    return {"company": candidates.partners_of(tx, visitor.actor)}


def _names(table: Table) -> table_pages.Names:
    def names(tx: ReadTx, actor: Actor, wanted: ListRequest) -> Mapping[str, str]:
        """Name of the company in the filter, if it has delegations."""
        if "company" not in wanted.chosen:
            return {}
        of_company = ListRequest(search=None, chosen=wanted.chosen, order="created", descending=False, columns=())
        found = table.page(tx, actor, of_company, PageRequest(limit=1, by="created"))
        return {"company": found.rows[0].company_name} if found.rows else {}

    return names


def _box(row: ListedDelegation) -> str | None:
    """The value of the delegation's checkbox; None for an automatic delegation, which cannot be taken back."""
    return None if row.automatic else f"{row.vehicle_id}{BETWEEN}{row.company_id}"


def _filters(wanted: ListRequest) -> Filters:
    chosen = wanted.chosen
    return Filters(
        search=wanted.search,
        company_id=CompanyId(chosen["company"]) if "company" in chosen else None,
        automatic=_KINDS.get(chosen.get("lasts", "")),
        used=_USED.get(chosen.get("used", "")),
    )


def _table(noun: str, path: str, side: Side, **more: Any) -> Table:
    return Table(
        noun=noun,
        path=path,
        page=lambda tx, actor, wanted, page_request: lists.delegations_of(
            tx, actor=actor, side=side, filters=_filters(wanted), page_request=page_request
        ),
        count=lambda tx, actor, wanted: lists.count_delegations(tx, actor=actor, side=side, filters=_filters(wanted)),
        references=("company",),
        icon="waypoints",
        **more,
    )


_KINDS: Final = {"chosen": False, "automatic": True}
_USED: Final = {"yes": True, "no": False}
_VEHICLE: Final = Column(key="vehicle", value=lambda row, _: row.vehicle_no, order="number")
_COMPANY: Final = Column(key="company", value=lambda row, _: row.company_name)
_SINCE: Final = Column(key="since", value=lambda row, words: words.time(row.created_ms), order="created", look="middle")
_RIGHTS: Final = (
    Column(key="directors", value=lambda row, _: row.directors, look="number middle"),
    Column(key="drivers", value=lambda row, _: row.drivers, look="number middle"),
)
GIVEN: Final = _table(
    "given",
    _GIVEN,
    Side.GIVEN,
    columns=(
        _VEHICLE,
        _COMPANY,
        _SINCE,
        *_RIGHTS,
        Column(
            key="lasts",
            value=lambda row, words: words.option("lasts", "automatic" if row.automatic else "chosen"),
            look="wide",
        ),
    ),
    filters=(Filter(key="lasts", values=tuple(_KINDS)),),
    bulk=(
        Bulk(
            text="portal.delegation.take_back.preview",
            address="/delegation/take-back",
            icon="undo-2",
            action=Action.VEHICLE_DELEGATE,
        ),
    ),
    box=_box,
)
RECEIVED: Final = _table(
    "received",
    _RECEIVED,
    Side.RECEIVED,
    columns=(_VEHICLE, _COMPANY, _SINCE, *_RIGHTS),
    filters=(Filter(key="used", values=tuple(_USED)),),
)
handlers: Final[list[Any]] = [given, count_given, received, count_received]
