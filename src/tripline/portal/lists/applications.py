"""The list of applications for a service account, undecided ones first."""

from typing import Final

from tripline.domain.access import Action
from tripline.domain.applications import State
from tripline.portal.admin.applications import LIST
from tripline.portal.lists.columns import Column, Filter, Kind, each_of
from tripline.portal.lists.tables import Table
from tripline.services import listings
from tripline.store.listing import applications as listing

_STATE: Final = Filter(key="state", values={**each_of(State), "any": None}, usual=State.SUBMITTED.value)
_COLOURS: Final = {"SUBMITTED": "busy", "APPROVED": "good", "REJECTED": "bad"}
APPLICATIONS: Final = Table(
    noun="applications",
    path=LIST,
    access=Action.APPLICATION_REVIEW,
    listing=listings.permitted(Action.APPLICATION_REVIEW, listing.LIST),
    which=listing.Filters,
    columns=(
        Column("service", Kind.TEXT, "service_name", order="name", to=lambda row, _: f"{LIST}/{row.id}"),
        Column("company", Kind.CLIP, "company_name", look="middle"),
        Column("contact", Kind.CLIP, "contact_name", look="wide"),
        Column("email", Kind.ADDRESS, shown=False),
        Column("state", Kind.CHOICE, choice=_STATE, colours=_COLOURS, look="middle"),
        Column("sent", Kind.AGO, "created_ms", order="created"),
        Column("decided", Kind.AGO, "decided_ms", shown=False),
    ),
    filters=(_STATE,),
    usual_sort=lambda _: "-created",
)
