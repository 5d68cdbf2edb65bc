"""Account sessions: a log-in over REST or a sign-in with a browser, until it ends.

Not here: how they are opened, prolonged and ended (`services/accounts/`).
"""

from enum import StrEnum

import msgspec

from tripline.domain.ids import UserId


class Kind(StrEnum):
    """How somebody came in."""

    REST = "rest"
    BROWSER = "browser"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session as it is kept. `current` and `previous` are the `jti` of refresh tokens; of a browser `current` is the
    hash of the cookie's secret."""

    id: str
    user_id: UserId
    created_ms: int
    expires_ms: int
    current: str
    previous: str | None
    rotated_ms: int
    """When it was prolonged last: by its refresh token, or by a request of its browser."""
    kind: Kind
    agent: str | None
    """What the client called itself."""
    address: str | None
    """From where it was opened."""
