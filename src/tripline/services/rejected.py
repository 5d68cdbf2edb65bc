"""Reading the rejected-message log, for `tripline doctor` and the makers of devices.

Not here: what is rejected and why (`wire/device.py`, `docs/` lists the reasons), how it gets there
(`services/ingest/`), how long it stays (`services/ingest/closing.py`).
"""

from dataclasses import dataclass

from tripline.domain.access import Scope
from tripline.domain.ids import SensorId
from tripline.store import rejected
from tripline.store.transactions import ReadTx


@dataclass(frozen=True, slots=True)
class Summary:
    """What was rejected since an instant."""

    counts: dict[str, int]
    """How many by reason, most frequent first."""
    newest: list[rejected.Refused]
    """The last ones, newest first."""


def summary(tx: ReadTx, *, scope: Scope, since_ms: int, limit: int = 20, sensor_id: SensorId | None = None) -> Summary:
    """Counts since the instant, and the newest messages (of one sensor when given)."""
    return Summary(
        counts=rejected.counts(tx, scope, since_ms=since_ms),
        newest=rejected.newest(tx, scope, limit=limit, sensor_id=sensor_id),
    )
