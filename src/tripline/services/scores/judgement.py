"""Judge trips: turn jobs and their samples into results, without I/O."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from tripline.domain import instants, trips
from tripline.domain.ids import VehicleId
from tripline.ports.maps import RoadMatcher
from tripline.roads.located import Located, Road
from tripline.scoring import covers, kernel, measures, quality
from tripline.scoring import policy as verdicts
from tripline.scoring.annulments import Annulment
from tripline.scoring.covers import Cover, Interval
from tripline.scoring.drives import Drives
from tripline.scoring.findings import Events, Spans
from tripline.scoring.kernel import Block
from tripline.scoring.measures import Measures
from tripline.scoring.quality import Quality
from tripline.scoring.rules import Rules
from tripline.scoring.score import NotScored, TripScore
from tripline.services.scores import arrays, findings, reads
from tripline.services.scores.findings import TripFindings
from tripline.store.scores.policies import Policy
from tripline.store.scores.scores import GpsEvent, Job, Task

SAMPLE_BYTES: Final = arrays.PACKED.itemsize
"""Size of one packed sample."""
ANNULLED: Final = "annulled"
"""Reason a trip has no score when an accepted dispute annulled the whole trip."""

_NOWHERE: Final = Road("", 0, "")


class Result(msgspec.Struct, frozen=True):
    """The result for one trip: a score with its events, or the reason a score is missing."""

    job: Job
    policy: Policy
    """The policy that was applied."""
    score: TripScore | None
    events: list[GpsEvent]
    not_scored: str | None
    quality: bytes
    """Quality of the samples (`scoring/quality.py`)."""
    cover: Cover = ()
    """The time that the samples cover, if the trip gets a score."""
    findings: bytes = b""
    """Encoded (`findings.py`); empty: not wanted, or the trip is too long to be explained."""


def judged(
    tasks: Sequence[Task],
    policy_of: Mapping[int | None, Policy],
    roads: RoadMatcher | None = None,
    *,
    zone: ZoneInfo | None = None,
) -> list[Result]:
    """Judge each task by the policy of its job.

    `roads`: the source of speed limits; None: no limits. `zone`: of the night; None: without findings, which cost about
    as much as the rest. Raises ValueError when samples are truncated, `Outage`.
    """
    results: list[Result] = []
    for no in dict.fromkeys(task.job.policy for task in tasks):
        results += _judged([task for task in tasks if task.job.policy == no], policy_of[no], roads, zone)
    return results


def located(drives: Drives, roads: RoadMatcher | None) -> Located:
    """Add the known roads and limits to the drives. Raises `Outage`."""
    if roads is None or not roads.has_maps:
        return Located(drives, (), [()] * len(drives))
    return roads.located(drives)


def annulments(task: Task, trip: int) -> list[Annulment]:
    """Annulled events of the task's trip; `trip`: its index in the batch."""
    return [Annulment(trip, kind, begin, end) for _, kind, begin, end in task.annulled if kind is not None]


def track(task: Task) -> arrays.Track:
    """The samples of a task's trip, with the job's vehicle category, device type and distance."""
    return arrays.Track(task.packed, task.job.category, task.job.device_type, task.job.distance_m)


def is_annulled(task: Task) -> bool:
    """True if the whole trip is annulled."""
    return any(kind is None for _, kind, _, _ in task.annulled)


def found(placed: Located, task: Task, rules: Rules, *, utc_offset_ms: int) -> TripFindings:
    """Judge a single trip by these rules, and return its findings."""
    (block,) = kernel.blocks(placed.drives, rules, annulments(task, 0))
    (verdict,) = verdicts.judged(block.findings, rules)
    told = _quality(block, 0, task, placed)
    (measured,) = measures.of_trips(block.work, rules, utc_offsets_ms=[utc_offset_ms])
    return _found(block, 0, task, placed.roads, verdict, told, rules, measured)


def utc_offset_ms(at_ms: int, zone: datetime.tzinfo) -> int:
    """UTC offset of the local time at an instant."""
    return round((instants.local(at_ms, zone).utcoffset() or datetime.timedelta()).total_seconds()) * 1_000


def _quality(block: Block, trip: int, task: Task, placed: Located) -> Quality:
    told = block.findings.quality(trip)
    unused = len(task.packed) // SAMPLE_BYTES - told.samples
    return replace(told, maps=placed.maps[block.trips.start + trip], dropped=unused)


def _found(
    block: Block,
    trip: int,
    task: Task,
    roads: Sequence[Road],
    verdict: TripScore | NotScored,
    told: Quality,
    rules: Rules,
    measured: Measures,
) -> TripFindings:
    return findings.of_block(
        *(block, trip, rules),
        scored=verdict if isinstance(verdict, TripScore) and not is_annulled(task) else None,
        quality=told,
        annulled=task.annulled,
        measured=measured,
        roads=roads,
    )


def _judged(tasks: Sequence[Task], policy: Policy, roads: RoadMatcher | None, zone: ZoneInfo | None) -> list[Result]:
    loaded = arrays.loaded([track(task) for task in tasks])
    placed = located(loaded.drives, roads)
    annulled = [each for trip, task in enumerate(tasks) for each in annulments(task, trip)]
    results = []
    for block in kernel.blocks(placed.drives, policy.rules, annulled):
        events = _events(block.findings.events, len(block.trips), placed.roads)
        spans = _spans(block.findings.spans, len(block.trips))
        offsets_ms = [] if zone is None else [utc_offset_ms(tasks[no].job.begun_ms, zone) for no in block.trips]
        measured = [] if zone is None else measures.of_trips(block.work, policy.rules, utc_offsets_ms=offsets_ms)
        for trip, verdict in enumerate(verdicts.judged(block.findings, policy.rules)):
            no = block.trips[trip]
            task, job = tasks[no], tasks[no].job
            told = _quality(block, trip, task, placed)
            reason = _row_reason(job) or (ANNULLED if is_annulled(task) else None)
            if reason is None and isinstance(verdict, NotScored):
                moments = int(loaded.timed[no]) >= 2 and int(loaded.lasting_ms[no]) >= policy.rules.scoring.instant_ms
                reason = _sample_reason(verdict, moments=moments)
            kept, details = quality.written(told), b""
            if zone is not None and len(task.packed) <= reads.EXPLAINED * SAMPLE_BYTES:
                details = findings.written(
                    _found(block, trip, task, placed.roads, verdict, told, policy.rules, measured[trip])
                )
            if reason is None and isinstance(verdict, TripScore):
                cover = covers.joined(spans[trip])
                results.append(Result(job, policy, verdict, events[trip], None, kept, cover, details))
            else:
                results.append(Result(job, policy, None, [], reason, kept, (), details))
    return results


def info_text(limit_kmh: float, road: Road = _NOWHERE) -> str:
    """The `info` of a GPS event: `id` is the road link, `maxSpd` the limit broken, metres per hour."""
    return f'{{"id":"{road.link}","maxSpd":{round(limit_kmh * 1_000)},"rank":{road.rank}}}'


def _row_reason(job: Job) -> str | None:
    vehicle_id = None if job.vehicle_id is None else VehicleId(job.vehicle_id)
    return trips.why_not_scored(job.device_type, vehicle_id, parking=job.parking)


def _sample_reason(verdict: NotScored, *, moments: bool) -> str:
    """The reason a trip has no score; `moments`: it has samples at two instants, with or without a position."""
    if verdict is NotScored.NO_SAMPLES and moments:
        return NotScored.NO_POSITION.value
    return verdict.value


def _spans(found: Spans, trips_in_all: int) -> list[list[Interval]]:
    spans: list[list[Interval]] = [[] for _ in range(trips_in_all)]
    for trip, begin, end in zip(found.trip.tolist(), found.begin_ms.tolist(), found.end_ms.tolist(), strict=True):
        spans[trip].append(Interval(begin, end))
    return spans


def _events(found: Events, trips_in_all: int, roads: Sequence[Road]) -> list[list[GpsEvent]]:
    events: list[list[GpsEvent]] = [[] for _ in range(trips_in_all)]
    for trip, kind, time_ms, lat, lon, speed_kmh, limit_kmh, road in zip(
        found.trip.tolist(),
        found.type.tolist(),
        found.time_ms.tolist(),
        found.lat.tolist(),
        found.lon.tolist(),
        found.speed_kmh.tolist(),
        found.limit_kmh.tolist(),
        found.road.tolist(),
        strict=True,
    ):
        known = _NOWHERE if road < 0 else roads[road]
        speed_mh = float(round(speed_kmh * 1_000))
        events[trip].append(GpsEvent(time_ms, kind, speed_mh, lat, lon, info_text(limit_kmh, known)))
    return events
