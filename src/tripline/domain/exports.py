"""Exports: files made of all rows of a list, in the background, for the account that asked.

Not here: who makes them (`services/exports.py`), what stands in them (`portal/`), rows (`store/exports.py`).
"""

from enum import Enum, StrEnum
from typing import ClassVar, Final

import msgspec

from tripline.domain.ids import RecordId, UserId
from tripline.domain.refusals import Kind, Refusal
from tripline.domain.shares import Shares

OF_ACCOUNT: Final = 2
"""Exports of an account that may wait or be under way."""
SHARES: Final = Shares(total=20, operator=15, company=10, account=OF_ACCOUNT)
"""The same of an operator with its partners, a company, and everybody."""
KEPT: Final = 5
"""Exports of an account that are kept; the oldest makes room."""
KEPT_MS: Final = 3_600_000
"""How long a file is kept."""


class Form(StrEnum):
    """What kind of file."""

    CSV = "csv"
    XLSX = "xlsx"


class State(StrEnum):
    """Where an export is."""

    WAITING = "WAITING"
    RUNNING = "RUNNING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


class Event(Enum):
    """What moves an export from state to state."""

    TAKE = "somebody makes it"
    FINISH = "its file is there"
    CANCEL = "its owner no longer wants it"
    FAIL = "it cannot be made"
    GIVE_WAY = "it makes room for the export of a holder of less"


NEXT: Final[dict[tuple[State, Event], State]] = {
    (State.WAITING, Event.TAKE): State.RUNNING,
    # Whoever made it fell silent: another one begins anew.
    (State.RUNNING, Event.TAKE): State.RUNNING,
    (State.RUNNING, Event.FINISH): State.DONE,
    (State.RUNNING, Event.FAIL): State.FAILED,
    (State.WAITING, Event.GIVE_WAY): State.FAILED,
    (State.RUNNING, Event.GIVE_WAY): State.FAILED,
    (State.WAITING, Event.CANCEL): State.CANCELLED,
    (State.RUNNING, Event.CANCEL): State.CANCELLED,
}
"""Every move."""
UNFINISHED: Final = (State.WAITING, State.RUNNING)


class ManyExports(Refusal):
    """Too many exports wait or are under way."""

    code: ClassVar[str] = "export.many"
    kind: ClassVar[Kind] = Kind.CONFLICT


class NotReady(Refusal):
    """The file of an export was asked for that has none."""

    code: ClassVar[str] = "export.not_ready"
    kind: ClassVar[Kind] = Kind.CONFLICT


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """An export as its owner sees it."""

    id: RecordId
    account_id: UserId
    created_ms: int
    noun: str
    """Which list."""
    form: Form
    question: bytes
    """JSON of what was asked of the list; its maker reads it."""
    name: str
    """Of the file."""
    state: State
    done: int
    """Rows that are in the file."""
    total: int | None
    """Rows that it will have, as counted when it began."""
    size: int
    """Bytes of the file."""
    until_ms: int
    """When it is forgotten."""
