"""Account sessions: a log-in over REST or a sign-in with a browser, until it ends."""

from enum import StrEnum

import msgspec

from tripline.domain.ids import UserId


class Kind(StrEnum):
    """How a session was opened."""

    REST = "rest"
    BROWSER = "browser"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A stored session. `current` and `previous` are the `jti` of refresh tokens; for a browser `current` is the hash
    of the cookie's secret."""

    id: str
    user_id: UserId
    created_ms: int
    expires_ms: int
    current: str
    previous: str | None
    rotated_ms: int
    """When it was last prolonged: by its refresh token, or by a request of its browser."""
    kind: Kind
    agent: str | None
    """How the client identified itself."""
    address: str | None
    """Where it was opened from."""
