"""The button that undoes what somebody did to many vehicles at once.

Its form says what was done and when, with a digest of the vehicles. The history knows which they are, and whether
anybody did something to them since. So the button fits into a notice, however many they are, and when its visitor did
the same to another vehicle within the same millisecond, elsewhere, nothing is undone.

Not here: the undoing (`services/fleet/bulk_vehicles.py`, `services/fleet/bulk_delegations.py`).
"""

from collections.abc import Collection, Iterable
from typing import Final

from tripline.domain import fields
from tripline.domain.history import Event
from tripline.domain.ids import VehicleId
from tripline.domain.refusals import BadParameter, NotFound
from tripline.http import parameters
from tripline.portal.frame import digests
from tripline.portal.frame.forms import Form
from tripline.portal.frame.notices import Undo

_EVENT, _AT, _OF = "event", "at", "of"
_DIGITS: Final = 13
"""Of an instant in epoch ms."""


def button(address: str, event: Event, at_ms: int, vehicle_ids: Iterable[VehicleId]) -> Undo:
    """The form that undoes at this address what its visitor did to these vehicles at this instant."""
    return Undo(address, {_EVENT: event.value, _AT: str(at_ms), _OF: _digest(vehicle_ids)})


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


def require_of(form: Form, vehicle_ids: Collection[VehicleId]) -> None:
    """Let pass a form that is about just these vehicles. Raises `NotFound`, also when there are none."""
    if not vehicle_ids or form.text(_OF) != _digest(vehicle_ids):
        raise NotFound("deed")


def _digest(vehicle_ids: Iterable[VehicleId]) -> str:
    return digests.of({"vehicles": " ".join(sorted(vehicle_ids))})
