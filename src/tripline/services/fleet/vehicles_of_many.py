"""Many vehicles at once.

A vehicle with which something cannot be done is named with its refusal and stops none of the others.

Not here: what moves a vehicle (`vehicles.py`), delegating many (`delegations_of_many.py`).
"""

import msgspec

from tripline.domain.access import Actor
from tripline.domain.ids import VehicleId
from tripline.domain.refusals import Refusal
from tripline.services.fleet import vehicles
from tripline.store.transactions import ReadTx


class Impossible(msgspec.Struct, frozen=True, kw_only=True):
    """A vehicle with which something cannot be done, and why."""

    vehicle_id: VehicleId
    vehicle_no: str | None
    """None: there is no such vehicle, or it is outside the actor's reach."""
    refusal: Refusal


def impossible(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId, refusal: Refusal) -> Impossible:
    """The vehicle with its refusal, named as far as the actor may see it."""
    number = vehicles.number_seen(tx, actor=actor, vehicle_id=vehicle_id)
    return Impossible(vehicle_id=vehicle_id, vehicle_no=number, refusal=refusal)
