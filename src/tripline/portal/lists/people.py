"""The lists of directors and of drivers, of the visitor's company or of the company in the address."""

from functools import partial
from typing import Final

from tripline.domain.access import Action, Authority
from tripline.portal.lists.columns import Around, Column, Filter, Kind
from tripline.portal.lists.tables import COMPANY, Table
from tripline.services.fleet import lists
from tripline.store.listing.people import Filters, ListedPerson


def _managed(row: ListedPerson, around: Around) -> str | None:
    """The vehicles that a director manages; a director sees only their own."""
    visitor = around.visitor
    is_seen = visitor.role is not Authority.DIRECTOR or row.id == visitor.actor.user_id
    return f"/fleet/vehicles?director={row.id}" if row.managed and is_seen else None


def _table(noun: str, role: Authority, icon: str, of_role: Column) -> Table:
    path = f"/fleet/{noun}"
    return Table(
        noun=noun,
        path=path,
        access=Action.PERSON_LIST,
        listing=lists.PEOPLE,
        which=partial(Filters, role=role),
        columns=(
            Column("name", Kind.TEXT, order="name", to=lambda row, _: f"{path}/{row.id}"),
            Column("email", Kind.ADDRESS, order="email", look="middle"),
            Column("phone", Kind.TEXT, look="middle"),
            Column("enabled", Kind.CHOICE, choice=_ENABLED, colours={"yes": "good", "no": "idle"}),
            of_role,
            Column("rights", Kind.NUMBER, look="wide"),
            Column("created", Kind.DATE, "created_ms", order="created", look="widest"),
        ),
        filters=(_ENABLED,),
        references=(COMPANY,),
        create=Action.PERSON_CREATE,
        icon=icon,
    )


_ENABLED: Final = Filter(key="enabled", values={"yes": True, "no": False})
_DRIVEN: Final = Column(
    "vehicle",
    Kind.TEXT,
    "vehicle_no",
    to=lambda row, _: f"/fleet/vehicles/{row.vehicle_id}",
    elsewhere=("vehicle_id", "portal.people.elsewhere"),
)
DIRECTORS: Final = _table("directors", Authority.DIRECTOR, "user-cog", Column("managed", Kind.NUMBER, to=_managed))
DRIVERS: Final = _table("drivers", Authority.DRIVER, "id-card", _DRIVEN)
