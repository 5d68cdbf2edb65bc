"""The list of applications for a service account, and how many they are.

For platform administrators, so it takes no scope.
"""

from typing import Final

import msgspec
from sqlalchemy import literal_column, select

from tripline.domain.applications import State
from tripline.store.listing.engine import Filter, ListSpec, tested
from tripline.store.listing.noun_list import NounList, shown
from tripline.store.tables import service_application


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which applications to list; None: any."""

    search: str | None = None
    """Beginning of the service's name, in any case."""
    state: State | None = None


class ListedApplication(msgspec.Struct, frozen=True):
    """An application as a list shows it."""

    id: str
    created_ms: int
    service_name: str
    company_name: str
    contact_name: str
    email: str
    state: State
    decided_ms: int | None


def _in(state: State) -> Filter:
    # Part of the statement, so that each state has its own plan: nearly all may be in one, nearly none in another.
    where = service_application.c.state == literal_column(f"'{state.value}'")
    return Filter(where=tested(where), few=select(service_application.c.id).where(where))


_SPEC: Final = ListSpec(
    rows=service_application,
    key=service_application.c.id,
    orders={"name": service_application.c.service_name, "created": service_application.c.created_ms},
    name="name",
    filters={f"state.{state.value}": _in(state) for state in State},
    shown=shown(ListedApplication, service_application),
)
LIST: Final[NounList[Filters, ListedApplication]] = NounList(record=ListedApplication, spec=_SPEC)
