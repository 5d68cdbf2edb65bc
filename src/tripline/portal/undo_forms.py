"""The button that undoes what somebody did to many vehicles at once.

Its form says what was done and when. The history knows to which vehicles, and whether anybody did something to them
since, so the form lists none: the button fits into a notice, however many they are, and nobody adds a vehicle to it.

Not here: the undoing (`services/fleet/vehicles_of_many.py`, `services/fleet/delegations_of_many.py`).
"""

from collections.abc import Collection
from typing import Final

from tripline.domain import fields
from tripline.domain.history import Event
from tripline.domain.refusals import BadParameter
from tripline.http import parameters
from tripline.portal.forms import Form
from tripline.portal.notices import Undo

_EVENT, _AT = "event", "at"
_DIGITS: Final = 13
"""Of an instant in epoch ms."""


def button(address: str, event: Event, at_ms: int) -> Undo:
    """The form that undoes at this address what its visitor did at this instant."""
    return Undo(address, {_EVENT: event.value, _AT: str(at_ms)})


def asked(form: Form, events: Collection[Event]) -> tuple[Event, int]:
    """What the form wants undone, one of these, and when it was done, epoch ms. Raises `BadParameter`."""
    event = fields.one_of(_EVENT, form.text(_EVENT), events)
    at = form.text(_AT)
    if event is None or not at:
        raise BadParameter.missing(_EVENT if event is None else _AT)
    if not (at.isascii() and at.isdecimal() and len(at) <= _DIGITS):
        raise BadParameter("between", field=_AT, least=0, most=parameters.LATEST_MS)
    parameters.check_instant(_AT, int(at))
    return Event(event), int(at)
