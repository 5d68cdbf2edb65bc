"""The page that asks before a record is deleted: the effects, and the word that confirms a large deletion.

Its form carries a digest of the effects, so a deletion is confirmed only as it was displayed.

Not here: counting the effects (`services/fleet/goes_with.py`), the deletions themselves.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from litestar.response import Response

from tripline.domain.access import Authority
from tripline.domain.refusals import BadParameter, Conflict, Refusal
from tripline.http import changes
from tripline.http.changes import By
from tripline.http.context import Call, context_of, fleet_of
from tripline.portal.frame import addresses, digests, forms, views
from tripline.portal.frame.forms import Form
from tripline.portal.frame.visitors import Visitor
from tripline.services import notifications
from tripline.services.fleet.goes_with import CALLS_MAX, TRIPS_MAX
from tripline.services.notifications import Notification
from tripline.store.transactions import ReadTx, WriteTx

R = TypeVar("R")

_GOES: Final = "portal.goes."
_LABELS: Final = {"confirm": "portal.goes.confirm"}
_TEXTS: Final = {
    "company": ("portal.companies.delete_text", "portal.companies.delete_submit"),
    **{
        role: (f"portal.people.{role}.delete_text", "portal.people.delete_submit")
        for role in ("administrator", "director", "driver")
    },
    "sensor": ("portal.sensors.delete_text", "portal.sensors.delete_submit"),
    "vehicle": ("portal.vehicles.delete_text", "portal.vehicles.delete_submit"),
}
"""By noun: the text about the deletion, and its button."""
PERSON: Final = {Authority.COMPANY_ADMIN: "administrator", Authority.DIRECTOR: "director", Authority.DRIVER: "driver"}
_MOST: Final = {"trips": TRIPS_MAX, "calls": CALLS_MAX, "calls_go_on": CALLS_MAX}
_NOT_LARGE: Final = ("calls", "delegations", "open_trips", "rights", "values")
"""Records that are soon given or reported again. All others make a deletion large."""


class NotConfirmed(BadParameter):
    """The word that confirms a large deletion was not typed."""

    code = "form.not_confirmed"


class GoesChanged(Conflict):
    """The effects of a deletion or of a bulk change differ from the displayed ones."""

    code = "form.goes_changed"


AGAIN: Final = (NotConfirmed, GoesChanged)


class Doomed(NamedTuple, Generic[R]):
    """A record that the visitor may delete, with the effects."""

    record: R
    noun: str
    name: str
    counts: Mapping[str, int]
    title: str
    up: str
    up_text: str | None = None
    """Its name, if it is not the record's own page."""
    list_path: str | None = None
    """The list to go to after the deletion; None: `up`."""
    on: str | None = None
    """Number of the vehicle that the sensor is mounted on."""
    blocked: str | None = None
    """Key of the reason why it cannot be deleted now."""


Look: TypeAlias = Callable[[ReadTx, Call], tuple[Visitor, Doomed[R]]]
"""Finds the record in the path for a visitor who may delete it."""


async def ask(request: Call, look: Look[R], *, error: Refusal | None = None) -> Response[bytes]:
    """The page that asks before the record is deleted."""
    visitor, doomed = await context_of(request).store.read_short(lambda tx: look(tx, request))
    name, counts, on = doomed.name, doomed.counts, doomed.on
    off = [] if on is None else [visitor.say("portal.goes.vehicle", number=on)]
    text, submit = (visitor.say(key, name=name) for key in _TEXTS[doomed.noun])
    return views.show(
        request,
        "deletion.html",
        title=doomed.title,
        error=error,
        labels=_LABELS,
        name=name,
        text=text,
        submit=submit,
        goes=[*off, *sentences(visitor, doomed.noun, counts)],
        word=_word(name, counts),
        digest=_digest(name, counts, on),
        blocked=None if doomed.blocked is None else visitor.say(doomed.blocked, name=name),
        up=doomed.up,
        up_text=doomed.up_text or name,
        list_path=doomed.list_path,
    )


async def carried_out(
    request: Call,
    look: Look[R],
    delete: Callable[[WriteTx, By, R], Iterable[Notification]],
    *,
    notice: str,
    refuses: tuple[type[Refusal], ...] = (),
    settles: Collection[str] = (),
) -> Response[bytes]:
    """Delete the record as it was displayed and go to its list; ask again if that differs, or for one of `refuses`.

    The notice is a text with the record's `name`. Waits until processes of the roles `settles` acted on it.
    """
    form, context = await forms.read(request), context_of(request)
    again: tuple[type[Refusal], ...] = (*AGAIN, *refuses)

    def work(tx: WriteTx) -> tuple[Doomed[R], Iterable[Notification]]:
        visitor, doomed = look(tx, request)
        if doomed.blocked is None:
            require(form, word=_word(doomed.name, doomed.counts), digest=_digest(doomed.name, doomed.counts, doomed.on))
        return doomed, delete(tx, changes.by(request, visitor.actor), doomed.record)

    try:
        doomed, told = await context.store.write(work)
    except again as refusal:
        return await ask(request, look, error=refusal)
    notifications.send(context.signals, told)
    if settles:
        await fleet_of(request).settling.settled(settles)
    there = doomed.up if doomed.list_path is None else _list_as_shown(form, doomed.list_path)
    return views.moved(request, there, notice=notice, name=doomed.name)


def _list_as_shown(form: Form, list_path: str) -> str:
    """The list to go to after a deletion, in its last displayed state, which a script adds to the form."""
    query = form.text("list")
    return addresses.within(f"{list_path}{query}", list_path) if query.startswith("?") else list_path


def require(form: Form, *, word: str | None, digest: str) -> None:
    """Check the digest of the displayed effects and the typed word, if one is required.

    Call it in the transaction that deletes. Raises `GoesChanged` and `NotConfirmed`.
    """
    if form.text("digest") != digest:
        raise GoesChanged("deletion")
    if word is not None and form.text("confirm") != word.strip():
        raise NotConfirmed(field="confirm", word=word)


def _word(name: str, counts: Mapping[str, int]) -> str | None:
    """The word to type before the record is deleted; None if a click suffices."""
    return name if any(count for what, count in counts.items() if what not in _NOT_LARGE) else None


def _digest(name: str, counts: Mapping[str, int], on: str | None) -> str:
    return digests.of({"name": name, "on": on or "", **{what: str(count) for what, count in counts.items()}})


def sentences(visitor: Visitor, noun: str, counts: Mapping[str, int]) -> list[str]:
    """The effects of the deletion: a sentence for each count that is not 0."""
    return [_sentence(visitor, noun, what, count) for what, count in counts.items() if count]


def _sentence(visitor: Visitor, noun: str, what: str, count: int) -> str:
    more = f"{what}_more" if count >= _MOST.get(what, count + 1) else what
    if what != "trips":
        return visitor.say(_GOES + more, n=count)
    return visitor.say(f"{_GOES}{'person' if noun in PERSON.values() else noun}.{more}", n=count)
