"""Reads trips and microtrips for permitted actors, and the latest of a vehicle.

Pages are read directly from `store/trips/` after `admit_...` checked access.

Not here: access to trips, also after a vehicle was taken back (`domain/access.py`).
"""

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.ids import TripId, VehicleId
from tripline.domain.refusals import NotFound
from tripline.domain.stored_trips import JudgedTrip, StoredMicrotrip, StoredTrip
from tripline.store.fleet import vehicles
from tripline.store.lists import Span
from tripline.store.transactions import ReadTx
from tripline.store.trips import microtrips
from tripline.store.trips import trips as rows


def admit_to_vehicle(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> None:
    """Check that the actor may read the vehicle's driving data. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    access.admit(vehicles.inside(tx, scope, vehicle_id), access.Thing.VEHICLE)


def admit_to_trip(tx: ReadTx, *, actor: Actor, trip_id: TripId) -> None:
    """Let pass who may read the trip. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    access.admit(rows.trip_inside(tx, scope, trip_id), access.Thing.TRIP)


def read_trip(tx: ReadTx, *, actor: Actor, trip_id: TripId) -> JudgedTrip:
    """The trip. Raises `NotFound` or `Forbidden`."""
    admit_to_trip(tx, actor=actor, trip_id=trip_id)
    return rows.trip_of(tx, trip_id)


def latest_trip(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> StoredTrip:
    """The vehicle's newest trip. Raises `Forbidden`, or `NotFound` also when it has none."""
    admit_to_vehicle(tx, actor=actor, vehicle_id=vehicle_id)
    found = rows.trips_of_vehicle(tx, vehicle_id, Span(limit=1))
    if not found:
        raise NotFound("trip")
    return found[0]


def latest_microtrip(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> StoredMicrotrip:
    """The vehicle's newest microtrip. Raises `Forbidden`, or `NotFound` also when it has none."""
    admit_to_vehicle(tx, actor=actor, vehicle_id=vehicle_id)
    found = microtrips.latest_of_vehicle(tx, vehicle_id)
    if found is None:
        raise NotFound("microtrip")
    return found
