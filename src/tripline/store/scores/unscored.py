"""The latest trips without a score, for the installation's administrators.

Not here: the reason for one trip (`reads.py`, `store/trips/trips.py`).
"""

from typing import Final

from sqlalchemy import func, select

from tripline.scoring.score import NotScored
from tripline.store.tables import trip
from tripline.store.transactions import ReadTx

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


def why_not(tx: ReadTx) -> dict[str, int]:
    """Of the `LATEST` trips how many have no score, by reason, the most frequent first."""
    return dict(tuple(row) for row in tx.all(_WHY_NOT))


def implausible(tx: ReadTx) -> list[bytes]:
    """Of the `LATEST` trips those whose speeds do not fit their path: the quality of each."""
    return [row.quality for row in tx.all(_REFUSED)]
