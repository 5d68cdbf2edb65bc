"""Trips by start that an actor may read: of a company, a vehicle or a driver, or everything in reach.

Not here: finding rows (`store/trips/trip_list.py`), lists by creation (`trips.py`), a vehicle's day
(`vehicle_days.py`).
"""

from typing import Final

from tripline.domain import access, listed_trips
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.domain.instants import DAY_MS
from tripline.domain.listed_trips import Filters, ListedTrip, TripSums
from tripline.services.fleet import companies, trips
from tripline.services.scores import reads
from tripline.services.scores.reads import TooLong
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.transactions import ReadTx
from tripline.store.trips import trip_list
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
        trips.admit_to_vehicle(tx, actor=actor, vehicle_id=vehicle_id)
    if user_id is not None:
        reads.admit_to_driver(tx, actor=actor, of=user_id)
    if company_id is not None:
        companies.require(tx, actor=actor, company_id=company_id)
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
