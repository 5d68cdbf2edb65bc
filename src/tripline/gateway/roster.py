"""The live sessions: one for each sensor.

A session is found by its sensor, never by the client identifier: many boxes share one compiled-in identifier
(spec/device-messages C3).
"""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from tripline import metrics, observe
from tripline.domain import ids
from tripline.domain.ids import RowNo, SensorId
from tripline.ports.devices import TAKEN_OVER, Delivery

QUICK_MS: Final = 60_000
"""A session that is taken over when it is younger was not a dead one."""
CONTENDED: Final = 3
"""Quick take-overs in a row before a warning is logged, and ..."""
CONTENDED_AGAIN: Final = 100
"""... said again after so many more."""


_log = observe.logger("gateway")


class LiveSession(Protocol):
    """What the roster keeps: an admitted connection."""

    seen_ms: int
    """When something was last heard, epoch ms."""

    session_no: RowNo
    """Greater than that of a connection that asked earlier."""

    credential: str
    """The user name that it was admitted with."""

    def publish(self, topic: str, body: bytes, *, qos: int) -> int | None:
        """Send a message; its packet id (0 at QoS 0), or None when it cannot be sent."""

    def is_subscribed(self, topic: str) -> bool:
        """Whether the device asked for messages on the topic."""

    def end(self, reason: str) -> None:
        """Close the connection at once."""


class Roster:
    """Sessions by sensor. Implements `ports.devices.Devices`."""

    def __init__(self) -> None:
        self._sessions: dict[SensorId, LiveSession] = {}
        self._drops = 0
        self._dropped: dict[SensorId, int] = {}
        self._admissions = 0
        self._contended: dict[SensorId, int] = {}
        """Of sensors with a session: how often in a row one was taken over soon after it had begun."""

    def __len__(self) -> int:
        return len(self._sessions)

    def enter(self, sensor_id: SensorId, session: LiveSession) -> bool:
        """Make this the sensor's session; an older one is ended [MQTT-3.1.4-2], by user name.

        False when the sensor's session is one that asked later: it was admitted first, and this one has lost its place.
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
        """Say it when connections with the same token take each other's place again and again."""
        if ids.ms_of_no(newer) - ids.ms_of_no(older) >= QUICK_MS:
            self._contended.pop(sensor_id, None)
            return
        times = self._contended[sensor_id] = self._contended.get(sensor_id, 0) + 1
        if times % CONTENDED_AGAIN == CONTENDED:
            _log.warning("device.contended", sensor=sensor_id, times=times)

    async def admitted(self, ask: Callable[[], Awaitable[SensorId | None]]) -> SensorId | None:
        """The sensor that `ask` finds; asked again when it was dropped meanwhile, for what was found may be stale."""
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

    def leave(self, sensor_id: SensorId, session: LiveSession) -> None:
        """Forget the session, unless a newer one took its place."""
        if self._sessions.get(sensor_id) is session:
            del self._sessions[sensor_id]
            self._contended.pop(sensor_id, None)
            metrics.DEVICES.set(len(self._sessions))

    def find(self, sensor_id: SensorId) -> LiveSession | None:
        """The sensor's session, if it is connected."""
        return self._sessions.get(sensor_id)

    def sessions(self) -> list[tuple[SensorId, str, RowNo]]:
        """Of each live session the sensor, the credential it came with, and its number."""
        return [(sensor_id, each.credential, each.session_no) for sensor_id, each in self._sessions.items()]

    def end_older(self, sensor_id: SensorId, session_no: RowNo, reason: str) -> None:
        """End the sensor's session when it is older than one with this number."""
        session = self._sessions.get(sensor_id)
        if session is not None and session.session_no < session_no:
            session.end(reason)

    def session_of(self, sensor_id: SensorId) -> RowNo | None:
        """The number of the sensor's session; None: it has none."""
        session = self._sessions.get(sensor_id)
        return None if session is None else session.session_no

    def heard(self) -> list[tuple[SensorId, int]]:
        """The connected sensors, and when each was last heard of (epoch ms)."""
        return [(sensor_id, session.seen_ms) for sensor_id, session in self._sessions.items()]

    def heard_of(self, sensor_id: SensorId) -> int | None:
        """When the connected sensor was last heard of (epoch ms); None: it is not connected."""
        session = self._sessions.get(sensor_id)
        return None if session is None else session.seen_ms

    async def send(self, sensor_id: SensorId, topic: str, body: bytes) -> Delivery:
        """Send a message at QoS 1, or less when the device asked for less."""
        session = self._sessions.get(sensor_id)
        if session is None:
            return Delivery.NOT_CONNECTED
        if session.publish(topic, body, qos=1) is not None:
            return Delivery.SENT
        return Delivery.CONGESTED if session.is_subscribed(topic) else Delivery.NOT_SUBSCRIBED

    def drop(self, sensor_id: SensorId, reason: str) -> None:
        """End the sensor's session, if there is one: it was deleted or its credential changed."""
        if self._admissions:
            self._drops += 1
            self._dropped[sensor_id] = self._drops
        session = self._sessions.get(sensor_id)
        if session is not None:
            session.end(reason)
