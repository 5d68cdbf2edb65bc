"""The list of services: each service type with its operator."""

from typing import Final

from tripline.domain.access import Action
from tripline.portal.lists.columns import Column, Filter, Kind
from tripline.portal.lists.tables import Table
from tripline.services import listings
from tripline.store.listing import services as listing

_STATE: Final = Filter(key="state", field="enabled", values={"enabled": True, "disabled": False})
_COLOURS: Final = {"enabled": "good", "disabled": "bad"}
SERVICES: Final = Table(
    noun="services",
    path="/admin/services",
    access=Action.INSTALLATION_READ,
    listing=listings.permitted(Action.INSTALLATION_READ, listing.LIST),
    which=listing.Filters,
    columns=(
        Column("service", Kind.CLIP, "service_type", order="service", to=lambda row, _: f"/fleet/companies/{row.id}"),
        Column("name", Kind.CLIP, order="name"),
        Column("companies", Kind.NUMBER, look="wide"),
        Column("vehicles", Kind.NUMBER),
        Column("sensors", Kind.NUMBER, look="middle"),
        Column("accounts", Kind.NUMBER, look="middle"),
        Column("state", Kind.CHOICE, "enabled", choice=_STATE, colours=_COLOURS, look="middle"),
        Column("created", Kind.DATE, "created_ms", order="created", look="wide"),
    ),
    filters=(_STATE,),
    icon="server",
)
