"""Scores that need attention, and why: falling ones, harsh driving, disputes that wait, vehicles without scores.

All from the newest trips within reach and the weekly sums of those who drove them, so the work is bounded whatever the
size of the fleet. A vehicle or person that has not driven lately is not in it.

Not here: deciding disputes (`disputes.py`), the trips (`store/trips/trip_list.py`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from tripline.domain import access, trends
from tripline.domain.access import Action, Actor
from tripline.domain.attention import Attention, Falling, Harsh, Unscored
from tripline.domain.disputes import Dispute, State
from tripline.domain.ids import VehicleId
from tripline.domain.instants import DAY_MS
from tripline.domain.listed_trips import ListedTrip
from tripline.domain.trends import NOTHING, Period, Subject, Sums
from tripline.services.scores import disputes
from tripline.store.accounts import accounts
from tripline.store.listing.pages import PageRequest
from tripline.store.lists import Span
from tripline.store.scores import sums
from tripline.store.transactions import ReadTx
from tripline.store.trips import trip_list
from tripline.store.trips.trip_list import TripQuery

T = TypeVar("T")
LOOKED_AT: Final = 300
"""Newest trips that are looked at."""
SHOWN: Final = 5
"""Entries of each list."""
LATELY: Final = 2
"""Weeks of the recent score, the present one included."""
BEFORE: Final = 8
"""Weeks before them, with which it is compared."""
FALLEN: Final = 5.0
"""Least fall of a score, points."""
LEAST_M: Final = 20_000
"""Least distance of each score that is compared, m."""
HARSHER: Final = 2.0
"""Least ratio of a rate of harsh events to that of the group."""
GROUP: Final = 5
"""Fewest members of a group."""
_UNUSABLE: Final = frozenset({"device_type", "clock", "no_samples", "no_position", "sparse", "speed_implausible"})
"""Reasons for a missing score that a repair of device or settings removes."""


def read(tx: ReadTx, *, actor: Actor, now_ms: int, zone: ZoneInfo) -> Attention:
    """Return what needs attention within the actor's reach. Raises `Forbidden`."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    week = trends.first_day(trends.day_of(now_ms, zone), Period.WEEK)
    since_ms = now_ms - 7 * LATELY * DAY_MS
    query = TripQuery(scope=scope, first_ms=since_ms, last_ms=now_ms)
    named = access.RULES[Action.USER_READ].get(actor.authority, frozenset())
    request = PageRequest(limit=LOOKED_AT, by=trip_list.START, descending=True)
    trips = trip_list.page(tx, query, request, named=named).rows
    vehicles: dict[str, str | None] = {
        each.vehicle_id: each.vehicle_no for each in trips if each.vehicle_id is not None
    }
    falling: list[Falling] = []
    harsh: list[Harsh] = []
    for kind, names in ((Subject.VEHICLE, vehicles), (Subject.DRIVER, _drivers(tx, actor, trips))):
        lately = week - 7 * (LATELY - 1)
        now = sums.of_subjects(tx, names, Period.WEEK, first=lately, last=week)
        before = sums.of_subjects(tx, names, Period.WEEK, first=lately - 7 * BEFORE, last=lately - 7)
        falling += _falling(kind, names, before, now)
        harsh += _harsh(kind, names, before, now)
    return Attention(
        falling=_first(falling, key=lambda each: each.now - each.before),
        harsh=_first(harsh, key=lambda each: -each.rate / each.group),
        waiting=_waiting(tx, actor),
        unscored=_first(_unscored(trips), key=lambda each: -each.trips),
    )


def _first(found: Iterable[T], *, key: Callable[[T], float]) -> list[T]:
    return sorted(found, key=key)[:SHOWN]


def _drivers(tx: ReadTx, actor: Actor, trips: Iterable[ListedTrip]) -> dict[str, str | None]:
    scope = access.scope_of(actor, Action.DRIVING_READ)
    found: dict[str, str | None] = {each.user_id: each.driver_name for each in trips if each.user_id is not None}
    seen = accounts.inside.those(tx, scope, found)
    return {each: name for each, name in found.items() if each in seen}


def _falling(
    kind: Subject, names: Mapping[str, str | None], earlier: Mapping[str, Sums], lately: Mapping[str, Sums]
) -> list[Falling]:
    found = []
    for key, name in names.items():
        before, now = earlier.get(key, NOTHING), lately.get(key, NOTHING)
        enough = before.distance_m >= LEAST_M and now.distance_m >= LEAST_M
        if enough and before.score - now.score >= FALLEN:
            scores = {"before": before.score, "before_known": before.limit_known}
            scores |= {"now": now.score, "now_known": now.limit_known}
            found.append(Falling(kind=kind, id=key, name=name, **scores))
    return found


def _harsh(
    kind: Subject, names: Mapping[str, str | None], earlier: Mapping[str, Sums], lately: Mapping[str, Sums]
) -> list[Harsh]:
    driven = [key for key in names if key in earlier or key in lately]
    totals = {key: earlier.get(key, NOTHING).plus(lately.get(key, NOTHING)) for key in driven}
    group = reduce(Sums.plus, totals.values(), NOTHING)
    rate = _rate(group)
    if len(totals) < GROUP or not rate:
        return []
    return [
        Harsh(kind=kind, id=key, name=names[key], rate=_rate(each), group=rate)
        for key, each in totals.items()
        if each.distance_m >= LEAST_M and _rate(each) >= HARSHER * rate
    ]


def _rate(found: Sums) -> float:
    return found.per_100_km(found.harsh) if found.distance_m else 0.0


def _waiting(tx: ReadTx, actor: Actor) -> list[Dispute]:
    if actor.company_id is None or actor.authority not in access.RULES[Action.DISPUTE_DECIDE]:
        return []
    span = Span(limit=SHOWN, ascending=True)
    return disputes.of_company(tx, actor=actor, company_id=actor.company_id, span=span, state=State.OPEN)


def _unscored(trips: Iterable[ListedTrip]) -> list[Unscored]:
    """Vehicles with unusable trips and no scored one."""
    reasons: dict[VehicleId, Counter[str]] = {}
    names: dict[VehicleId, str | None] = {}
    scored: set[VehicleId] = set()
    for each in trips:
        if each.vehicle_id is None:
            continue
        names[each.vehicle_id] = each.vehicle_no
        if each.score is not None:
            scored.add(each.vehicle_id)
        elif each.not_scored in _UNUSABLE:
            reasons.setdefault(each.vehicle_id, Counter()).update([str(each.not_scored)])
    return [
        Unscored(vehicle_id=key, name=names[key], trips=found.total(), reason=found.most_common(1)[0][0])
        for key, found in reasons.items()
        if key not in scored
    ]
