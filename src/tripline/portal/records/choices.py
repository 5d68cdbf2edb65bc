"""Choosing a person who drives or directs: the query and the list of `assignments.py` and `trip_drivers.py`."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tripline.domain import fields
from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.domain.people import DRIVING_ROLES
from tripline.http import parameters
from tripline.http.context import Call
from tripline.portal.frame import addresses, forms, words
from tripline.portal.frame.visitors import Visitor
from tripline.services.fleet.assignments import Choosing
from tripline.store.listing.pages import PageRequest

PERSON: Final = "userId"
SHOWN_ID: Final = "shownId"
"""The field with the assigned person at rendering; empty for none."""
CHOSEN: Final = "chosen"
ROLE: Final = "role"
_SHOWN: Final = 20


class Asked(msgspec.Struct, frozen=True):
    """Which people to list."""

    role: Authority
    search: str | None
    page_request: PageRequest


def asked(request: Call, *, role: Authority | None = None) -> Asked:
    """The query of the request; `role` if the page has only one. Raises `BadParameter`."""
    query = request.query_params
    named = Authority.DIRECTOR if query.get(ROLE) == Authority.DIRECTOR else Authority.DRIVER
    search = parameters.query_text(query, addresses.SEARCH)
    return Asked(role or named, search, addresses.page_request(query, by="name", limit=_SHOWN))


def chosen_before(request: Call) -> UserId | None:
    """The person that the query chooses. Raises `BadParameter`."""
    named = parameters.query_id(request.query_params, CHOSEN)
    return None if named is None else UserId(named)


def person(form: forms.Form) -> UserId:
    """The person that the form chooses. Raises `BadParameter`."""
    return UserId(fields.uuid(PERSON, form.text(PERSON)))


def shown_id(form: forms.Form) -> UserId | None:
    """The assigned person at rendering. Raises `BadParameter`."""
    shown = form.text(SHOWN_ID)
    return UserId(fields.uuid(SHOWN_ID, shown)) if shown else None


def values(
    visitor: Visitor, wanted: Asked, found: Choosing, path: str, kept: Sequence[tuple[str, str]], *, has_roles: bool
) -> dict[str, Any]:
    """The template's values about the list at this path; `kept` are further query parameters, `has_roles`: a page lists
    people of each role."""
    searched = [(addresses.SEARCH, wanted.search)] if wanted.search else []
    of_role = [(ROLE, wanted.role.value)] if has_roles else []

    def beside(name: str, cursor: str) -> str:
        return addresses.of(path, [*of_role, *kept, *searched, (name, cursor)])

    previous, following = addresses.neighbours(found.people, beside)
    return {
        "vehicle": found.vehicle,
        "chosen": found.chosen,
        "people": found.people.rows,
        "roles": [
            (text, addresses.of(path, [(ROLE, code), *kept, *searched]), code == wanted.role)
            for code, text in (words.options(visitor, DRIVING_ROLES) if has_roles else ())
        ],
        "nouns": "directors" if wanted.role is Authority.DIRECTOR else "drivers",
        "asked": wanted.search or "",
        "kept": dict([*of_role, *kept]),
        "previous": previous,
        "next": following,
    }
