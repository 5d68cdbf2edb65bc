"""Disputes of scores: a person disputes an event or a whole trip, and a manager of the vehicle decides.

An accepted dispute excludes an event, by kind and time interval, or the trip from the judgement. This survives
rescoring, which gives events new ids.
"""

from enum import StrEnum
from typing import Final

import msgspec

from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.refusals import Conflict, Kind, Refusal

OF_TRIP: Final = 100
"""Maximum number of disputes per trip, decided or not."""


class Reason(StrEnum):
    """Why an event or trip is disputed."""

    NOT_DRIVER = "NOT_DRIVER"
    """Another person drove."""
    DEVICE = "DEVICE"
    """The device or its position was wrong."""
    LIMIT = "LIMIT"
    """The speed limit was different."""
    TRAFFIC = "TRAFFIC"
    """Traffic left no choice: an emergency, or another vehicle cut in."""
    OTHER = "OTHER"


class State(StrEnum):
    """State of a dispute."""

    OPEN = "OPEN"
    ACCEPTED = "ACCEPTED"
    """The disputed event or trip no longer counts."""
    CORRECTED = "CORRECTED"
    """The trip has another driver; it counts in full."""
    REJECTED = "REJECTED"
    WITHDRAWN = "WITHDRAWN"
    """By the person who opened it."""


class Cause(StrEnum):
    """An event that moves a dispute from state to state."""

    ACCEPT = "accept"
    CORRECT = "correct"
    REJECT = "reject"
    WITHDRAW = "withdraw"


NEXT: Final[dict[tuple[State | None, Cause | None], State]] = {
    (None, None): State.OPEN,
    (State.OPEN, Cause.ACCEPT): State.ACCEPTED,
    (State.OPEN, Cause.CORRECT): State.CORRECTED,
    (State.OPEN, Cause.REJECT): State.REJECTED,
    (State.OPEN, Cause.WITHDRAW): State.WITHDRAWN,
}
"""All transitions; None is the state before the dispute exists. Decisions are final."""


class Disputed(msgspec.Struct, frozen=True):
    """The event that a dispute is about."""

    event_id: str
    """Id of the GPS event when the dispute was opened; rescoring replaces it."""
    event_type: int
    event_ms: int
    kind: str
    """The count of the score that includes it: a key of `scoring.score.COUNTED`."""
    begin_ms: int
    end_ms: int
    """Interval of the manoeuvre, or of the stretch over the limit, including its last sample."""


class Dispute(msgspec.Struct, frozen=True, kw_only=True):
    """A stored dispute."""

    id: str
    created_ms: int
    company_id: CompanyId
    """The owner of the vehicle when it was opened."""
    trip_no: int
    trip_id: TripId
    vehicle_id: VehicleId | None
    driver_id: UserId | None
    """The driver."""
    opened_by: UserId | None
    """None: deleted since; likewise `decided_by`."""
    reason: Reason
    text: str
    event: Disputed | None
    """None: the whole trip."""
    state: State
    decided_ms: int | None = None
    decided_by: UserId | None = None
    answer: str | None = None
    score_before: float | None = None
    """The trip's score when it was accepted."""
    score_after: float | None = None
    """The trip's score without the disputed part; None also when the trip no longer has a score."""
    rescored_ms: int | None = None
    """When the trip was rescored for it; None: not yet."""
    mail_language: str | None = None
    """Language of the mail with the decision to the opener, unless the account chose one; None: no mail."""


class AlreadyDisputed(Conflict):
    """The same event, or the whole trip, is already disputed."""

    code = "dispute.already_open"


class TooManyDisputes(Conflict):
    """The trip already has the maximum number of disputes."""

    code = "dispute.too_many"


class NotOpen(Conflict):
    """The dispute was decided or withdrawn before."""

    code = "dispute.not_open"


class OwnDispute(Refusal):
    """The opener and the driver may not decide the dispute."""

    code = "dispute.own"
    kind = Kind.PERMISSION
