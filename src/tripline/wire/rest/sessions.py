"""JSON of account sessions (spec/rest 2.1)."""

from typing import Annotated, Literal

import msgspec

from tripline.domain.account_sessions import Session
from tripline.wire.described import about
from tripline.wire.rest.base import Id, record_of

_ID = {"id": "0e0a5a52-95c1-4f0b-a1c2-6f7d3d0b9a11"}


class SessionRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A session of the caller's own account."""

    id: Annotated[Id, about("id of the session", _ID)]
    created_time: Annotated[int, about("when somebody logged in or signed in, epoch ms", 1735689600000)]
    kind: Annotated[
        Literal["rest", "browser"],
        about("`rest`: a log-in that got tokens; `browser`: a sign-in with a browser", "rest"),
    ]
    prolonged_time: Annotated[
        int,
        about(
            "when it was prolonged last, by its refresh token or by a request of its browser, epoch ms", 1735693200000
        ),
    ]
    expires_time: Annotated[int, about("when it ends unless it is prolonged, epoch ms", 1736294400000)]
    agent: Annotated[str | None, about("what the client called itself (`User-Agent`); null: nothing", "curl/8.9.1")]
    address: Annotated[str | None, about("from where it was opened; null: not known", "192.0.2.7")]
    current: Annotated[bool, about("whether this request belongs to it", True)]


def session_record(session: Session, *, current: str | None) -> SessionRecord:
    """The record; `current` is the id of the requesting session."""
    return record_of(SessionRecord, session, prolonged_time=session.rotated_ms, current=session.id == current)
