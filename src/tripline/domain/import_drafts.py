"""A draft: a file uploaded for an import, from its arrival until it is registered, discarded or a day old.

A draft belongs to one account. Its columns are matched, its rows checked and mended, and then all good rows are
registered at once, or none.
"""

from collections.abc import Mapping
from enum import Enum, IntEnum, StrEnum, auto
from typing import ClassVar, Final, NewType

import msgspec

from tripline.domain.ids import CompanyId, UserId
from tripline.domain.instants import DAY_MS
from tripline.domain.refusals import BadParameter, Conflict, Refusal, Value, class_of

DraftId = NewType("DraftId", str)

KEPT_MS: Final = DAY_MS
"""Lifetime of a draft."""
ARRIVING_MS: Final = 3_600_000
"""Lifetime of a draft whose file is incomplete: the process that read it is gone."""
OF_ACCOUNT: Final = 10
OF_COMPANY: Final = 50
OF_OPERATOR: Final = 100
"""Drafts in the store, of an operator with its partners; a discarded one counts until it is deleted."""
CELL_MAX: Final = 8_192
"""Characters of a cell: twice the longest field, so that a text that is too long can still be mended."""
NAME_MAX: Final = 255
"""Stored characters of a file's name."""


class State(StrEnum):
    """State of a draft."""

    ARRIVING = "arriving"
    """Its rows are being read from the file."""
    MATCHING = "matching"
    """It waits for its owner to match the columns."""
    CHECKING = "checking"
    CHECKED = "checked"
    """Every row has its verdict; rows can be mended."""
    COMMITTING = "committing"
    DONE = "done"
    """Its good rows are registered."""


class DraftEvent(Enum):
    """An event that moves a draft from state to state."""

    ARRIVE = auto()
    """The whole file was read."""
    CHECK = auto()
    """Columns were matched, or the owner requested a new check of all rows."""
    FINISH_CHECK = auto()
    COMMIT = auto()
    CANCEL = auto()
    FAIL = auto()
    """It cannot be registered: names were taken meanwhile, or its owner lost the permission."""
    REGISTER = auto()


NEXT: Final = {
    (State.ARRIVING, DraftEvent.ARRIVE): State.MATCHING,
    (State.MATCHING, DraftEvent.CHECK): State.CHECKING,
    (State.CHECKED, DraftEvent.CHECK): State.CHECKING,
    (State.COMMITTING, DraftEvent.CHECK): State.CHECKING,
    (State.CHECKING, DraftEvent.FINISH_CHECK): State.CHECKED,
    (State.CHECKING, DraftEvent.CANCEL): State.MATCHING,
    (State.CHECKING, DraftEvent.FAIL): State.MATCHING,
    (State.CHECKED, DraftEvent.COMMIT): State.COMMITTING,
    (State.COMMITTING, DraftEvent.CANCEL): State.CHECKED,
    (State.COMMITTING, DraftEvent.FAIL): State.CHECKED,
    (State.COMMITTING, DraftEvent.REGISTER): State.DONE,
}
"""All transitions; a missing pair is refused."""
WORKED_ON: Final = (State.CHECKING, State.COMMITTING)
"""States in which a process works on a draft."""


class Note(StrEnum):
    """Why the latest run registered nothing."""

    CANCELLED = "cancelled"
    TAKEN = "taken"
    """Some of its names were registered elsewhere after the check."""
    FORBIDDEN = "forbidden"
    """Its owner may no longer register these objects."""
    FULL = "full"
    """Its owner has reached the day's limit of changes."""
    FAILED = "failed"
    """A bug; the log has the rest."""


class RowState(IntEnum):
    """The verdict on a row."""

    GOOD = 0
    BAD = 1
    DUPLICATE = 2
    """Its name is in an earlier row, or already registered."""
    SKIPPED = 3
    """Left out by its owner."""
    UNCHECKED = 4


class TooManyDrafts(Conflict):
    """An account, a company or an operator with its partners has the maximum number of drafts."""

    code: ClassVar[str] = "import.too_many_drafts"


class NotNow(Conflict):
    """The draft's state does not allow this."""

    code: ClassVar[str] = "import.not_now"


class BadMatch(BadParameter):
    """The matched columns of a draft cannot be checked."""

    code = "import.bad_match"


class NothingGood(Conflict):
    """The draft has no row that can be registered."""

    code: ClassVar[str] = "import.nothing_good"


class Trouble(msgspec.Struct, frozen=True, array_like=True):
    """The stored form of a refusal."""

    code: str
    case: str
    field: str | None
    """The column at fault, by our name; None: the row as a whole."""
    values: Mapping[str, str | int | float]


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A draft without its rows."""

    id: DraftId
    account_id: UserId
    company_id: CompanyId
    kind: str
    """The kind of its rows: `vehicles` or `sensors`."""
    name: str
    """Name of the file, as sent."""
    created_ms: int
    expires_ms: int
    state: State = State.ARRIVING
    version: int = 0
    """Grows with every change to columns, cells or verdicts; a decision on an older version must be made again."""
    header: tuple[str, ...]
    columns: tuple[str | None, ...]
    """For each column of the file, our name of the matched field."""
    rows: int = 0
    good: int = 0
    bad: int = 0
    duplicate: int = 0
    skipped: int = 0
    done: int = 0
    """Rows finished by the present run."""
    created: int = 0
    note: Note | None = None
    holder: str = ""
    """The process that works on it."""

    def counting(self, changes: Mapping[RowState, int]) -> "Draft":
        """Return the draft with these changes of its numbers of rows by verdict."""
        counts = {state.name.lower(): getattr(self, state.name.lower()) + change for state, change in changes.items()}
        return msgspec.structs.replace(self, **counts)

    def after(self, event: DraftEvent) -> State:
        """The state after the event. Raises `NotNow`."""
        state = NEXT.get((self.state, event))
        if state is not None:
            return state
        if event is DraftEvent.CANCEL and self.state in (State.MATCHING, State.CHECKED):
            raise NotNow("idle")
        raise self.not_now()

    def not_now(self) -> NotNow:
        """The refusal of an action in the draft's present state."""
        if self.state is State.DONE:
            return NotNow("done")
        return NotNow("unchecked") if self.state is State.MATCHING else NotNow("busy")

    def require_verdicts(self) -> None:
        """Raise `NotNow` unless every row has its verdict."""
        if self.state not in (State.CHECKED, State.COMMITTING, State.DONE):
            raise self.not_now()

    def require_checked(self) -> None:
        """Raise `NotNow` unless every row has its verdict and may be mended."""
        if self.state is not State.CHECKED:
            raise self.not_now()


def trouble_of(refusal: Refusal) -> Trouble:
    """Convert a refusal to its stored form."""
    return Trouble(
        refusal.code, refusal.case, refusal.field, {name: _plain(value) for name, value in refusal.values.items()}
    )


def refusal_of(trouble: Trouble) -> Refusal:
    """Restore a stored refusal."""
    known = class_of(trouble.code) or BadParameter
    return known(trouble.case, field=trouble.field, **trouble.values)


def _plain(value: Value) -> str | int | float:
    assert not isinstance(value, tuple), "no rule of a registration names alternatives"
    return value
