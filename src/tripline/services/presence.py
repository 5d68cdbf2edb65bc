"""Who is connected, as the store knows it: what the gateway tells is written down a little later, many at a time.

Not here: who is connected to this process at this moment (`gateway/roster.py`).
"""

import asyncio
from typing import Final

from tripline import observe
from tripline.domain.ids import RowNo, SensorId
from tripline.ports import Outage
from tripline.store import connections
from tripline.store.connections import Change
from tripline.store.transactions import Store

GATHER_S: Final = 0.1
"""How long changes wait for company."""
BATCH: Final = 1_000
_RETRY_S: Final = 1.0
SERVER_LOST: Final = "server_lost"
"""Why the sessions of a server ended that did not end them itself."""
log = observe.logger("presence")


class PresenceKeeper:
    """Implements `ports.Presence`. The newest change of each sensor waits, so its memory is bounded by their number."""

    def __init__(self, *, store: Store) -> None:
        self._store = store
        self._waiting: dict[SensorId, Change] = {}
        self._asked = asyncio.Event()

    def connected(self, sensor_id: SensorId, session_no: RowNo, at_ms: int) -> None:
        """A session began."""
        self._put(Change(sensor_id, session_no, True, at_ms, at_ms))

    def lost(self, sensor_id: SensorId, session_no: RowNo, at_ms: int, *, seen_ms: int, reason: str) -> None:
        """The session ended, unless a newer one took its place."""
        newest = self._waiting.get(sensor_id)
        if newest is None or newest.session_no <= session_no:
            self._put(Change(sensor_id, session_no, False, at_ms, seen_ms, reason))

    async def begin(self) -> None:
        """No session of an earlier run is live. Call it before the device door opens."""
        await self._store.write(lambda tx: connections.end_all(tx, reason=SERVER_LOST))

    async def run(self) -> None:
        """Write what changes until cancelled."""
        while True:
            await self._asked.wait()
            await asyncio.sleep(GATHER_S)
            self._asked.clear()
            await self.write_down()

    async def write_down(self) -> None:
        """Write everything that waits. What cannot be written waits on."""
        while self._waiting:
            changes = list(self._waiting.values())[:BATCH]
            try:
                await self._store.write(lambda tx, changes=changes: connections.write(tx, changes))  # type: ignore[misc]
            except Outage as outage:
                log.warning("presence.failed", error=str(outage))
                await asyncio.sleep(_RETRY_S)
                continue
            for change in changes:
                if self._waiting.get(change.sensor_id) is change:
                    del self._waiting[change.sensor_id]

    def _put(self, change: Change) -> None:
        self._waiting[change.sensor_id] = change
        self._asked.set()
