"""Who may read which scores, and what is answered when there is none.

Pages are read straight from `store/analytics.py` once `admit_...` let the caller pass. Not here: how a score is made
(`services/scores`, `scoring/`).
"""

from typing import Final

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.ids import TripId, UserId, VehicleId
from tripline.domain.refusals import NotFound
from tripline.store import accounts, analytics, journeys, vehicles
from tripline.store.transactions import ReadTx

_AS_ONE: Final = "samples closer together than `scoring.instant_ms` count as one"
WHY_NOT: Final = {
    "too_short": "it is shorter than the least scored distance",
    "sparse": "its samples are too far apart",
    "no_position": f"fewer than two of its samples with a time of their own have a valid position; {_AS_ONE}",
    "device_type": "devices of its type are not scored",
    "parking": "it is a parking record",
    "unmapped": "its sensor was not mounted on a vehicle",
    "no_samples": f"it has fewer than two samples with a time of their own; {_AS_ONE}",
}
"""A sentence for each reason that is kept with a trip."""


class NoScoreYet(NotFound):
    """There is no score to show; the text says why."""

    code = "score.none"


def admit_to_vehicle(tx: ReadTx, *, actor: Actor, of: str) -> None:
    """Let pass who may read what the vehicle drove. Raises `NotFound`, `Forbidden`."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    access.admit(vehicles.inside(tx, scope, VehicleId(of)), "vehicle")


def admit_to_driver(tx: ReadTx, *, actor: Actor, of: str) -> None:
    """Let pass who may read what the person drove. Raises `NotFound`, `Forbidden`."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    access.admit(accounts.inside(tx, scope, UserId(of)), "driver")


def trip_score(tx: ReadTx, *, actor: Actor, of: str) -> analytics.Score:
    """The score of a trip. Raises `NotFound`, `Forbidden`, `NoScoreYet`."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    access.admit(journeys.trip_inside(tx, scope, TripId(of)), "trip")
    found = analytics.score_of_trip(tx, of)
    if found is None:
        state, reason = analytics.why_no_score(tx, of)
        raise NoScoreYet(_why(state, reason))
    return found


def vehicle_total(tx: ReadTx, *, actor: Actor, of: str) -> analytics.Total:
    """The accumulated score of a vehicle. Raises `NotFound`, `Forbidden`, `NoScoreYet`."""
    admit_to_vehicle(tx, actor=actor, of=of)
    found = analytics.total_of_vehicle(tx, of)
    if found is None:
        raise NoScoreYet("No trip of this vehicle has a score yet.")
    return found


def _why(state: str, reason: str | None) -> str:
    if reason is not None:
        return f"The trip is not scored: {WHY_NOT.get(reason, 'it cannot be judged')} ({reason})."
    if state == "OPEN":
        return "The trip has no score yet: it has not ended."
    return "The trip has no score yet: it is waiting to be judged."
