"""The live sessions: one for each sensor.

Sessions are keyed by sensor, never by client identifier: many boxes share one compiled-in identifier
(spec/device-messages C3).
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from tripline import metrics, observe
from tripline.domain import ids
from tripline.domain.ids import RowNo, SensorId
from tripline.ports.devices import TAKEN_OVER, Delivery

if TYPE_CHECKING:
    from tripline.gateway.connection import Connection

QUICK_MS: Final = 60_000
"""A session that is taken over at a younger age was still alive."""
CONTENDED: Final = 3
"""Quick take-overs in a row before a warning is logged, and ..."""
CONTENDED_AGAIN: Final = 100
"""... repeated after this many more."""

_log = observe.logger("gateway")


class Roster:
    """Sessions by sensor. Implements `ports.devices.Devices`."""

    def __init__(self) -> None:
        self._sessions: dict[SensorId, Connection] = {}
        self._drops = 0
        self._dropped: dict[SensorId, int] = {}
        self._admissions = 0
        self._contended: dict[SensorId, int] = {}
        """Number of quick take-overs in a row, by connected sensor."""

    def __len__(self) -> int:
        return len(self._sessions)

    def enter(self, sensor_id: SensorId, session: "Connection") -> bool:
        """Make this the sensor's session; an older one is ended [MQTT-3.1.4-2], by user name.

        False if the current session has a later CONNECT: it was admitted first, and this one is obsolete.
        """
        other = self._sessions.get(sensor_id)
        if other is not None and other.session_no > session.session_no:
            return False
        self._sessions[sensor_id] = session
        metrics.DEVICES.set(len(self._sessions))
        if other is not None and other is not session:
            self._note(sensor_id, other.session_no, session.session_no)
            other.end(TAKEN_OVER)
        return True

    def _note(self, sensor_id: SensorId, older: RowNo, newer: RowNo) -> None:
        """Log a warning when connections with the same token keep taking each other over."""
        if ids.ms_of_no(newer) - ids.ms_of_no(older) >= QUICK_MS:
            self._contended.pop(sensor_id, None)
            return
        times = self._contended[sensor_id] = self._contended.get(sensor_id, 0) + 1
        if times % CONTENDED_AGAIN == CONTENDED:
            _log.warning("device.contended", sensor=sensor_id, times=times)

    async def admitted(self, ask: Callable[[], Awaitable[SensorId | None]]) -> SensorId | None:
        """The sensor that `ask` returns; if it was dropped meanwhile, the result may be stale and `ask` is repeated."""
        self._admissions += 1
        try:
            while True:
                begun = self._drops
                sensor_id = await ask()
                if sensor_id is None or self._dropped.get(sensor_id, 0) <= begun:
                    return sensor_id
        finally:
            self._admissions -= 1
            if not self._admissions:
                self._dropped.clear()

    def leave(self, sensor_id: SensorId, session: "Connection") -> None:
        """Remove the session, unless a newer one replaced it."""
        if self._sessions.get(sensor_id) is session:
            del self._sessions[sensor_id]
            self._contended.pop(sensor_id, None)
            metrics.DEVICES.set(len(self._sessions))

    def find(self, sensor_id: SensorId) -> "Connection | None":
        return self._sessions.get(sensor_id)

    def sessions(self) -> list[tuple[SensorId, str, RowNo]]:
        """The sensor, credential and number of each live session."""
        return [(sensor_id, each.credential, each.session_no) for sensor_id, each in self._sessions.items()]

    def end_older(self, sensor_id: SensorId, session_no: RowNo, reason: str) -> None:
        """End the sensor's session if it is older than this number."""
        session = self._sessions.get(sensor_id)
        if session is not None and session.session_no < session_no:
            session.end(reason)

    def session_of(self, sensor_id: SensorId) -> RowNo | None:
        session = self._sessions.get(sensor_id)
        return None if session is None else session.session_no

    def heard(self) -> list[tuple[SensorId, int]]:
        """The connected sensors, each with the time of its last bytes (epoch ms)."""
        return [(sensor_id, session.seen_ms) for sensor_id, session in self._sessions.items()]

    def heard_of(self, sensor_id: SensorId) -> int | None:
        """Time of a connected sensor's last bytes (epoch ms); None: not connected."""
        session = self._sessions.get(sensor_id)
        return None if session is None else session.seen_ms

    async def send(self, sensor_id: SensorId, topic: str, body: bytes) -> Delivery:
        session = self._sessions.get(sensor_id)
        if session is None:
            return Delivery.NOT_CONNECTED
        if session.publish(topic, body, qos=1) is not None:
            return Delivery.SENT
        return Delivery.CONGESTED if session.is_subscribed(topic) else Delivery.NOT_SUBSCRIBED

    def drop(self, sensor_id: SensorId, reason: str) -> None:
        if self._admissions:
            self._drops += 1
            self._dropped[sensor_id] = self._drops
        session = self._sessions.get(sensor_id)
        if session is not None:
            session.end(reason)
