"""Decide when a message is sent again, and when it is parked (spec/push 3); pure functions.

Pauses: 1 s, 5 s, 30 s, 5 min, then hourly with jitter, for `push.patience_hours`; 410 parks at once, another 4xx after
three attempts, except 408 and 429, which mean "later". `Retry-After` of a 429 or 503 makes a pause longer, never
shorter.
"""

import email.utils
import re
from datetime import UTC
from enum import Enum
from http import HTTPStatus
from typing import Final

PAUSES_MS: Final = (1_000, 5_000, 30_000, 300_000)
HOURLY_MS: Final = 3_600_000
JITTER: Final = 0.1
"""Fraction by which an hourly pause may be longer or shorter, so that requests spread out."""
REFUSED_MAX: Final = 3
"""Attempts at a message that its receiver refuses."""
LATER_MAX_MS: Final = 3_600_000
"""The longest pause that a receiver may request."""
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
_LATER: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


class Outcome(Enum):
    """The outcome of an attempt."""

    DELIVERED = "2xx"
    GONE = "410: the receiver no longer wants this"
    REFUSED = "another 4xx: the receiver is there, and does not take this message"
    FAILED = "another status: the receiver is not well"
    LOST = "no status: the connection failed, or ended, or carried no HTTP"
    UNANSWERED = "the receiver took the whole request, and neither a byte nor the end came in time (M1)"

    @property
    def answered(self) -> bool:
        """True if a status line arrived."""
        return self not in (Outcome.LOST, Outcome.UNANSWERED)


def outcome_of(status: int) -> Outcome:
    """Return the outcome for an HTTP status."""
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Outcome.DELIVERED
    if status == HTTPStatus.GONE:
        return Outcome.GONE
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _LATER:
        return Outcome.REFUSED
    return Outcome.FAILED


def asked_pause_ms(retry_after: str | None, *, now_ms: int) -> int:
    """Return the pause that `Retry-After` requests, in seconds or until an HTTP date (RFC 9110 10.2.3), at most
    `LATER_MAX_MS`; 0 if it is missing, malformed or over."""
    text = (retry_after or "").strip()
    if _SECONDS.fullmatch(text):
        return min(int(text) * 1_000, LATER_MAX_MS)
    try:
        until = email.utils.parsedate_to_datetime(text)
        # A date without zone, as asctime writes it, is in UTC.
        until_ms = round(until.replace(tzinfo=until.tzinfo or UTC).timestamp() * 1_000)
    except (ValueError, OverflowError, IndexError):
        return 0
    return min(max(0, until_ms - now_ms), LATER_MAX_MS)


def pause_ms(attempts: int, *, no: int) -> int:
    """Pause of a message after its `attempts`-th attempt; `no`, its number, decides the jitter."""
    if attempts <= len(PAUSES_MS):
        return PAUSES_MS[attempts - 1]
    share = (no + attempts) * 2_654_435_761 % 2**32 / 2**32
    return round(HOURLY_MS * (1 + JITTER * (2 * share - 1)))


def next_due_ms(
    outcome: Outcome, *, attempts: int, no: int, since_ms: int, now_ms: int, patience_ms: int, not_before_ms: int = 0
) -> int | None:
    """Return when to retry a message that failed at its `attempts`-th attempt; None: park it.

    `since_ms`: when it was put into the outbox. The last attempt is made when its time is over, not before. Until
    `not_before_ms` its receiver requested a pause.
    """
    if outcome is Outcome.GONE or (outcome is Outcome.REFUSED and attempts >= REFUSED_MAX):
        return None
    last_ms = since_ms + patience_ms
    if now_ms >= last_ms:
        return None
    return min(max(now_ms + pause_ms(attempts, no=no), not_before_ms), last_ms)
