"""Trips and microtrips that an actor may read: one, the latest of a vehicle, and lists by start of a company, a vehicle
or a driver, or of everything in reach.
"""

from typing import Final

from tripline.domain import access, listed_trips
from tripline.domain.access import Action, Actor, Authority, Thing
from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.instants import DAY_MS
from tripline.domain.listed_trips import Filters, ListedTrip, TripSums
from tripline.domain.refusals import NotFound
from tripline.domain.stored_trips import JudgedTrip, StoredMicrotrip, StoredTrip
from tripline.services import admission
from tripline.services.scores.reads import TooLong
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.lists import Span
from tripline.store.transactions import ReadTx
from tripline.store.trips import microtrips, trip_list
from tripline.store.trips import trips as rows
from tripline.store.trips.trip_list import TripQuery

SUMMED: Final = 5_000
"""Trips of sums."""
USUAL_MS: Final = 7 * DAY_MS
"""Length of a period whose beginning is not given."""


def query_of(
    tx: ReadTx,
    *,
    actor: Actor,
    first_ms: int,
    last_ms: int,
    vehicle_id: VehicleId | None = None,
    user_id: UserId | None = None,
    company_id: CompanyId | None = None,
    filters: Filters,
) -> TripQuery:
    """Return the query for these trips; a driver who names nothing gets his own. Raises `NotFound`, `Forbidden`."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    if vehicle_id is not None:
        admission.admit(tx, actor, Action.DRIVING_READ, Thing.VEHICLE, vehicle_id)
    if user_id is not None:
        admission.admit(tx, actor, Action.DRIVING_READ, Thing.DRIVER, user_id)
    if company_id is not None:
        admission.admit(tx, actor, Action.COMPANY_READ, Thing.COMPANY, company_id)
    if actor.authority is Authority.DRIVER and vehicle_id is None and company_id is None:
        user_id = user_id or actor.user_id
    return TripQuery(
        scope=scope,
        first_ms=first_ms,
        last_ms=last_ms,
        vehicle_id=vehicle_id,
        user_id=user_id,
        company_id=company_id,
        filters=filters,
    )


def page(tx: ReadTx, *, actor: Actor, query: TripQuery, page_request: PageRequest) -> Page[ListedTrip]:
    """Return a page of the query's trips, without names of people whom the actor may not see."""
    named = access.scope_of(actor, Action.USER_READ).reaches
    return trip_list.page(tx, query, page_request, named=named)


def sums(tx: ReadTx, *, actor: Actor, query: TripQuery) -> TripSums:
    """Return the sums of the query's trips. Raises `TooLong` for more than `SUMMED`, or among too many others."""
    named = access.scope_of(actor, Action.USER_READ).reaches
    found = trip_list.whole(tx, query, SUMMED, named=named)
    if found is None:
        raise TooLong("sums", field="startTime", most=SUMMED)
    return listed_trips.summed(found)


def read_trip(tx: ReadTx, *, actor: Actor, trip_id: TripId) -> JudgedTrip:
    """The trip. Raises `NotFound` or `Forbidden`."""
    admission.admit(tx, actor, Action.DRIVING_READ, Thing.TRIP, trip_id)
    return rows.trip_of(tx, trip_id)


def latest_trip(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> StoredTrip:
    """The vehicle's newest trip. Raises `Forbidden`, or `NotFound` also when it has none."""
    admission.admit(tx, actor, Action.DRIVING_READ, Thing.VEHICLE, vehicle_id)
    found = rows.trips_of_vehicle(tx, vehicle_id, Span(limit=1))
    if not found:
        raise NotFound("trip")
    return found[0]


def latest_microtrip(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> StoredMicrotrip:
    """The vehicle's newest microtrip. Raises `Forbidden`, or `NotFound` also when it has none."""
    admission.admit(tx, actor, Action.DRIVING_READ, Thing.VEHICLE, vehicle_id)
    found = microtrips.latest_of_vehicle(tx, vehicle_id)
    if found is None:
        raise NotFound("microtrip")
    return found
