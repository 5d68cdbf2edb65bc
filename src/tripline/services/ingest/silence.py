"""Trips that end by silence.

Silent trips are found in the rows, not in the tracks, so the result is the same after a restart. On a shared store any
process may end them: first the one that tracks the sensor, and if it is gone, another.

Not here: the effects of ending a trip (`placement.py`), when to check (`intake.py`).
"""

from collections.abc import Collection
from typing import Final

from tripline.config import Ingest
from tripline.domain.ids import SensorId
from tripline.services.ingest.tracks import SCOPE
from tripline.store.ingest import tracks
from tripline.store.transactions import ReadTx, Store

SWEEP_S: Final = 5.0
"""Pause between two sweeps."""
_ENDED_AT_ONCE: Final = 500
"""Most trips ended in one sweep; the rest follow in the next."""
_PATIENCE_MS: Final = 15_000
"""Extra time before another process may end the trips of a sensor."""
_MINUTE_MS: Final = 60_000


async def silent_sensors(store: Store, settings: Ingest, *, node_id: str, now_ms: int) -> list[SensorId]:
    """Sensors whose open trip got no microtrip for longer than the gap, by the platform's clock (I1, H8)."""
    since_ms = _silent_since(settings, now_ms)
    node = node_id if store.shared else None

    def find(tx: ReadTx) -> list[SensorId]:
        return tracks.silent(tx, SCOPE, since_ms=since_ms, limit=_ENDED_AT_ONCE, node_id=node, patience_ms=_PATIENCE_MS)

    return await store.read(find)


async def still_silent(
    store: Store, settings: Ingest, silent: Collection[SensorId], *, now_ms: int
) -> Collection[SensorId]:
    """Return the sensors that are still silent: a message may have been stored since the sweep. Call it between batches
    and, on a shared store, with the sensors claimed. Raises `Outage`."""
    if not silent:
        return silent
    since_ms = _silent_since(settings, now_ms)
    return await store.read(lambda tx: tracks.still_silent(tx, SCOPE, silent, since_ms=since_ms))


def _silent_since(settings: Ingest, now_ms: int) -> int:
    return int(now_ms - settings.trip_gap_minutes * _MINUTE_MS)
