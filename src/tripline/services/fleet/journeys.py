"""Reading back trips and microtrips."""

from collections.abc import Sequence

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.ids import TripId, VehicleId
from tripline.domain.journeys import StoredMicrotrip, StoredTrip
from tripline.domain.refusals import NotFound
from tripline.store import journeys as rows
from tripline.store import vehicles
from tripline.store.journeys import Span
from tripline.store.transactions import ReadTx


def trips_of_vehicle(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId, span: Span) -> Sequence[StoredTrip]:
    """Trips of the vehicle, by creation. Raises `NotFound` or `Forbidden`."""
    _admit_vehicle(tx, actor, vehicle_id)
    return rows.trips_of_vehicle(tx, vehicle_id, span)


def latest_trip(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> StoredTrip:
    """The vehicle's newest trip. Raises `Forbidden`, or `NotFound` also when it has none."""
    _admit_vehicle(tx, actor, vehicle_id)
    found = rows.trips_of_vehicle(tx, vehicle_id, Span(limit=1))
    if not found:
        raise NotFound("The vehicle has no trip yet.")
    return found[0]


def latest_microtrip(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> StoredMicrotrip:
    """The vehicle's newest microtrip. Raises `Forbidden`, or `NotFound` also when it has none."""
    _admit_vehicle(tx, actor, vehicle_id)
    found = rows.latest_microtrip(tx, vehicle_id)
    if found is None:
        raise NotFound("The vehicle has no microtrip yet.")
    return found


def microtrips_of_trip(tx: ReadTx, *, actor: Actor, trip_id: TripId, span: Span) -> Sequence[StoredMicrotrip]:
    """Microtrips of the trip, by creation. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    access.admit(rows.trip_inside(tx, scope, trip_id), "trip")
    return rows.microtrips_of_trip(tx, trip_id, span)


def _admit_vehicle(tx: ReadTx, actor: Actor, vehicle_id: VehicleId) -> None:
    scope = access.scope_of(actor, Action.DRIVING_READ)
    access.admit(vehicles.inside(tx, scope, vehicle_id), "vehicle")
