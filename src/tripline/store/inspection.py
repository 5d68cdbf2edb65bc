"""What an operator asks of a database: how the scorer keeps up. Rejected messages: `rejected.py`."""

from dataclasses import dataclass

from sqlalchemy import func, select

from tripline.store.tables import scoring_job
from tripline.store.transactions import ReadTx


@dataclass(frozen=True, slots=True)
class Jobs:
    """Scoring jobs: all that wait, those due before the asked instant, and the last error of any."""

    waiting: int
    overdue: int
    last_error: str | None


def jobs(tx: ReadTx, *, due_before_ms: int) -> Jobs:
    """How the scorer keeps up."""
    late = func.count().filter(scoring_job.c.due_ms < due_before_ms)
    counted = tx.all(select(func.count().label("waiting"), late.label("overdue")).select_from(scoring_job))[0]
    failed = tx.all(
        select(scoring_job.c.last_error)
        .where(scoring_job.c.last_error.is_not(None))
        .order_by(scoring_job.c.due_ms.desc())
        .limit(1)
    )
    return Jobs(counted.waiting, counted.overdue, failed[0].last_error if failed else None)
