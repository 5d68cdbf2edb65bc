"""Activate or deactivate many vehicles: preview and undo.

A vehicle with a refused change is listed with its refusal and does not stop the others.
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
from tripline.store.fleet import vehicles as rows
from tripline.store.transactions import ReadTx, WriteTx

MOST: Final = 100
"""Most vehicles in one transaction and one selection: a transaction delays device data."""


class Impossible(msgspec.Struct, frozen=True, kw_only=True):
    """A vehicle with which something cannot be done, and why."""

    vehicle_id: VehicleId
    vehicle_no: str | None
    """None: the vehicle does not exist, or is outside the actor's reach."""
    refusal: Refusal


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """The effects of an event on vehicles, in the order given."""

    changing: list[Vehicle]
    already: list[Vehicle]
    """Vehicles already in the resulting state."""
    impossible: list[Impossible]

    @property
    def possible(self) -> list[Vehicle]:
        """Vehicles that allow the event, including those already in its state."""
        return self.changing + self.already

    @property
    def driven(self) -> int:
        """Number of vehicles to change that have a current driver."""
        return sum(each.current_driver_id is not None for each in self.changing)


def preview(tx: ReadTx, *, actor: Actor, vehicle_ids: Sequence[VehicleId], event: VehicleEvent) -> Preview:
    """Preview `vehicles.move` for each vehicle. Raises `Forbidden` for a role that cannot move vehicles."""
    access.scope_of(actor, Action.VEHICLE_ACTIVATE)
    found = Preview(changing=[], already=[], impossible=[])
    for vehicle_id in vehicle_ids:
        try:
            vehicle = vehicles.find(tx, actor=actor, action=Action.VEHICLE_ACTIVATE, vehicle_id=vehicle_id)
        except Refusal as refusal:
            found.impossible.append(impossible(tx, actor=actor, vehicle_id=vehicle_id, refusal=refusal))
        else:
            is_so = rules.NEXT[vehicle.status, event] is vehicle.status
            (found.already if is_so else found.changing).append(vehicle)
    return found


def undo(
    tx: WriteTx, *, actor: Actor, event: VehicleEvent, at_ms: int, ids: TimeIds, now_ms: int
) -> tuple[list[VehicleId], list[Impossible]]:
    """Undo this event of the actor at this instant; return the restored vehicles and those left unchanged because
    someone changed them since. Raises `Forbidden`."""
    access.scope_of(actor, Action.VEHICLE_ACTIVATE)
    deeds = history.deeds(tx, actor.user_id, vehicles.MOVED[event], at_ms, limit=MOST)
    moved, left = [], []
    for deed in deeds:
        vehicle_id = deed.vehicle_id
        try:
            vehicle = vehicles.find(tx, actor=actor, action=Action.VEHICLE_ACTIVATE, vehicle_id=vehicle_id)
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
    """The vehicle with its refusal; its number only if the actor may see it."""
    number = rows.number_inside(tx, access.scope_of(actor, Action.VEHICLE_READ), vehicle_id)
    return Impossible(vehicle_id=vehicle_id, vehicle_no=number, refusal=refusal)
