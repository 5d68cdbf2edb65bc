"""Reads scores and GPS events for those who may see them.

Pages are read straight from `store/scores/reads.py` once `admit_...` let the caller pass. Not here: how a score is made
(`services/scores`, `scoring/`).
"""

from enum import Enum

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.ids import TripId, UserId, VehicleId
from tripline.domain.refusals import NotFound, Word
from tripline.store.accounts import accounts
from tripline.store.fleet import vehicles
from tripline.store.scores import reads as score_reads
from tripline.store.scores.scores import Total
from tripline.store.transactions import ReadTx
from tripline.store.trips import trips


class WhyNot(Word, Enum):
    """Why a trip has no score, as kept with it."""

    TOO_SHORT = "too_short"
    SPARSE = "sparse"
    SPEED_IMPLAUSIBLE = "speed_implausible"
    NO_POSITION = "no_position"
    DEVICE_TYPE = "device_type"
    PARKING = "parking"
    UNMAPPED = "unmapped"
    NO_SAMPLES = "no_samples"
    UNKNOWN = "unknown"


class NoScoreYet(NotFound):
    """There is no score to show; the text says why."""

    code = "score.none"


def admit_to_vehicle(tx: ReadTx, *, actor: Actor, of: str) -> None:
    """Let pass who may read what the vehicle drove. Raises `NotFound`, `Forbidden`."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    access.admit(vehicles.inside(tx, scope, VehicleId(of)), access.Thing.VEHICLE)


def admit_to_driver(tx: ReadTx, *, actor: Actor, of: str) -> None:
    """Let pass who may read what the person drove. Raises `NotFound`, `Forbidden`."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    access.admit(accounts.inside(tx, scope, UserId(of)), access.Thing.DRIVER)


def trip_score(tx: ReadTx, *, actor: Actor, of: str) -> score_reads.Row:
    """The score of a trip (`analytics.SCORE`). Raises `NotFound`, `Forbidden`, `NoScoreYet`."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    access.admit(trips.trip_inside(tx, scope, TripId(of)), access.Thing.TRIP)
    found = score_reads.score_of_trip(tx, of)
    if found is None:
        state, reason = score_reads.why_no_score(tx, of)
        raise _not_scored(state, reason)
    return found


def vehicle_total(tx: ReadTx, *, actor: Actor, of: str) -> Total:
    """The accumulated score of a vehicle. Raises `NotFound`, `Forbidden`, `NoScoreYet`."""
    admit_to_vehicle(tx, actor=actor, of=of)
    found = score_reads.total_of_vehicle(tx, of)
    if found is None:
        raise NoScoreYet("vehicle")
    return found


def _not_scored(state: str, reason: str | None) -> NoScoreYet:
    if reason is not None:
        why = WhyNot(reason) if reason in set(WhyNot) else WhyNot.UNKNOWN
        return NoScoreYet("not_scored", why=why, reason=reason)
    return NoScoreYet("open") if state == "OPEN" else NoScoreYet("waiting")
