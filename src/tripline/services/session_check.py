"""Compare the live sessions of a gateway with their rows in the store, which other processes change.

A notification ends a session at once: its sensor was deleted, has another access token, or has a later session on
another gateway. A notification may be lost, or missing if a process was killed just after its commit. So every few
seconds all live sessions are compared with the rows. To wait for the effects of notifications, use `barrier.py`.

Not here: the sessions (`gateway/roster.py`), writing presence (`presence.py`).
"""

from collections.abc import Sequence
from typing import Final, Protocol

from tripline import observe
from tripline.domain.ids import RowNo, SensorId
from tripline.ports.devices import TAKEN_OVER
from tripline.ports.signals import Signals
from tripline.services.nodes import Node
from tripline.services.poll_loop import PollLoop
from tripline.services.presence import PresenceKeeper
from tripline.store.devices import connections
from tripline.store.devices.connections import Trouble
from tripline.store.transactions import Store

EVERY_S: Final = 3.0
BATCH: Final = 2_000
"""Sessions compared in one statement."""
CREDENTIAL_ENDED: Final = "credential_ended"
"""Reason of ending the session of a sensor that was deleted, or whose access token changed."""
log = observe.logger("sessions")


class Live(Protocol):
    """The sessions of this process."""

    def sessions(self) -> list[tuple[SensorId, str, RowNo]]:
        """Sensor, credential and number of each live session."""

    def drop(self, sensor_id: SensorId, reason: str) -> None:
        """End the sensor's session, if any."""

    def end_older(self, sensor_id: SensorId, session_no: RowNo, reason: str) -> None:
        """End the sensor's session for this reason, if it is older than this number."""


class SessionCheck:
    """Ends sessions on notification, and sessions that ended according to the rows."""

    def __init__(self, *, store: Store, node: Node, live: Live, presence: PresenceKeeper, signals: Signals) -> None:
        self._store = store
        self._node = node
        self._live = live
        self._presence = presence
        self._poll_loop = PollLoop(signals, look_s=EVERY_S)
        self._losses = 0
        """Number of times notifications may have been lost."""
        self._made_up = 0
        """Value of `_losses` at the latest completed comparison."""
        signals.subscribe(observe.SIGNAL_CREDENTIAL_ENDED, self._credential_ended)
        signals.subscribe(observe.SIGNAL_SESSION_BEGAN, self._began)
        signals.subscribe(observe.SIGNAL_RESYNC, lambda _: self._lost())

    @property
    def is_behind(self) -> bool:
        """True if notifications may have been lost since the latest comparison."""
        return self._made_up != self._losses

    async def run(self) -> None:
        """Compare every few seconds, and after lost notifications, until cancelled."""
        if self._node.shared:
            await self._poll_loop.run(self.compare, log=log, failed="presence.failed")

    async def compare(self) -> None:
        """Compare every live session with the rows. Raises `Outage`."""
        losses = self._losses
        live = self._live.sessions()
        for start in range(0, len(live), BATCH):
            await self._compare(live[start : start + BATCH])
        self._made_up = losses

    async def _compare(self, some: Sequence[tuple[SensorId, str, RowNo]]) -> None:
        node_id = self._node.id
        found = await self._store.read(lambda tx: connections.compared(tx, some, node_id=node_id))
        ended = 0
        for sensor_id, session_no, trouble in found:
            ended += trouble is not Trouble.UNKNOWN
            if trouble is Trouble.UNKNOWN:
                self._presence.unknown(sensor_id, session_no)
            else:
                # End only the compared session: a newer one has authenticated since.
                reason = CREDENTIAL_ENDED if trouble is Trouble.CREDENTIAL else TAKEN_OVER
                self._live.end_older(sensor_id, RowNo(session_no + 1), reason)
        if ended:
            log.info("session.ended", sessions=ended)

    def _lost(self) -> None:
        self._losses += 1

    def _credential_ended(self, sensor_id: str) -> None:
        self._live.drop(SensorId(sensor_id), CREDENTIAL_ENDED)

    def _began(self, detail: str) -> None:
        sensor_id, _, session_no = detail.partition(" ")
        self._live.end_older(SensorId(sensor_id), RowNo(int(session_no)), TAKEN_OVER)
