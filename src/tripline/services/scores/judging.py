"""From jobs and samples to results: pure, on a thread of its own when there is much of it.

Not here: reading the jobs and writing the results (`scorer.py`, `keeping.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tripline.domain import trips
from tripline.domain.ids import VehicleId
from tripline.scoring import kernel, policy
from tripline.scoring.policy import NotScored, TripScore
from tripline.scoring.rules import Rules
from tripline.services.scores import arrays
from tripline.store.scores import Event, Job, Score


@dataclass(frozen=True, slots=True)
class Result:
    """What is to be kept of one trip: a score with its events, or the reason why there is none."""

    job: Job
    score: Score | None
    events: list[Event]
    not_scored: str | None


def judged(jobs: Sequence[tuple[Job, bytes]], rules: Rules) -> list[Result]:
    """The result of each job with its packed samples. Raises ValueError when samples are cut."""
    loaded = arrays.loaded(
        [arrays.Track(packed, job.category, job.device_type, job.distance_m) for job, packed in jobs]
    )
    found = kernel.findings(loaded.drives, rules)
    events = _events(found.events, len(jobs))
    results = []
    for trip, verdict in enumerate(policy.judged(found, rules)):
        job = jobs[trip][0]
        reason = _row_reason(job)
        if reason is None and isinstance(verdict, NotScored):
            moments = int(loaded.timed[trip]) >= 2 and int(loaded.lasting_ms[trip]) >= rules.instant_ms
            reason = _sample_reason(verdict, moments=moments)
        if reason is None and isinstance(verdict, TripScore):
            results.append(Result(job, _score(verdict), events[trip], None))
        else:
            results.append(Result(job, None, [], reason))
    return results


def info_text(limit_kmh: float) -> str:
    """The `info` of a GPS event without a road map: `maxSpd` is the limit broken, metres per hour."""
    return f'{{"id":"","maxSpd":{round(limit_kmh * 1_000)},"rank":0}}'


def _row_reason(job: Job) -> str | None:
    vehicle_id = None if job.vehicle_id is None else VehicleId(job.vehicle_id)
    return trips.why_not_scored(device_type=job.device_type, vehicle_id=vehicle_id, parking=job.parking)


def _sample_reason(verdict: NotScored, *, moments: bool) -> str:
    """The kernel knows samples with a position alone; `moments`: the trip has two instants, with or without one."""
    if verdict is NotScored.NO_SAMPLES and moments:
        return NotScored.NO_POSITION.value
    return verdict.value


def _score(verdict: TripScore) -> Score:
    return Score(
        score=verdict.score,
        accel=verdict.accel,
        de_accel=verdict.de_accel,
        over_speed=verdict.over_speed,
        over_speed_s=verdict.over_speed_s,
        distance_m=verdict.distance_m,
    )


def _events(found: kernel.Events, trips_in_all: int) -> list[list[Event]]:
    """The events of each trip."""
    events: list[list[Event]] = [[] for _ in range(trips_in_all)]
    for trip, kind, time_ms, lat, lon, speed_kmh, limit_kmh in zip(
        found.trip.tolist(),
        found.type.tolist(),
        found.time_ms.tolist(),
        found.lat.tolist(),
        found.lon.tolist(),
        found.speed_kmh.tolist(),
        found.limit_kmh.tolist(),
        strict=True,
    ):
        speed_mh = float(round(speed_kmh * 1_000))
        events[trip].append(Event(time_ms, kind, speed_mh, lat, lon, info_text(limit_kmh)))
    return events
