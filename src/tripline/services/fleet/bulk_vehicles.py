"""Many vehicles at once: what activating or deactivating them would do, told beforehand, and undoing it.

A vehicle with which something cannot be done is named with its refusal and stops none of the others.

Not here: what moves a vehicle (`vehicles.py`), delegating many (`bulk_delegations.py`).
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from tripline.domain import access
from tripline.domain import vehicles as rules
from tripline.domain.access import Action, Actor
from tripline.domain.ids import TimeIds, VehicleId
from tripline.domain.refusals import Refusal
from tripline.domain.vehicles import Vehicle, VehicleEvent
from tripline.services.fleet import vehicles
from tripline.store.fleet import history
from tripline.store.transactions import ReadTx, WriteTx

MOST: Final = 100
"""Vehicles that are moved in one transaction, as much as somebody chooses at once: it delays what devices send."""


class Impossible(msgspec.Struct, frozen=True, kw_only=True):
    """A vehicle with which something cannot be done, and why."""

    vehicle_id: VehicleId
    vehicle_no: str | None
    """None: there is no such vehicle, or it is outside the actor's reach."""
    refusal: Refusal


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What an event would do with vehicles, in the order in which they were named."""

    changing: list[Vehicle]
    already: list[Vehicle]
    """Those that are in the state that it leads to."""
    impossible: list[Impossible]

    @property
    def possible(self) -> list[Vehicle]:
        """Those that can be moved, whether or not that would change them."""
        return self.changing + self.already

    @property
    def driven(self) -> int:
        """How many of those that would change have a current driver."""
        return sum(each.current_driver_id is not None for each in self.changing)


def preview(tx: ReadTx, *, actor: Actor, vehicle_ids: Sequence[VehicleId], event: VehicleEvent) -> Preview:
    """What `vehicles.move` would do with each of them. Raises `Forbidden` for a role that moves no vehicle."""
    access.scope_of(actor, Action.VEHICLE_ACTIVATE)
    found = Preview(changing=[], already=[], impossible=[])
    for vehicle_id in vehicle_ids:
        try:
            vehicle = vehicles.find_to_move(tx, actor=actor, vehicle_id=vehicle_id)
        except Refusal as refusal:
            found.impossible.append(impossible(tx, actor=actor, vehicle_id=vehicle_id, refusal=refusal))
        else:
            is_so = rules.NEXT[vehicle.status, event] is vehicle.status
            (found.already if is_so else found.changing).append(vehicle)
    return found


def undo(
    tx: WriteTx, *, actor: Actor, event: VehicleEvent, at_ms: int, ids: TimeIds, now_ms: int
) -> tuple[list[VehicleId], list[Impossible]]:
    """The vehicles that are as they were before the actor had this event happen to them at this instant, and those that
    stay as they are: whoever did something to one since is not overruled. Raises `Forbidden`.
    """
    access.scope_of(actor, Action.VEHICLE_ACTIVATE)
    deeds = history.deeds(tx, actor.user_id, vehicles.MOVED[event], at_ms, limit=MOST)
    moved, left = [], []
    for deed in deeds:
        vehicle_id = deed.vehicle_id
        try:
            vehicle = vehicles.find_to_move(tx, actor=actor, vehicle_id=vehicle_id)
            if deed.changed_since or rules.NEXT[vehicle.status, event] is not vehicle.status:
                raise rules.ChangedSince("again")
        except Refusal as refusal:
            left.append(impossible(tx, actor=actor, vehicle_id=vehicle_id, refusal=refusal))
        else:
            back = rules.UNDOES[event]
            vehicles.move(tx, actor=actor, vehicle_id=vehicle_id, event=back, ids=ids, now_ms=now_ms)
            moved.append(vehicle_id)
    return moved, left


def impossible(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId, refusal: Refusal) -> Impossible:
    """The vehicle with its refusal, named as far as the actor may see it."""
    number = vehicles.number_seen(tx, actor=actor, vehicle_id=vehicle_id)
    return Impossible(vehicle_id=vehicle_id, vehicle_no=number, refusal=refusal)
