"""The page that asks before a record is deleted: the effects, and the word that confirms a large deletion.

Its form carries a digest of the effects, so a deletion is confirmed only as it was displayed.

Not here: counting the effects (`services/fleet/goes_with.py`), the deletions themselves.
"""

from collections.abc import Mapping
from typing import Final

from litestar.response import Response

from tripline.domain.access import Authority
from tripline.domain.refusals import BadParameter, Kind, Refusal
from tripline.http.context import Call
from tripline.portal.frame import addresses, digests, views
from tripline.portal.frame.forms import Form
from tripline.portal.frame.visitors import Visitor
from tripline.services.fleet.goes_with import CALLS_MAX, TRIPS_MAX

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
PERSON: Final = {
    Authority.COMPANY_ADMIN: "administrator",
    Authority.DIRECTOR: "director",
    Authority.DRIVER: "driver",
}
"""The nouns of people."""
_MOST: Final = {"trips": TRIPS_MAX, "calls": CALLS_MAX, "calls_go_on": CALLS_MAX}
"""Upper bounds of the counts."""
_NOT_LARGE: Final = ("calls", "delegations", "open_trips", "rights", "values")
"""Records that are soon given or reported again. All others make a deletion large."""


class NotConfirmed(BadParameter):
    """The word that confirms a large deletion was not typed."""

    code = "form.not_confirmed"


class GoesChanged(Refusal):
    """The effects of a deletion or of a bulk change differ from the displayed ones."""

    code = "form.goes_changed"
    kind = Kind.CONFLICT


AGAIN: Final = (NotConfirmed, GoesChanged)
"""Refusals after which the page is shown again."""


def show(
    request: Call,
    visitor: Visitor,
    noun: str,
    name: str,
    counts: Mapping[str, int],
    *,
    title: str,
    up: str,
    up_text: str | None = None,
    list_path: str | None = None,
    on: str | None = None,
    blocked: str | None = None,
    error: Refusal | None = None,
) -> Response[bytes]:
    """The page that asks before this record is deleted. `up` is the page to return to, named `up_text` unless it is the
    record's own; `list_path` the list to go to after the deletion; `on` the number of the vehicle that the sensor is
    mounted on; `blocked` the reason why it cannot be deleted now.
    """
    off = [] if on is None else [visitor.say("portal.goes.vehicle", number=on)]
    text, submit = (visitor.say(key, name=name) for key in _TEXTS[noun])
    return views.show(
        request,
        visitor,
        "deletion.html",
        title=title,
        error=error,
        labels=_LABELS,
        name=name,
        text=text,
        submit=submit,
        goes=[*off, *sentences(visitor, noun, counts)],
        word=_word(name, counts),
        digest=_digest(name, counts, on),
        blocked=blocked,
        up=up,
        up_text=up_text or name,
        list_path=list_path,
    )


def list_as_shown(form: Form, list_path: str) -> str:
    """The list to go to after a deletion, in its last displayed state, which a script adds to the form."""
    query = form.text("list")
    return addresses.within(f"{list_path}{query}", list_path) if query.startswith("?") else list_path


def require_confirmed(form: Form, name: str, counts: Mapping[str, int], *, on: str | None = None) -> None:
    """Check the digest of the displayed effects and the typed word, if one is required.

    Call it in the transaction that deletes. Raises `GoesChanged` and `NotConfirmed`.
    """
    require(form, word=_word(name, counts), digest=_digest(name, counts, on))


def require(form: Form, *, word: str | None, digest: str) -> None:
    """As `require_confirmed`, for a page with this word and this digest."""
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
