"""Admission of an actor to a record by its id, for any action.

Not here: permissions (`domain/access.py`); functions that also return the record.
"""

from collections.abc import Callable
from typing import Any, Final

from tripline.domain import access
from tripline.domain.access import Action, Actor, Scope, Thing
from tripline.store.accounts import accounts
from tripline.store.fleet import companies, sensors, vehicles
from tripline.store.transactions import ReadTx
from tripline.store.trips import trips

INSIDE: Final[dict[Thing, Callable[[ReadTx, Scope, Any], bool | None]]] = {
    Thing.COMPANY: companies.inside,
    Thing.DRIVER: accounts.inside,
    Thing.SENSOR: sensors.inside,
    Thing.TRIP: trips.trip_inside,
    Thing.USER: accounts.inside,
    Thing.VEHICLE: vehicles.inside,
}
"""True if the record is inside a scope; None if it does not exist."""


def admit(tx: ReadTx, actor: Actor, action: Action, thing: Thing, thing_id: str) -> None:
    """Admit an actor who may do the action on the record. Raises `NotFound` or `Forbidden`."""
    access.admit(INSIDE[thing](tx, access.scope_of(actor, action), thing_id), thing)
