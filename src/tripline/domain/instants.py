"""The instants that a date holds, and the date of an instant in a time zone."""

import datetime
from typing import Final

MINUTE_MS: Final = 60_000
DAY_MS: Final = 86_400_000
FIRST_MS: Final = -62_135_596_800_000 + 2 * DAY_MS
LAST_MS: Final = 253_402_300_799_999 - 2 * DAY_MS
"""The years 1 to 9999, without the days at both ends that a time zone may move beyond them."""


def nearest(at_ms: float) -> float:
    """The instant (epoch ms) itself, or the nearest one that a date holds."""
    return min(max(at_ms, FIRST_MS), LAST_MS)


def local(at_ms: float, zone: datetime.tzinfo) -> datetime.datetime:
    """Date and time of an instant (epoch ms) in the zone, or of the nearest one that a date holds."""
    return datetime.datetime.fromtimestamp(nearest(at_ms) / 1_000, zone)
