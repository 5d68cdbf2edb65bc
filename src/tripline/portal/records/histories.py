"""History in words: each event with its time, actor and changed fields."""

from collections.abc import Collection
from typing import Any, Final

import msgspec
from litestar.response import Response

from tripline.domain import access, ids
from tripline.domain.access import Action, Thing
from tripline.domain.history import Change, Entry, Event
from tripline.http import parameters
from tripline.http.context import Call
from tripline.portal.frame import views, words
from tripline.portal.frame.visitors import Visitor, visitor_and
from tripline.services.fleet import history
from tripline.store.lists import Span
from tripline.store.transactions import ReadTx

SHOWN: Final = 8
AT_ONCE: Final = 50
_EVENT: Final = "portal.history.event."
_SOME: Final = "portal.history.some."
_CORRECTIONS: Final = (Event.TRIP_DRIVER_SET, Event.TRIP_DRIVER_UNSET)
_TRIP: Final = "tripId"
"""The field of an entry with the corrected trip; its page says more than its id."""


class Lines(msgspec.Struct, frozen=True):
    """A page of a history, newest first."""

    lines: list[dict[str, Any]]
    older: str | None
    """Cursor of the next page; None on the last page."""


def beside(tx: ReadTx, visitor: Visitor, thing: Thing, thing_id: str, may: Collection[Action]) -> Lines | None:
    """The newest lines of a thing on which the visitor may do these actions; None: not read its history."""
    return _page(tx, visitor, thing, thing_id, limit=SHOWN) if history.READS[thing] in may else None


async def whole(request: Call, thing: Thing, name: str, *, base: str) -> Response[bytes]:
    """The page of the history of the thing whose id has this name in the path; `base` and the id are the page of the
    record. Raises `NotFound`, `Forbidden`, and `UnknownOffset`.
    """

    def work(tx: ReadTx, visitor: Visitor) -> tuple[str, str | None, Lines]:
        thing_id = parameters.path_id(request, name)
        history.admit(tx, actor=visitor.actor, thing=thing, thing_id=thing_id)
        after = ids.canonical(request.query_params.get("after", ""))  # an invalid id starts with the newest entry
        found = _page(tx, visitor, thing, thing_id, limit=AT_ONCE, after=after)
        return thing_id, history.name_of(tx, thing, thing_id), found

    visitor, (thing_id, known, found) = await visitor_and(request, work)
    title = "portal.history.title" if known is None else views.Plain(visitor.say("portal.history.of", name=known))
    up = f"{base}/{thing_id}"
    return views.show(request, "history.html", title=title, history=found, name=known, up=up)


def _page(tx: ReadTx, visitor: Visitor, thing: Thing, thing_id: str, *, limit: int, after: str | None = None) -> Lines:
    """Up to `limit` lines after this entry. Raises `UnknownOffset`."""
    span = Span(limit=limit + 1, after=after)
    found = history.read(tx, actor=visitor.actor, thing=thing, thing_id=thing_id, span=span)
    shown = found[:limit]
    return Lines([_line(visitor, each) for each in shown], shown[-1].id if len(found) > limit else None)


def _line(visitor: Visitor, entry: Entry) -> dict[str, Any]:
    return {
        "at_ms": entry.at_ms,
        "who": _who(visitor, entry),
        "what": _what(visitor, entry),
        "changes": _changes(visitor, entry),
        "path": _path(visitor, entry),
    }


def _who(visitor: Visitor, entry: Entry) -> str:
    if entry.actor_name is not None:
        return entry.actor_name
    if entry.actor_company_name is not None:
        return visitor.say("portal.history.somebody_of", company=entry.actor_company_name)
    return visitor.say("portal.history.platform")


def _what(visitor: Visitor, entry: Entry) -> str:
    """The event, with the names of its records if they still exist."""
    names = {
        "vehicle": entry.vehicle_no,
        "sensor": entry.serial_no,
        "person": entry.user_name,
        "company": entry.to_company_name,
    }
    known = {noun: visitor.say(_SOME + noun) if name is None else name for noun, name in names.items()}
    return visitor.say(_EVENT + entry.event.value, **known)


def _path(visitor: Visitor, entry: Entry) -> str | None:
    """The page of a corrected driver, for roles that correct drivers."""
    if entry.event not in _CORRECTIONS or visitor.role not in access.RULES[Action.DISPUTE_DECIDE]:
        return None
    return next((f"/trips/{each.after}/driver" for each in entry.changes or () if each.field == _TRIP), None)


def _changes(visitor: Visitor, entry: Entry) -> tuple[tuple[str, str | None, str | None], ...]:
    """Label of each field, and its value before and after."""
    if entry.changes is None:
        return ((visitor.say("portal.history.erased"), None, None),)
    told = (_change(visitor, change) for change in entry.changes if change.field != _TRIP)
    return tuple((label, before, after) for label, before, after in told if before is not None or after is not None)


def _change(visitor: Visitor, change: Change) -> tuple[str, str | None, str | None]:
    label = words.label(visitor, change.field)
    if change.secret:
        return label, None, visitor.say("portal.value.secret")
    before, after = (words.value(visitor, change.field, each) for each in (change.before, change.after))
    return label, before, after
