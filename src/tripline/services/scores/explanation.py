"""Explain scores: the findings of a trip, with the ids of the stored GPS events that they belong to.

Findings are stored with the result, so they match the score. Those of an earlier version of the program are judged
again, by the policy that the score names.
"""

import bisect
import datetime
from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from tripline.ports.maps import RoadMatcher
from tripline.scoring.rules import EventType, Rules
from tripline.services.scores import arrays, findings, judgement
from tripline.services.scores.findings import Stretch, TripFindings
from tripline.services.scores.reads import ScoreFacts
from tripline.store.scores.reads import StoredEvent
from tripline.store.scores.scores import Task


class Explanation(TripFindings, frozen=True, kw_only=True, array_like=True):
    """The explanation of a trip's score."""

    unexplained: list[str]
    """Ids of stored GPS events that were not found again, because the score follows earlier rules."""


def of_facts(facts: ScoreFacts, zone: datetime.tzinfo, roads: RoadMatcher | None = None) -> Explanation:
    """Explain a trip by its stored findings, or judge it again.

    `zone`: of the night; `roads`: the source of speed limits for judging. Judging takes milliseconds; it raises
    ValueError when packed samples are truncated, `Outage`.
    """
    if facts.rejudged is None:
        return of_stored(facts)
    task, rules = facts.rejudged.task, facts.rejudged.policy.rules
    offset_ms = judgement.utc_offset_ms(task.job.begun_ms, zone)
    return of_trip(task, rules, facts.events, utc_offset_ms=offset_ms, roads=roads)


def of_stored(facts: ScoreFacts) -> Explanation:
    """Explain a trip by its stored findings."""
    return _explained(findings.read(facts.kept.findings or b""), facts.events)


def of_trip(
    task: Task, rules: Rules, kept: Sequence[StoredEvent], *, utc_offset_ms: int, roads: RoadMatcher | None = None
) -> Explanation:
    """Judge a trip again and explain it by these rules. Raises ValueError when its packed samples are truncated,
    `Outage`.

    `kept`: its stored GPS events. `utc_offset_ms`: UTC offset of the local time when it began. `roads`: the source of
    speed limits; None: no limits.
    """
    placed = judgement.located(arrays.loaded([judgement.track(task)]).drives, roads)
    return _explained(judgement.found(placed, task, rules, utc_offset_ms=utc_offset_ms), kept)


def _explained(found: TripFindings, kept: Sequence[StoredEvent]) -> Explanation:
    ids = _Ids(kept)
    of_findings = {
        **{name: getattr(found, name) for name in TripFindings.__struct_fields__},
        "manoeuvres": [replace(each, event_id=ids.at(each.at_ms, each.type)) for each in found.manoeuvres],
        "stretches": [replace(each, event_ids=ids.over(each)) for each in found.stretches],
    }
    return Explanation(**of_findings, unexplained=ids.left())


class _Ids:
    """Ids of stored events, each given away once."""

    def __init__(self, kept: Sequence[StoredEvent]) -> None:
        self._ids: dict[tuple[int, int], list[str]] = defaultdict(list)
        # Popped from the end, so the first of two equal events gets the first id.
        for event in reversed(kept):
            self._ids[event.event_ms, event.event_type].append(event.id)
        self._over = sorted(at_ms for at_ms, kind in self._ids if kind == EventType.OVERSPEED)

    def at(self, at_ms: int, kind: EventType) -> str | None:
        """The id of an event of this kind."""
        ids = self._ids.get((at_ms, kind))
        return ids.pop() if ids else None

    def over(self, stretch: Stretch) -> list[str]:
        """The ids of a stretch over the limit, one at each instant."""
        first, end = bisect.bisect_left(self._over, stretch.begin_ms), bisect.bisect_right(self._over, stretch.last_ms)
        found = (self.at(at_ms, EventType.OVERSPEED) for at_ms in self._over[first:end])
        return [each for each in found if each is not None]

    def left(self) -> list[str]:
        """The ids of events that were not found."""
        return [event_id for ids in self._ids.values() for event_id in ids]
