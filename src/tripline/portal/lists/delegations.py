"""Lists of delegations between companies: vehicles delegated by the visitor's company, and vehicles delegated to it."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from litestar.response import Response
from msgspec.structs import replace

from tripline.domain.access import Action, Actor
from tripline.http.context import Call, context_of
from tripline.portal.delegation import candidates
from tripline.portal.delegation.candidates import BETWEEN, Choice
from tripline.portal.frame import views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_in
from tripline.portal.lists import table_pages
from tripline.portal.lists.columns import Column, Filter, Kind
from tripline.portal.lists.tables import Bulk, Reference, Table
from tripline.services.fleet import lists
from tripline.services.listings import Listing
from tripline.store.listing.delegations import Filters, ListedDelegation, Side
from tripline.store.listing.pages import PageRequest
from tripline.store.transactions import ReadTx

_GIVEN: Final = "/delegation"
_RECEIVED: Final = "/delegation/received"


@page("GET", _GIVEN, access=Action.VEHICLE_DELEGATIONS_READ)
async def given(request: Call) -> Response[bytes]:
    """Vehicles delegated by the company; without a query, a company with received vehicles only goes to those."""
    if not request.query_params and await context_of(request).store.read(lambda tx: _has_only_received(tx, request)):
        return views.moved(request, _RECEIVED)
    return await table_pages.listed(request, GIVEN)


def _has_only_received(tx: ReadTx, request: Call) -> bool:
    actor = visitor_in(tx, request).actor
    return not lists.has_delegations(tx, actor=actor, side=Side.GIVEN) and lists.has_delegations(
        tx, actor=actor, side=Side.RECEIVED
    )


def _receivers(tx: ReadTx, visitor: Visitor) -> Sequence[Choice]:
    """Companies that currently have the vehicles, if the visitor may see them."""
    if visitor.company is None or not visitor.may(Action.CANDIDATE_READ):
        return ()
    return candidates.holders_of(tx, visitor.actor)


def _owners(tx: ReadTx, visitor: Visitor) -> Sequence[Choice]:
    """An operator's partners, the owners of most vehicles delegated to it; other companies receive few."""
    if visitor.company is None or not visitor.may(Action.COMPANY_LIST):
        return ()
    return candidates.partners_of(tx, visitor.actor)


def _name(listing: Listing[Filters, ListedDelegation], tx: ReadTx, actor: Actor, filters: Filters) -> str | None:
    """Name of the company in the filter, if it has delegations."""
    of_company, first = replace(filters, search=None), PageRequest(limit=1, by="created")
    found = listing.page(tx, actor=actor, filters=of_company, page_request=first).rows
    return found[0].company_name if found else None


_COLUMNS: Final = (
    Column("vehicle", Kind.TEXT, "vehicle_no", order="number", to=lambda row, _: f"{_GIVEN}/vehicles/{row.vehicle_id}"),
    Column("company", Kind.CLIP, "company_name", to=lambda row, around: around.here(company=row.company_id)),
    Column("since", Kind.AGO, "created_ms", order="created", look="middle"),
    Column("directors", Kind.NUMBER, look="middle"),
    Column("drivers", Kind.NUMBER, look="middle"),
)
_LASTS: Final = Filter(key="lasts", field="automatic", values={"chosen": False, "automatic": True})
_TABLE: Final = partial(
    Table, access=Action.VEHICLE_DELEGATIONS_READ, which=Filters, icon="waypoints", template="lists/delegations.html"
)
GIVEN: Final = _TABLE(
    noun="given",
    path=_GIVEN,
    listing=lists.GIVEN,
    columns=(*_COLUMNS, Column("lasts", Kind.OWN, "automatic", choice=_LASTS, macro="lasts", look="wide")),
    filters=(_LASTS,),
    references=(Reference(key="company", name=partial(_name, lists.GIVEN), choices=_receivers),),
    bulk=(
        Bulk(
            text="portal.delegation.take_back.preview",
            address="/delegation/take-back",
            icon="undo-2",
            action=Action.VEHICLE_DELEGATE,
        ),
    ),
    select="delegation",
    label="vehicle_no",
    # An automatic delegation cannot be taken back.
    box=lambda row: None if row.automatic else f"{row.vehicle_id}{BETWEEN}{row.company_id}",
    create=Action.VEHICLE_DELEGATE,
)
RECEIVED: Final = _TABLE(
    noun="received",
    path=_RECEIVED,
    listing=lists.RECEIVED,
    columns=_COLUMNS,
    filters=(Filter(key="used", values={"yes": True, "no": False}),),
    references=(Reference(key="company", name=partial(_name, lists.RECEIVED), choices=_owners),),
)
