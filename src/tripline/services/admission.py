"""Admission of an actor to a record by its id, for any action.

Not here: devices (`gateway/listener.py`).
"""

from collections.abc import Callable, Iterable
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


def allowed(tx: ReadTx, actor: Actor, actions: Iterable[Action], thing: Thing, thing_id: str) -> frozenset[Action]:
    """Which of the actions the actor may do on the record; actions of one reach ask once."""
    possible = [action for action in actions if actor.authority in access.RULES[action]]
    scopes = {access.RULES[action][actor.authority]: access.scope_of(actor, action) for action in possible}
    inside = {reaches for reaches, scope in scopes.items() if INSIDE[thing](tx, scope, thing_id)}
    return frozenset(action for action in possible if access.RULES[action][actor.authority] in inside)
