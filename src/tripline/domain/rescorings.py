"""Rescorings: a company's stored trips are scored anew, in the background, because an administrator asked for it.

One is a row first; workers go on with it a few trips at a time. So it goes on after any end of any process, and whoever
asked sees how far it is.

Not here: the work (`services/scores/rescorer.py`), rows (`store/scores/rescorings.py`).
"""

from enum import StrEnum
from typing import Final

import msgspec

from tripline.domain import ids
from tripline.domain.ids import CompanyId, RowNo, UserId
from tripline.domain.maps import Bounds
from tripline.domain.refusals import Kind, Refusal

KEPT: Final = 100
"""Rescorings of a company that are kept, with the one that is under way."""


class Stage(StrEnum):
    """Where a rescoring is in its life."""

    RUNNING = "RUNNING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    """Scores that changed before stay as they are now."""


class Cause(StrEnum):
    """The reasons for which a rescoring ends."""

    FINISH = "finish"
    CANCEL = "cancel"


NEXT: Final[dict[tuple[Stage | None, Cause | None], Stage]] = {
    (None, None): Stage.RUNNING,
    (Stage.RUNNING, Cause.FINISH): Stage.DONE,
    (Stage.RUNNING, Cause.CANCEL): Stage.CANCELLED,
}
"""Every move there is; None is "no such rescoring yet"."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The request of an administrator."""

    from_ms: int | None = None
    """Trips that began at this instant or later."""
    to_ms: int | None = None
    """Trips that began before this instant."""
    everything: bool = False
    """Also trips whose score is by the policy in force for them already."""
    dry_run: bool = False
    """Only say what would change."""
    policy: int | None = None
    """The policy to try in place of those in force; for a dry run alone."""
    area: str | None = None
    """Trips that the map of this area touches, whichever policy their scores are by (`Touched`)."""


class Touched(msgspec.Struct, frozen=True):
    """The scored trips that the map of an area touches: those whose roads another map of it told, or one that was lost,
    and those that were judged without it and driven within its bounds."""

    area: str
    map: str | None = None
    """The one that is there now; None: none is, so that trips are touched which it judged before."""
    bounds: Bounds | None = None


class Bite(msgspec.Struct, frozen=True):
    """Trips that were asked for and wait to be scored."""

    trip_nos: list[int]
    before: dict[int, float]
    """The scores of those that had one."""


class Rescoring(msgspec.Struct, frozen=True, kw_only=True):
    """A rescoring with all that is kept of it."""

    no: RowNo
    """Also says when it was asked for; trips that were registered later are not in it."""
    id: str
    company_id: CompanyId
    requested_by: UserId | None
    """None: deleted meanwhile."""
    asked: Asked
    state: Stage
    due_ms: int
    """When a worker goes on with it; whoever does moves it to the end of a lease."""
    first_no: int
    """Row number of the first trip that there was."""
    after_no: int
    """Row number of the last trip that was looked at."""
    looked_at: int
    """How many trips were."""
    outcome: bytes
    """JSON of the counts (`services/scores/rescore.py`)."""
    bite: Bite | None
    ended_ms: int | None

    @property
    def created_ms(self) -> int:
        """When it was asked for."""
        return ids.ms_of_no(self.no)

    @property
    def progress(self) -> float:
        """How much of the time in which trips were registered has been looked through, 0 to 1."""
        if self.state is Stage.DONE:
            return 1.0
        return min(1.0, max(0.0, (self.after_no - self.first_no) / max(1, self.no - self.first_no)))


class UnderWay(Refusal):
    """Another rescoring of the company is under way."""

    code = "rescoring.under_way"
    kind = Kind.CONFLICT


class Ended(Refusal):
    """The rescoring is done or cancelled already."""

    code = "rescoring.ended"
    kind = Kind.CONFLICT
