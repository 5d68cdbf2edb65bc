"""Disputes of scores: somebody contests an event or a whole trip, and whoever manages the vehicle decides.

An accepted dispute takes what it is about out of the judgement, by kind and time interval: it holds however often the
trip is scored anew, which gives events new ids.

Not here: how a trip is judged without it (`scoring/annulments.py`), rows (`store/scores/disputes.py`).
"""

from enum import StrEnum
from typing import Final

import msgspec

from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.refusals import Kind, Refusal

OF_TRIP: Final = 100
"""Disputes of one trip at most, decided or not."""


class Reason(StrEnum):
    """Why something is contested."""

    NOT_DRIVER = "NOT_DRIVER"
    """Somebody else drove."""
    DEVICE = "DEVICE"
    """The device or its position was wrong."""
    LIMIT = "LIMIT"
    """The speed limit was another."""
    TRAFFIC = "TRAFFIC"
    """Traffic left no choice: an emergency, somebody cut in."""
    OTHER = "OTHER"


class State(StrEnum):
    """Where a dispute is in its life."""

    OPEN = "OPEN"
    ACCEPTED = "ACCEPTED"
    """What it is about does not count any more."""
    REJECTED = "REJECTED"
    WITHDRAWN = "WITHDRAWN"
    """By whoever opened it."""


class Cause(StrEnum):
    """What moves a dispute."""

    ACCEPT = "accept"
    REJECT = "reject"
    WITHDRAW = "withdraw"


NEXT: Final[dict[tuple[State | None, Cause | None], State]] = {
    (None, None): State.OPEN,
    (State.OPEN, Cause.ACCEPT): State.ACCEPTED,
    (State.OPEN, Cause.REJECT): State.REJECTED,
    (State.OPEN, Cause.WITHDRAW): State.WITHDRAWN,
}
"""Every move there is; None is "no such dispute yet". What was decided stays decided."""


class Contested(msgspec.Struct, frozen=True):
    """The event that a dispute is about."""

    event_id: str
    """Of the GPS event when the dispute was opened; scoring anew gives it another."""
    event_type: int
    event_ms: int
    kind: str
    """What of a score counts it: a key of `scoring.score.COUNTED`."""
    begin_ms: int
    end_ms: int
    """From when to when the manoeuvre lasted, or the stretch over the limit, its last sample included."""


class Dispute(msgspec.Struct, frozen=True, kw_only=True):
    """A dispute with all that is kept of it."""

    id: str
    created_ms: int
    company_id: CompanyId
    """The owner of the vehicle when it was opened."""
    trip_no: int
    trip_id: TripId
    vehicle_id: VehicleId | None
    driver_id: UserId | None
    """Who drove."""
    opened_by: UserId | None
    """None: deleted meanwhile; the same for `decided_by`."""
    reason: Reason
    text: str
    event: Contested | None
    """None: the whole trip."""
    state: State
    decided_ms: int | None = None
    decided_by: UserId | None = None
    answer: str | None = None
    score_before: float | None = None
    """Of the trip when it was accepted."""
    score_after: float | None = None
    """Of the trip without it; None also where it has no score any more."""
    rescored_ms: int | None = None
    """When it was scored without it; None: not yet."""
    mail_language: str | None = None
    """Of the mail that tells who opened it of the decision, unless the account chose one; None: none is wanted."""


class AlreadyContested(Refusal):
    """The same event, or the whole trip, is already contested."""

    code = "dispute.already_open"
    kind = Kind.CONFLICT


class TooManyDisputes(Refusal):
    """The trip has as many disputes as there may be."""

    code = "dispute.too_many"
    kind = Kind.CONFLICT


class NotOpen(Refusal):
    """The dispute was decided or withdrawn before."""

    code = "dispute.not_open"
    kind = Kind.CONFLICT


class OwnDispute(Refusal):
    """Whoever opened the dispute, or drove, does not decide it."""

    code = "dispute.own"
    kind = Kind.PERMISSION
