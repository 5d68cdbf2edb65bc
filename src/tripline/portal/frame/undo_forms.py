"""The button that undoes a bulk action on vehicles.

Its form contains the event, its time, and a digest of the vehicles. The history provides the vehicles themselves, and
their changes since. So the button fits into a notice regardless of the number of vehicles. If the visitor did the same
to another vehicle within the same millisecond elsewhere, nothing is undone.
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


def button(address: str, event: Event, at_ms: int, vehicle_ids: Iterable[VehicleId]) -> Undo:
    """The form, sent to this address, that undoes the visitor's event on these vehicles at this instant."""
    return Undo(address, {_EVENT: event.value, _AT: str(at_ms), _OF: _digest(vehicle_ids)})


def asked(form: Form, events: Collection[Event]) -> tuple[Event, int]:
    """The event to undo, one of `events`, and its time in epoch ms. Raises `BadParameter`."""
    event = fields.one_of(_EVENT, form.text(_EVENT), events)
    at = form.text(_AT)
    if event is None or not at:
        raise BadParameter.missing(_EVENT if event is None else _AT)
    at_ms = parameters.whole(at, most_digits=_DIGITS)
    if at_ms is None:
        raise BadParameter("between", field=_AT, least=0, most=parameters.LATEST_MS)
    parameters.check_instant(_AT, at_ms)
    return Event(event), at_ms


def require_of(form: Form, vehicle_ids: Collection[VehicleId]) -> None:
    """Require that the form is about exactly these vehicles. Raises `NotFound`, also for none."""
    if not vehicle_ids or form.text(_OF) != _digest(vehicle_ids):
        raise NotFound("deed")


def _digest(vehicle_ids: Iterable[VehicleId]) -> str:
    return digests.of({"vehicles": " ".join(sorted(vehicle_ids))})
