"""Exports: files of all rows of a list, made in the background for the requesting account."""

from enum import Enum, StrEnum
from typing import ClassVar, Final

import msgspec

from tripline.domain.ids import RecordId, UserId
from tripline.domain.refusals import Conflict
from tripline.domain.shares import Shares

OF_ACCOUNT: Final = 2
"""Maximum number of waiting and running exports of an account."""
SHARES: Final = Shares(total=20, operator=15, company=10, account=OF_ACCOUNT)
"""The same for an operator with its partners, a company, and the installation."""
KEPT: Final = 5
"""Stored exports of an account; the oldest makes room."""
KEPT_MS: Final = 3_600_000
"""Lifetime of a file."""


class Form(StrEnum):
    """File format."""

    CSV = "csv"
    XLSX = "xlsx"


class State(StrEnum):
    """State of an export."""

    WAITING = "WAITING"
    RUNNING = "RUNNING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


class Event(Enum):
    """An event that moves an export from state to state."""

    TAKE = "somebody makes it"
    FINISH = "its file is there"
    CANCEL = "its owner no longer wants it"
    FAIL = "it cannot be made"
    GIVE_WAY = "it makes room for the export of a holder of less"


NEXT: Final[dict[tuple[State, Event], State]] = {
    (State.WAITING, Event.TAKE): State.RUNNING,
    # The worker fell silent: another one starts over.
    (State.RUNNING, Event.TAKE): State.RUNNING,
    (State.RUNNING, Event.FINISH): State.DONE,
    (State.RUNNING, Event.FAIL): State.FAILED,
    (State.WAITING, Event.GIVE_WAY): State.FAILED,
    (State.RUNNING, Event.GIVE_WAY): State.FAILED,
    (State.WAITING, Event.CANCEL): State.CANCELLED,
    (State.RUNNING, Event.CANCEL): State.CANCELLED,
}
"""All transitions."""
UNFINISHED: Final = (State.WAITING, State.RUNNING)


class ManyExports(Conflict):
    """Too many exports wait or run."""

    code: ClassVar[str] = "export.many"


class NotReady(Conflict):
    """The export has no file to download."""

    code: ClassVar[str] = "export.not_ready"


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """An export as its owner sees it."""

    id: RecordId
    account_id: UserId
    created_ms: int
    noun: str
    """Which list."""
    form: Form
    question: bytes
    """The list query as JSON; the worker reads it."""
    name: str
    """File name."""
    state: State
    done: int
    """Rows written so far."""
    total: int | None
    """Rows in total, as counted at the start."""
    size: int
    """Bytes of the file."""
    until_ms: int
    """When it expires."""
