"""A person's newest drives with the data that explains their scores, for the driver's page.

Not here: the list of trips (`services/fleet/trip_lists.py`), words for costs (`portal/trips/costs.py`).
"""

from typing import TYPE_CHECKING, Final

import msgspec

from tripline.domain.access import Actor
from tripline.domain.disputes import Dispute
from tripline.domain.instants import DAY_MS
from tripline.domain.listed_trips import Filters, ListedTrip, State
from tripline.domain.vehicle_days import Ends
from tripline.later import Later
from tripline.services.fleet import trip_lists
from tripline.services.scores import reads
from tripline.store.listing.pages import PageRequest
from tripline.store.transactions import ReadTx
from tripline.store.trips import trip_ends, trip_list

if TYPE_CHECKING:
    from tripline.services.scores import explanation
    from tripline.services.scores.explanation import Explanation
else:
    # It imports numpy, which is loaded on first use.
    explanation = Later("tripline.services.scores.explanation")

_READ: Final = 20
"""Trips to read; trips of a parked vehicle are skipped."""
_NOWHERE: Final = Ends(None, None)


class DriverTrip(msgspec.Struct, frozen=True, kw_only=True):
    """A drive of the actor."""

    trip: ListedTrip
    ends: Ends
    found: "Explanation | None"
    """Its costs; None without a score, without findings of this version, or with very many events."""
    disputes: list[Dispute]


def newest(tx: ReadTx, *, actor: Actor, now_ms: int, limit: int) -> list[DriverTrip]:
    """Return up to `limit` drives of the actor, newest first. Raises `Forbidden`."""
    # A device's clock may be ahead.
    query = trip_lists.query_of(
        tx, actor=actor, first_ms=0, last_ms=now_ms + DAY_MS, user_id=actor.user_id, filters=Filters()
    )
    page_request = PageRequest(limit=_READ, by=trip_list.START, descending=True)
    rows = trip_lists.page(tx, actor=actor, query=query, page_request=page_request).rows
    trips = [each for each in rows if not each.parking][:limit]
    ends = trip_ends.ends_of(tx, [each.no for each in trips])
    return [_explained(tx, actor, each, ends.get(each.no, _NOWHERE)) for each in trips]


def _explained(tx: ReadTx, actor: Actor, trip: ListedTrip, ends: Ends) -> DriverTrip:
    facts = reads.to_explain_stored(tx, actor=actor, of=trip.id) if trip.state is State.SCORED else None
    if facts is None:
        return DriverTrip(trip=trip, ends=ends, found=None, disputes=[])
    return DriverTrip(trip=trip, ends=ends, found=explanation.of_stored(facts), disputes=facts.disputes)
