"""Rescorings: a company's stored trips are scored anew, in the background, because an administrator asked for it.

A rescoring is stored first; workers then process a few trips at a time. So it survives the end of any process, and the
administrator can follow its progress.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tripline.domain import ids
from tripline.domain.ids import CompanyId, RowNo, UserId
from tripline.domain.maps import Bounds
from tripline.domain.refusals import Conflict

KEPT: Final = 100
"""Stored rescorings of a company, including the one under way."""


class Stage(StrEnum):
    """State of a rescoring."""

    RUNNING = "RUNNING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    """Scores that have already changed stay changed."""


class Cause(StrEnum):
    """Why a rescoring ends."""

    FINISH = "finish"
    CANCEL = "cancel"


NEXT: Final[dict[tuple[Stage | None, Cause | None], Stage]] = {
    (None, None): Stage.RUNNING,
    (Stage.RUNNING, Cause.FINISH): Stage.DONE,
    (Stage.RUNNING, Cause.CANCEL): Stage.CANCELLED,
}
"""All transitions; None is the state before the rescoring exists."""


class RescoringRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request of an administrator."""

    from_ms: int | None = None
    """Trips that began at this instant or later."""
    to_ms: int | None = None
    """Trips that began before this instant."""
    everything: bool = False
    """Include trips already scored by the policy in force for them."""
    dry_run: bool = False
    """Only report the changes."""
    policy: int | None = None
    """The policy to try in place of the ones in force; only for a dry run."""
    area: str | None = None
    """Only trips that the map of this area touches, under any policy (`Touched`)."""


class Touched(msgspec.Struct, frozen=True):
    """The scored trips that the map of an area touches: judged with another map of the area or a lost one, or judged
    without it and driven within its bounds."""

    area: str
    map: str | None = None
    """The present map; None: there is none, and trips judged by an earlier one are touched."""
    bounds: Bounds | None = None


class Outcome(msgspec.Struct, kw_only=True):
    """Changes made by rescoring, or that it would make."""

    judged: int = 0
    same: int = 0
    """Scores that stayed the same, and trips still without one."""
    moved: int = 0
    gained: int = 0
    """Trips that had no score before."""
    lost: int = 0
    """Trips that lost their score."""
    failed: int = 0
    """A server retries their jobs with growing pauses."""
    most: float = 0.0
    """The largest change of a score."""
    sum: float = 0.0
    """Sum of the absolute changes."""
    reasons: dict[str, int] = {}
    """In a preview: reasons trips would lose their score."""

    def compare(self, trip_nos: Sequence[int], before: Mapping[int, float], after: Mapping[int, float]) -> None:
        """Count the changes of these trips; the mappings hold the scores of scored trips."""
        for no in trip_nos:
            self.judged += 1
            if no in before and no in after and before[no] != after[no]:
                change = abs(after[no] - before[no])
                self.moved += 1
                self.sum += change
                self.most = max(self.most, change)
            elif (no in before) == (no in after):
                self.same += 1
            elif no in after:
                self.gained += 1
            else:
                self.lost += 1


class Batch(msgspec.Struct, frozen=True):
    """Selected trips that wait to be scored."""

    trip_nos: list[int]
    before: dict[int, float]
    """The scores of the trips that had one."""


class Rescoring(msgspec.Struct, frozen=True, kw_only=True):
    """A stored rescoring."""

    no: RowNo
    """Also the time of the request; trips registered later are not included."""
    id: str
    company_id: CompanyId
    requested_by: UserId | None
    """None: deleted since."""
    asked: RescoringRequest
    state: Stage
    due_ms: int
    """When a worker may continue it; the worker moves this to the end of its lease."""
    first_no: int
    """Row number of the first existing trip."""
    after_no: int
    """Row number of the last trip examined."""
    looked_at: int
    """Number of trips examined."""
    outcome: bytes
    """JSON of an `Outcome`."""
    batch: Batch | None
    ended_ms: int | None

    @property
    def created_ms(self) -> int:
        """When it was requested."""
        return ids.ms_of_no(self.no)

    @property
    def counted(self) -> Outcome:
        """The changes so far."""
        return msgspec.json.decode(self.outcome, type=Outcome)

    @property
    def progress(self) -> float:
        """Examined share of the time in which trips were registered, 0 to 1."""
        if self.state is Stage.DONE:
            return 1.0
        return min(1.0, max(0.0, (self.after_no - self.first_no) / max(1, self.no - self.first_no)))


class UnderWay(Conflict):
    """Another rescoring of the company is under way."""

    code = "rescoring.under_way"


class Ended(Conflict):
    """The rescoring is done or cancelled already."""

    code = "rescoring.ended"
