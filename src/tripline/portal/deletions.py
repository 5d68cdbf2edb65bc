"""Deletions in words: what goes with a record, and the word that confirms a large one.

Not here: what goes with it (`services/fleet/goes_with.py`), the deletions themselves.
"""

from collections.abc import Mapping
from typing import Final

from tripline.domain.refusals import BadParameter
from tripline.portal.forms import Form
from tripline.portal.visitors import Visitor
from tripline.services.fleet.goes_with import TRIPS_MAX

_GOES: Final = "portal.goes."
LABELS: Final = {"confirm": "portal.goes.confirm"}
_NOT_LARGE: Final = ("delegations", "rights")
"""What ends alone is soon given again; everything else makes a deletion a large one."""


class NotConfirmed(BadParameter):
    """The word that confirms a large deletion was not typed."""

    code = "form.not_confirmed"


def sentences(visitor: Visitor, noun: str, counts: Mapping[str, int]) -> list[str]:
    """What goes with the thing, or changes, counted."""
    return [_sentence(visitor, noun, what, count) for what, count in counts.items() if count]


def word(name: str, counts: Mapping[str, int]) -> str | None:
    """What is to be typed before the thing is deleted; None: a click is enough."""
    return name if any(count for what, count in counts.items() if what not in _NOT_LARGE) else None


def require_confirmed(form: Form, expected: str | None) -> None:
    """Let pass a deletion that needs no word, or whose word was typed. Raises `NotConfirmed`."""
    if expected is not None and form.text("confirm") != expected.strip():
        raise NotConfirmed(field="confirm", word=expected)


def _sentence(visitor: Visitor, noun: str, what: str, count: int) -> str:
    if what != "trips":
        return visitor.say(_GOES + what, n=count)
    more = "trips_more" if count >= TRIPS_MAX else "trips"
    return visitor.say(f"portal.goes.{noun}.{more}", n=count)
