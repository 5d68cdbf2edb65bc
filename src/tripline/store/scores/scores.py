"""Scoring jobs and the scorer's results: scores, GPS events, accumulated scores.

Not here: reading them for REST (`reads.py`), making jobs (`store/trips/batch_rows.py`). The scorer works for everyone,
so nothing here takes a scope.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ARRAY, BigInteger, Integer, Select, any_, bindparam, delete, func, literal, select, update

from tripline.scoring.score import NotScored, TripScore
from tripline.store.bulk import Bulk
from tripline.store.erasure import erasures
from tripline.store.scores import disputes, policies
from tripline.store.scores.disputes import Annulled
from tripline.store.scores.policies import Policy
from tripline.store.scores.sums import Place
from tripline.store.tables import (
    driving_score,
    gps_event,
    microtrip,
    scoring_job,
    trip,
    trip_findings,
    vehicle,
    vehicle_score,
)
from tripline.store.transactions import Hot, ReadTx, WriteTx

LATEST: Final = 10_000
"""Number of trips searched."""
_LATEST: Final = select(trip.c.not_scored, trip.c.quality).order_by(trip.c.no.desc()).limit(LATEST).subquery()
_WHY_NOT: Final = (
    select(_LATEST.c.not_scored, func.count())
    .where(_LATEST.c.not_scored.is_not(None))
    .group_by(_LATEST.c.not_scored)
    .order_by(func.count().desc(), _LATEST.c.not_scored)
)
_REFUSED: Final = select(_LATEST.c.quality).where(_LATEST.c.not_scored == NotScored.SPEED_IMPLAUSIBLE.value)


class Job(NamedTuple):
    """A scoring job with the details of its trip's rows, except the samples."""

    trip_no: int
    due_ms: int
    """Time at which the job is due. Taking the job on a shared store moves it to the end of the lease, and a new
    request to another time, so it identifies one turn of the job."""
    attempts: int
    trip_id: str
    vehicle_id: str | None
    user_id: str | None
    device_type: str
    parking: bool
    distance_m: float | None
    not_scored: str | None
    quality: bytes | None
    category: str | None
    last_microtrip: int | None
    """Row number of the newest microtrip: a later one makes it another job."""
    microtrips: int
    """How many there are: of several processes, one may commit the microtrip with the smaller number later."""
    policy: int | None
    """Chosen for the company when the trip began, otherwise for the service type; None: the one in the settings."""
    annulments: int
    """How many accepted disputes take something out of the trip."""
    company_id: str
    begun_ms: int
    """Start of the trip; its creation if it has none."""


class Backlog(msgspec.Struct, frozen=True):
    """How many jobs wait, how many were due before the asked instant, and the last error of any."""

    waiting: int
    overdue: int
    last_error: str | None


class Task(NamedTuple):
    """A job with the samples to judge."""

    job: Job
    packed: bytes
    """The packed samples of the trip, in the order received."""
    annulled: Sequence[Annulled] = ()
    """Annulled events."""


class GpsEvent(NamedTuple):
    """The values of one GPS event."""

    event_ms: int
    event_type: int
    speed_mh: float
    lat: float
    lon: float
    info: str


class Total(NamedTuple):
    """A vehicle's accumulated score."""

    vehicle_id: str
    created_ms: int
    user_id: str | None
    trips: int
    """Number of scored trips."""
    score: float
    distance_m: float
    sums: bytes = b""
    """Sums of all its trips, where they are read (`scoring/policy.py`)."""


def due(tx: ReadTx, *, now_ms: int, limit: int) -> list[Job]:
    """Jobs whose time has come, the longest waiting first."""
    return [Job(*row) for row in tx.hot(_DUE, now_ms, limit)]


def claim(tx: WriteTx, *, now_ms: int, limit: int) -> list[Job]:
    """As `due`, locked until the transaction ends; skips jobs locked by others. For a shared store."""
    return [Job(*row) for row in tx.hot(_CLAIM, now_ms, limit)]


def put_off(tx: WriteTx, job: Job, *, due_ms: int) -> Job:
    """Move the job to another time, unless it was requested again meanwhile; return the updated job."""
    tx.run(_PUT_OFF, {"of_trip": job.trip_no, "was_due": job.due_ms, "then": due_ms})
    return job._replace(due_ms=due_ms)


def hold(tx: WriteTx, trip_nos: Iterable[int]) -> None:
    """Lock these trips and then their jobs, until the transaction ends. For a shared store."""
    ordered = sorted(trip_nos)
    tx.hot(_HOLD_TRIPS, ordered)
    tx.hot(_HOLD_JOBS, ordered)


def hold_vehicles(tx: WriteTx, vehicle_ids: Iterable[str]) -> None:
    """Lock these vehicles against deletion and against other scorers until the transaction ends."""
    tx.all(_HOLD_VEHICLES, {"ids": sorted(vehicle_ids)})


def job(tx: ReadTx, trip_no: int) -> Job | None:
    """The job of a trip as it stands now."""
    return next((Job(*row) for row in tx.hot(_JOB, trip_no)), None)


def as_if_asked(tx: ReadTx, trip_no: int) -> Job | None:
    """The job that a trip would have, waiting or not; None if the trip does not exist."""
    return next((Job(*row) for row in tx.hot(_AS_IF_ASKED, trip_no)), None)


def task(tx: ReadTx, job: Job) -> Task:
    """The job with its samples."""
    annulled = disputes.annulled(tx, job.trip_no) if job.annulments else ()
    return Task(job, samples(tx, job.trip_no), annulled)


def samples(tx: ReadTx, trip_no: int) -> bytes:
    """The packed samples of a trip, in the order received."""
    return b"".join(row[0] for row in tx.hot(_SAMPLES, trip_no))


def score(tx: ReadTx, trip_no: int) -> TripScore | None:
    """The score kept of a trip."""
    return next((TripScore(*row) for row in tx.hot(_SCORE, trip_no)), None)


def events(tx: ReadTx, trip_no: int) -> list[GpsEvent]:
    """The GPS events kept of a trip, in the order written."""
    return [GpsEvent(*row) for row in tx.hot(_EVENTS, trip_no)]


def forget(tx: WriteTx, trip_no: int) -> None:
    """Remove the score and GPS events of a trip."""
    tx.run(_FORGET_EVENTS, {"of_trip": trip_no})
    tx.run(_FORGET_SCORE, {"of_trip": trip_no})


def keep_events(
    tx: WriteTx, job: Job, found: Sequence[GpsEvent], *, ids: Sequence[str], nos: range, at_ms: int
) -> None:
    """Write the GPS events of a trip under these ids and row numbers, all created at one instant."""
    values: list[Any] = []
    for no, event_id, event in zip(nos, ids, found, strict=True):
        values += (no, event_id, job.trip_no, job.trip_id, at_ms, job.vehicle_id, job.user_id)
        values += (job.device_type.upper(), *event)
    _GPS_EVENTS.insert(tx, values)


def keep_score(tx: WriteTx, job: Job, found: TripScore, place: Place, *, policy: int, at_ms: int) -> None:
    """Write the score of a trip that has none; `policy`: the number of the one that it comes from."""
    _SCORES.insert(tx, [job.trip_no, job.trip_id, at_ms, job.vehicle_id, job.user_id, *found, *place, policy])


def name_policy(tx: WriteTx, trip_no: int, policy: Policy) -> bool:
    """Name this policy in the score of a trip, if any, since both policies give the same score; True if changed."""
    return tx.run(_NAME_POLICY, {"of_trip": trip_no, "now": policy.no, "adds": policy.rules.scoring.added_m}) > 0


def note(tx: WriteTx, trip_no: int, reason: str | None, quality: bytes) -> None:
    """Keep with the trip why it has no score (None: it has one) and how good its samples were."""
    tx.run(_NOTE, {"of_trip": trip_no, "reason": reason, "quality": quality})


def finish(tx: WriteTx, trip_no: int) -> None:
    """Remove the job."""
    tx.run(_FINISH, {"of_trip": trip_no})


def postpone(tx: WriteTx, job: Job, *, error: str, due_ms: int) -> None:
    """Retry the job later; a job requested again meanwhile keeps its time."""
    tx.run(
        _POSTPONE,
        {
            "of_trip": job.trip_no,
            "was_due": job.due_ms,
            "count": job.attempts + 1,
            "error": error[:255],
            "then": due_ms,
        },
    )


def backlog(tx: ReadTx, *, due_before_ms: int) -> Backlog:
    """How the scorer keeps up."""
    late = func.count().filter(scoring_job.c.due_ms < due_before_ms)
    counted = tx.all(select(func.count().label("waiting"), late.label("overdue")).select_from(scoring_job))[0]
    failed = tx.all(
        select(scoring_job.c.last_error)
        .where(scoring_job.c.last_error.is_not(None))
        .order_by(scoring_job.c.due_ms.desc())
        .limit(1)
    )
    return Backlog(counted.waiting, counted.overdue, failed[0].last_error if failed else None)


def newest_driver(tx: ReadTx, vehicle_id: str) -> str | None:
    """Who drove the vehicle's trip that was scored last."""
    return next((row[0] for row in tx.hot(_NEWEST, vehicle_id)), None)


def total(tx: ReadTx, vehicle_id: str) -> Total | None:
    """A vehicle's accumulated score and its inputs."""
    return next((Total(*row) for row in tx.hot(_TOTAL, vehicle_id)), None)


def keep_total(tx: WriteTx, total: Total) -> None:
    """Store a vehicle's accumulated score and its inputs; without trips, delete it."""
    if total.trips:
        _TOTALS.insert(tx, [*total])
    else:
        tx.run(_FORGET_TOTAL, {"of_vehicle": total.vehicle_id})


def _jobs(*, waiting: bool = True) -> Select[Any]:
    """Select jobs of existing trips: committing a result makes a new request, so no job outlives its vehicle.

    `waiting`: only waiting jobs; otherwise the job that any trip would have.
    """
    of_trip = microtrip.c.trip_no == trip.c.no
    newest = select(func.max(microtrip.c.no)).where(of_trip).scalar_subquery()
    count = select(func.count()).select_from(microtrip).where(of_trip).scalar_subquery()
    trips = scoring_job.join(trip, trip.c.no == scoring_job.c.trip_no) if waiting else trip
    joined = trips.outerjoin(vehicle, vehicle.c.id == trip.c.vehicle_id)
    return (
        select(
            trip.c.no,
            scoring_job.c.due_ms if waiting else literal(0),
            scoring_job.c.attempts if waiting else literal(0),
            trip.c.id,
            trip.c.vehicle_id,
            trip.c.user_id,
            trip.c.device_type,
            trip.c.parking,
            trip.c.distance_m,
            trip.c.not_scored,
            trip.c.quality,
            vehicle.c.category,
            newest,
            count,
            policies.chosen(),
            disputes.annulments(trip.c.no),
            trip.c.company_id,
            func.coalesce(trip.c.start_ms, trip.c.created_ms),
        )
        .select_from(joined)
        .where(erasures.kept(trip.c.vehicle_id))
    )


_FIRST: Final = (
    _jobs()
    .where(scoring_job.c.due_ms <= bindparam("now"))
    .order_by(scoring_job.c.due_ms)
    .limit(bindparam("most", type_=Integer))
)
_DUE: Final = Hot(_FIRST, "now", "most")
_CLAIM: Final = Hot(_FIRST.with_for_update(of=scoring_job, skip_locked=True), "now", "most")
_NOS: Final = any_(bindparam("nos", type_=ARRAY(BigInteger)))
_HOLD_TRIPS: Final = Hot(
    select(trip.c.no).where(trip.c.no == _NOS).order_by(trip.c.no).with_for_update(key_share=True), "nos"
)
_HOLD_JOBS: Final = Hot(
    select(scoring_job.c.trip_no)
    .where(scoring_job.c.trip_no == _NOS)
    .order_by(scoring_job.c.trip_no)
    .with_for_update(),
    "nos",
)
_HOLD_VEHICLES: Final = (
    select(vehicle.c.id)
    .where(vehicle.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(vehicle.c.id)
    .with_for_update(key_share=True)
)
_JOB: Final = Hot(_jobs().where(scoring_job.c.trip_no == bindparam("of_trip")), "of_trip")
_AS_IF_ASKED: Final = Hot(_jobs(waiting=False).where(trip.c.no == bindparam("of_trip")), "of_trip")
_SAMPLES: Final = Hot(
    select(microtrip.c.samples).where(microtrip.c.trip_no == bindparam("of_trip")).order_by(microtrip.c.no), "of_trip"
)
_SCORE: Final = Hot(
    select(*(driving_score.c[name] for name in TripScore._fields)).where(
        driving_score.c.trip_no == bindparam("of_trip")
    ),
    "of_trip",
)
_EVENTS: Final = Hot(
    select(*(gps_event.c[name] for name in GpsEvent._fields))
    .where(gps_event.c.trip_no == bindparam("of_trip"))
    .order_by(gps_event.c.no),
    "of_trip",
)
_TOTAL_COLUMNS: Final = ("vehicle_id", "created_ms", "user_id", "count", "score", "distance_m")
_TOTAL: Final = Hot(
    select(*(vehicle_score.c[name] for name in (*_TOTAL_COLUMNS, "sums"))).where(
        vehicle_score.c.vehicle_id == bindparam("of_vehicle")
    ),
    "of_vehicle",
)
_NEWEST: Final = Hot(
    select(driving_score.c.user_id)
    .where(driving_score.c.vehicle_id == bindparam("of_vehicle"))
    .order_by(driving_score.c.created_ms.desc(), driving_score.c.trip_no.desc())
    .limit(1),
    "of_vehicle",
)
_FORGET_EVENTS: Final = delete(gps_event).where(gps_event.c.trip_no == bindparam("of_trip"))
_FORGET_SCORE: Final = delete(driving_score).where(driving_score.c.trip_no == bindparam("of_trip"))
_FORGET_TOTAL: Final = delete(vehicle_score).where(vehicle_score.c.vehicle_id == bindparam("of_vehicle"))
_NOTE: Final = (
    update(trip)
    .where(trip.c.no == bindparam("of_trip"))
    .values(not_scored=bindparam("reason"), quality=bindparam("quality"))
)
_NAME_POLICY: Final = (
    update(driving_score)
    .where(driving_score.c.trip_no == bindparam("of_trip"), driving_score.c.policy != bindparam("now"))
    .values(policy=bindparam("now"), added_m=bindparam("adds"))
)
_FINISH: Final = delete(scoring_job).where(scoring_job.c.trip_no == bindparam("of_trip"))
_PUT_OFF: Final = (
    update(scoring_job)
    .where(scoring_job.c.trip_no == bindparam("of_trip"), scoring_job.c.due_ms == bindparam("was_due"))
    .values(due_ms=bindparam("then"))
)
_POSTPONE: Final = (
    update(scoring_job)
    .where(scoring_job.c.trip_no == bindparam("of_trip"), scoring_job.c.due_ms == bindparam("was_due"))
    .values(attempts=bindparam("count"), last_error=bindparam("error"), due_ms=bindparam("then"))
)
_SCORES: Final = Bulk(
    driving_score,
    *("trip_no", "trip_id", "created_ms", "vehicle_id", "user_id"),
    *(*TripScore._fields, *Place._fields, "policy"),
)
_GPS_EVENTS: Final = Bulk(
    gps_event, "no", "id", "trip_no", "trip_id", "created_ms", "vehicle_id", "user_id", "device_type", *GpsEvent._fields
)
_TOTALS: Final = Bulk(vehicle_score, *_TOTAL_COLUMNS, "sums", replaces=True)


def why_not(tx: ReadTx) -> dict[str, int]:
    """Of the `LATEST` trips how many have no score, by reason, the most frequent first."""
    return dict(tuple(row) for row in tx.all(_WHY_NOT))


def implausible(tx: ReadTx) -> list[bytes]:
    """Of the `LATEST` trips those whose speeds do not fit their path: the quality of each."""
    return [row.quality for row in tx.all(_REFUSED)]


VERSION: Final = 9
"""Of the content. Increase it when a field changes, or when judging finds something else in the same samples: trips
with an earlier version are judged again whenever they are explained."""


class Found(NamedTuple):
    """The findings of one trip."""

    trip_no: int
    policy: int
    body: bytes
    """Empty: none are stored."""


def keep(tx: WriteTx, found: Iterable[Found], *, now_ms: int) -> None:
    """Store the findings of these trips; equal ones stay as they are."""
    values: list[int | bytes] = []
    for each in found:
        if each.body:
            values += (each.trip_no, VERSION, each.policy, now_ms, each.body)
        else:
            tx.run(FORGET, {"of_trip": each.trip_no})
    _FINDINGS.insert(tx, values)


FORGET: Final = delete(trip_findings).where(trip_findings.c.trip_no == bindparam("of_trip"))
"""Delete the findings of a trip."""
_FINDINGS: Final = Bulk(
    trip_findings,
    *("trip_no", "version", "policy", "changed_ms", "body"),
    on_conflict="ON CONFLICT (trip_no) DO UPDATE SET version = excluded.version, policy = excluded.policy,"
    " changed_ms = excluded.changed_ms, body = excluded.body WHERE trip_findings.version <> excluded.version"
    " OR trip_findings.policy <> excluded.policy OR trip_findings.body <> excluded.body",
)
