"""Messages from the server on one connection: granted filters, packet ids in flight.

Nothing here outlives the connection, so messages are never resent; QoS 2 is never granted.
"""

from typing import ClassVar, Final

from tripline.mqtt import encode
from tripline.mqtt.filters import matches

MAX_GRANTED: Final = 16
"""Filters of one session; further ones are refused."""
_MAX_PACKET_ID: Final = 65_535


class Outbound:
    """Subscriptions of one session and its unacknowledged messages, `limit` at most.

    Some devices accept messages at QoS 1 and never acknowledge. They stay reachable: beyond the limit the oldest
    message is given up. It would not be resent anyway, and its packet id is not reused for a long time.
    """

    __slots__ = ("_granted", "_in_flight", "_last", "_limit")

    _HIGHEST: ClassVar = 1
    """The highest QoS granted."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._granted: dict[str, int] = {}
        self._in_flight: dict[int, None] = {}
        """Packet ids without their PUBACK, oldest first."""
        self._last = 0

    def grant(self, wanted: str, qos: int) -> int | None:
        """The QoS granted, or None if the session already has too many filters."""
        if wanted not in self._granted and len(self._granted) >= MAX_GRANTED:
            return None
        # [MQTT-3.8.4-3] a repeated filter replaces the older subscription.
        self._granted[wanted] = min(qos, self._HIGHEST)
        return self._granted[wanted]

    def withdraw(self, wanted: str) -> None:
        """Forget the filter [MQTT-3.10.4-2]."""
        self._granted.pop(wanted, None)

    def granted_qos(self, topic: str) -> int | None:
        """The highest QoS granted for the topic, or None if no granted filter matches it."""
        # [MQTT-3.3.5-1] one copy at the highest QoS, however many filters overlap.
        return max((qos for wanted, qos in self._granted.items() if matches(wanted, topic)), default=None)

    def publish(self, topic: str, body: bytes, qos: int) -> tuple[int, bytes]:
        """Packet id (0 at QoS 0) and bytes of a new publish."""
        packet_id = 0
        if qos:
            if len(self._in_flight) >= self._limit:
                del self._in_flight[next(iter(self._in_flight))]
            packet_id = self._next_id()
            self._in_flight[packet_id] = None
        return packet_id, encode.publish(topic, body, qos=qos, packet_id=packet_id)

    def acknowledged(self, packet_id: int) -> bool:
        """Remove an acknowledged message; false if it is not in flight."""
        if packet_id not in self._in_flight:
            return False
        del self._in_flight[packet_id]
        return True

    def _next_id(self) -> int:
        # [MQTT-2.3.1-4] an id in flight is not used again.
        while True:
            self._last = self._last % _MAX_PACKET_ID + 1
            if self._last not in self._in_flight:
                return self._last
