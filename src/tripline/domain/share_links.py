"""Rules of share links: pages that show one vehicle, or one trip, without an account."""

from typing import Final

import msgspec

from tripline.domain.ids import CompanyId, RecordId, TripId, UserId, VehicleId
from tripline.domain.refusals import BadParameter, Conflict, Kind, Refusal, TryLater

PATH: Final = "/share"
"""Where the pages behind links are; the cookie of a link is limited to the path of its page."""
HOURS: Final = 24
"""How long a link works unless its maker says otherwise."""
MOST_HOURS: Final = 30 * 24
MOST_OF_ACCOUNT: Final = 50
MOST_OF_COMPANY: Final = 200
"""Links that work at the same time."""
MS_PER_HOUR: Final = 3_600_000


class LinkGone(Refusal):
    """A share link has ended, or its secret is wrong. Both are answered alike."""

    code = "share_link.gone"
    kind = Kind.NOT_FOUND


class TooManyAttempts(TryLater):
    """The address has sent too many wrong secrets."""

    code = "share_link.too_many_attempts"


class TooManyLinks(Conflict):
    """The account or its company has as many links as may work at the same time."""

    code = "share_link.too_many"


class NotShareable(Conflict):
    """The trip has not ended, or belongs to no vehicle."""

    code = "share_link.not_shareable"


class Shows(msgspec.Struct, frozen=True, kw_only=True):
    """What a link shows besides the position of its vehicle, or the track of its trip."""

    number: bool
    """The number plate."""
    trail: bool = False
    """Of a vehicle: the way since the link was made."""
    whole: bool = False
    """Of a trip: its ends, too."""


class ShareLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link as its company sees it."""

    id: RecordId
    created_ms: int
    expires_ms: int
    company_id: CompanyId
    maker_id: UserId
    maker_name: str
    vehicle_id: VehicleId
    vehicle_no: str
    trip_id: TripId | None
    """The trip that it shows; None: it shows the vehicle."""
    trip_start_ms: int | None
    shows: Shows
    openings: int
    opened_ms: int | None
    """When it was opened last; None: never."""


def lifetime_ms(hours: int | None) -> int:
    """How long a link works. Raises `BadParameter`."""
    if hours is not None and not 1 <= hours <= MOST_HOURS:
        raise BadParameter("between", field="hours", least=1, most=MOST_HOURS)
    return (HOURS if hours is None else hours) * MS_PER_HOUR
