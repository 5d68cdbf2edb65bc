"""A trip as its page shows it: its outcome, people, disputes, neighbours, and what the reader may do.

A driver's newest trips have the data that explains their scores.
"""

import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from tripline.domain import access, instants
from tripline.domain.access import Action, Actor, Scope, Thing
from tripline.domain.disputes import Dispute
from tripline.domain.ids import TripId, UserId
from tripline.domain.instants import DAY_MS
from tripline.domain.listed_trips import Filters, ListedTrip, State
from tripline.domain.stored_trips import JudgedTrip, StoredEvent
from tripline.domain.vehicle_days import Ends
from tripline.later import Later
from tripline.ports.maps import RoadMatcher
from tripline.scoring.rules import Rules
from tripline.services import admission
from tripline.services.fleet import overviews, trip_lists
from tripline.services.fleet.overviews import Named
from tripline.services.scores import reads
from tripline.services.scores.reads import Outcome, ScoreFacts
from tripline.store.devices import events
from tripline.store.fleet import vehicles
from tripline.store.listing.pages import PageRequest
from tripline.store.lists import Span
from tripline.store.scores import disputes, policies
from tripline.store.scores import reads as score_reads
from tripline.store.transactions import ReadTx
from tripline.store.trips import drivers, trip_ends, trip_list
from tripline.store.trips.trip_list import TripQuery

if TYPE_CHECKING:
    from tripline.services.scores import explanation
    from tripline.services.scores.explanation import Explanation
else:
    # It imports numpy, which is loaded on first use.
    explanation = Later("tripline.services.scores.explanation")

EVENTS: Final = 100
"""Most device events that are read for a trip."""
_ACTIONS: Final = (Action.DISPUTE_OPEN, Action.DISPUTE_DECIDE, Action.VEHICLE_SHARE)
_NUMBER: Final = Scope.everything("the number of an admitted trip's vehicle")


class TripView(msgspec.Struct, frozen=True, kw_only=True):
    """A trip with its related records."""

    trip: JudgedTrip
    outcome: Outcome
    facts: ScoreFacts | None
    """None until the trip is judged."""
    rules: Rules
    """The rules of its score."""
    vehicle_no: str | None
    """None: it was on no vehicle."""
    vehicle_readable: bool
    """True if the reader may read the vehicle's other trips."""
    driver: Named | None
    recorded_driver: UserId | None
    """The driver that the trip's messages name."""
    disputes: list[Dispute]
    previous: TripId | None
    """The vehicle's trip that started before; None: there is none, or it is out of reach."""
    next: TripId | None
    ends: Ends
    may: frozenset[Action]


def read(tx: ReadTx, *, actor: Actor, trip_id: TripId) -> TripView:
    """Return the trip. Raises `NotFound`, `Forbidden`, `TooLong`."""
    trip = trip_lists.read_trip(tx, actor=actor, trip_id=trip_id)
    try:
        facts = reads.to_explain(tx, actor=actor, of=trip_id)
    except reads.NoScoreYet:
        facts = None
    vehicle = None if trip.vehicle_id is None else vehicles.find(tx, _NUMBER, trip.vehicle_id)
    scope = access.scope_of(actor, Action.DRIVING_READ)
    readable = trip.vehicle_id is not None and bool(vehicles.inside(tx, scope, trip.vehicle_id))
    outcome = reads.outcome(tx, trip_id)
    no = score_reads.to_explain(tx, trip_id).trip_no
    return TripView(
        trip=trip,
        outcome=outcome,
        facts=None if outcome.under_way else facts,
        rules=policies.of_result(tx, 0 if facts is None else facts.explained_by).rules,
        vehicle_no=None if vehicle is None else vehicle[0].vehicle_no,
        vehicle_readable=readable,
        recorded_driver=drivers.of_trip(tx, trip_id).recorded_id,
        driver=overviews.named(tx, actor, trip.user_id),
        disputes=disputes.of_trip(tx, no),
        ends=trip_ends.ends_of(tx, [no]).get(no, Ends(None, None)),
        previous=_neighbour(tx, scope, trip, ascending=False) if readable else None,
        next=_neighbour(tx, scope, trip, ascending=True) if readable else None,
        may=admission.allowed(tx, actor, _ACTIONS, Thing.TRIP, trip_id),
    )


def explained(facts: ScoreFacts, zone: datetime.tzinfo, roads: RoadMatcher | None = None) -> "explanation.Explanation":
    """Explain the score of a trip. Raises ValueError when packed samples are truncated, `Outage`.

    `zone`: of the night; `roads`: the source of speed limits; None: no limits.
    """
    return explanation.of_facts(facts, zone, roads)


def load() -> None:
    """Load the modules that explain a score. Takes a fifth of a second; for any thread."""
    _ = explanation.of_facts


def version(tx: ReadTx, *, actor: Actor, trip_id: TripId) -> list[object]:
    """Return values that change with the trip's samples, score and disputes. Raises `NotFound`, `Forbidden`."""
    admission.admit(tx, actor, Action.DRIVING_READ, Thing.TRIP, trip_id)
    kept = score_reads.to_explain(tx, trip_id)
    known = disputes.of_trip(tx, kept.trip_no) if kept.disputes else []
    facts = [kept.state, kept.not_scored, kept.score, kept.judged_ms, kept.changed_ms, kept.latest]
    return [*facts, [each.state for each in known]]


def device_events(tx: ReadTx, view: TripView) -> list[StoredEvent]:
    """Return up to `EVENTS` events that the device reported during the trip, by time."""
    trip = view.trip
    if trip.vehicle_id is None:
        return []
    span = Span(limit=EVENTS, ascending=True, start_ms=trip.created_ms, end_ms=trip.end_ms)
    return [each for each in events.of_vehicle(tx, trip.vehicle_id, span) if each.trip_id == trip.id]


def _neighbour(tx: ReadTx, scope: Scope, trip: JudgedTrip, *, ascending: bool) -> TripId | None:
    """The vehicle's next trip by start in this direction."""
    query = TripQuery(scope=scope, first_ms=0, last_ms=instants.LAST_MS, vehicle_id=trip.vehicle_id)
    place = trip_list.place_of(tx, trip.id, query)
    if place is None:
        return None
    request = PageRequest(limit=1, by=trip_list.START, descending=not ascending, place=place)
    found = trip_list.page(tx, query, request, named=frozenset())
    return found.rows[0].id if found.rows else None


_READ: Final = 20
"""Trips to read; trips of a parked vehicle are skipped."""
_NOWHERE: Final = Ends(None, None)


class DriverTrip(msgspec.Struct, frozen=True, kw_only=True):
    """A drive of the actor."""

    trip: ListedTrip
    ends: Ends
    found: "Explanation | None"
    """Its costs; None without a score, without findings of this version, or with very many events."""
    rules: Rules
    """The rules of its score."""
    disputes: list[Dispute]


def newest_of_driver(tx: ReadTx, *, actor: Actor, now_ms: int, limit: int) -> list[DriverTrip]:
    """Return up to `limit` drives of the actor, newest first. Raises `Forbidden`."""
    # A device's clock may be ahead.
    query = trip_lists.query_of(
        tx, actor=actor, first_ms=0, last_ms=now_ms + DAY_MS, user_id=actor.user_id, filters=Filters()
    )
    page_request = PageRequest(limit=_READ, by=trip_list.START, descending=True)
    rows = trip_lists.page(tx, actor=actor, query=query, page_request=page_request).rows
    driven = [each for each in rows if not each.parking][:limit]
    ends = trip_ends.ends_of(tx, [each.no for each in driven])
    facts = [
        reads.to_explain_stored(tx, actor=actor, of=each.id) if each.state is State.SCORED else None for each in driven
    ]
    numbers = [0 if each is None else each.explained_by for each in facts]
    rules = {no: policies.of_result(tx, no).rules for no in set(numbers)}
    return [
        DriverTrip(
            trip=trip,
            ends=ends.get(trip.no, _NOWHERE),
            found=None if known is None else explanation.of_stored(known),
            rules=rules[no],
            disputes=[] if known is None else known.disputes,
        )
        for trip, known, no in zip(driven, facts, numbers, strict=True)
    ]
