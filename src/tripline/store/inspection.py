"""What an operator asks of a database: rejected messages by reason, the newest of them, jobs that wait."""

from dataclasses import dataclass

from sqlalchemy import func, select

from tripline.domain import ids
from tripline.store.tables import rejected_message, scoring_job, sensor
from tripline.store.transactions import ReadTx


@dataclass(frozen=True, slots=True)
class Rejected:
    """One message that could not be used, without its body."""

    at_ms: int
    source: str
    sensor: str | None
    """Serial number of the sensor, its id when the sensor is gone, None when it never was known."""
    topic: str
    reason: str
    detail: str | None


@dataclass(frozen=True, slots=True)
class Jobs:
    """Scoring jobs: all that wait, those due before the asked instant, and the last error of any."""

    waiting: int
    overdue: int
    last_error: str | None


def rejected_by_reason(tx: ReadTx) -> dict[str, int]:
    """Count of kept rejected messages by reason, the most frequent first."""
    count = func.count().label("n")
    query = select(rejected_message.c.reason, count).group_by(rejected_message.c.reason)
    return {row.reason: row.n for row in tx.all(query.order_by(count.desc(), rejected_message.c.reason))}


def newest_rejected(tx: ReadTx, *, limit: int) -> list[Rejected]:
    """The rejected messages taken in last, the newest first."""
    kept = rejected_message.c
    query = (
        select(kept.no, kept.source, kept.sensor_id, sensor.c.serial_no, kept.topic, kept.reason, kept.detail)
        .select_from(rejected_message.outerjoin(sensor, sensor.c.id == kept.sensor_id))
        .order_by(kept.no.desc())
        .limit(limit)
    )
    return [
        Rejected(ids.ms_of_no(row.no), row.source, row.serial_no or row.sensor_id, row.topic, row.reason, row.detail)
        for row in tx.all(query)
    ]


def jobs(tx: ReadTx, *, due_before_ms: int) -> Jobs:
    """How the scorer keeps up."""
    waiting, overdue = tx.all(
        select(func.count(), func.count().filter(scoring_job.c.due_ms < due_before_ms)).select_from(scoring_job)
    )[0]
    failed = tx.all(
        select(scoring_job.c.last_error)
        .where(scoring_job.c.last_error.is_not(None))
        .order_by(scoring_job.c.due_ms.desc())
        .limit(1)
    )
    return Jobs(waiting, overdue, failed[0].last_error if failed else None)
