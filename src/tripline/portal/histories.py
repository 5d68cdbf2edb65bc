"""History in words: what happened, who did it, which fields changed.

Not here: who may read which history (`services/fleet/history.py`).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
from litestar.response import Response

from tripline.domain import ids
from tripline.domain.history import Change, Entry
from tripline.http.rim import Call
from tripline.portal import views, words
from tripline.portal.visitors import Visitor
from tripline.store.lists import Span

SHOWN: Final = 8
"""Entries beside a record."""
AT_ONCE: Final = 50
"""Entries on a page of their own."""
_EVENT: Final = "portal.history.event."
_SOME: Final = "portal.history.some."


class Line(msgspec.Struct, frozen=True):
    """An entry as a page shows it."""

    at_ms: int
    who: str
    what: str
    changes: tuple[tuple[str, str | None, str | None], ...]
    """What each field is called, its value before, and since."""


class Lines(msgspec.Struct, frozen=True):
    """A part of a history, the newest first."""

    lines: tuple[Line, ...]
    older: str | None
    """The id behind which older entries begin; None: these are the oldest."""


def page(visitor: Visitor, read: Callable[[Span], Sequence[Entry]], *, limit: int, after: str | None = None) -> Lines:
    """Up to `limit` lines behind this entry. Raises `UnknownOffset`."""
    found = read(Span(limit=limit + 1, after=after))
    shown = found[:limit]
    return Lines(tuple(lines(visitor, shown)), shown[-1].id if len(found) > limit else None)


def show(request: Call, visitor: Visitor, found: Lines, *, name: str | None, up: str) -> Response[bytes]:
    """The page of a history; `name`: whose, None for a record that was deleted; `up`: the page of the record."""
    title = "portal.history.title" if name is None else views.Plain(visitor.say("portal.history.of", name=name))
    return views.show(request, visitor, "history.html", title=title, history=found, name=name, up=up)


def after_asked(request: Call) -> str | None:
    """The entry behind which the page begins; None: the newest, also for what is no entry's id."""
    return ids.canonical(request.query_params.get("after", ""))


def lines(visitor: Visitor, entries: Iterable[Entry]) -> list[Line]:
    """The entries in the visitor's language."""
    return [
        Line(entry.at_ms, _who(visitor, entry), _what(visitor, entry), _changes(visitor, entry)) for entry in entries
    ]


def _who(visitor: Visitor, entry: Entry) -> str:
    if entry.actor_name is not None:
        return entry.actor_name
    if entry.actor_company_name is not None:
        return visitor.say("portal.history.somebody_of", company=entry.actor_company_name)
    return visitor.say("portal.history.platform")


def _what(visitor: Visitor, entry: Entry) -> str:
    """The event, with the names of what it is about, as far as they are known."""
    names = {
        "vehicle": entry.vehicle_no,
        "sensor": entry.serial_no,
        "person": entry.user_name,
        "company": entry.to_company_name,
    }
    known = {noun: visitor.say(_SOME + noun) if name is None else name for noun, name in names.items()}
    return visitor.say(_EVENT + entry.event.value, **known)


def _changes(visitor: Visitor, entry: Entry) -> tuple[tuple[str, str | None, str | None], ...]:
    if entry.changes is None:
        return ((visitor.say("portal.history.erased"), None, None),)
    told = (_change(visitor, change) for change in entry.changes)
    return tuple((label, before, after) for label, before, after in told if before is not None or after is not None)


def _change(visitor: Visitor, change: Change) -> tuple[str, str | None, str | None]:
    label = words.label(visitor, change.field)
    if change.secret:
        return label, None, visitor.say("portal.value.secret")
    before, after = (words.value(visitor, change.field, each) for each in (change.before, change.after))
    return label, before, after
