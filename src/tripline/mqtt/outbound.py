"""What the server sends of its own accord: granted filters, packet ids in flight.

A session is clean, so nothing is sent again on another connection; QoS 2 is never granted.
"""

from tripline.mqtt import encode

MAX_GRANTED = 16
"""Filters of one session; more are answered with failure."""
_MAX_PACKET_ID = 65_535


class Outbound:
    """Subscriptions of one session and its unacknowledged messages, `limit` at most."""

    __slots__ = ("_granted", "_in_flight", "_last", "_limit")

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._granted: dict[str, int] = {}
        self._in_flight: set[int] = set()
        self._last = 0

    def grant(self, wanted: str, qos: int) -> int | None:
        """The QoS granted, or None when the session holds too many filters already."""
        if wanted not in self._granted and len(self._granted) >= MAX_GRANTED:
            return None
        # [MQTT-3.8.4-3] a repeated filter replaces the older subscription.
        self._granted[wanted] = min(qos, 1)
        return self._granted[wanted]

    def withdraw(self, wanted: str) -> None:
        """Forget the filter [MQTT-3.10.4-2]."""
        self._granted.pop(wanted, None)

    def granted_qos(self, topic: str) -> int | None:
        """The highest QoS the topic was asked for with, or None when no granted filter matches it."""
        return max((qos for wanted, qos in self._granted.items() if matches(wanted, topic)), default=None)

    def publish(self, topic: str, body: bytes, qos: int) -> tuple[int, bytes] | None:
        """Packet id (0 at QoS 0) and bytes of a new publish; None when too many wait for their acknowledgement."""
        packet_id = 0
        if qos:
            if len(self._in_flight) >= self._limit:
                return None
            packet_id = self._next_id()
            self._in_flight.add(packet_id)
        return packet_id, encode.publish(topic, body, qos=qos, packet_id=packet_id)

    def acknowledged(self, packet_id: int) -> bool:
        """Whether the PUBACK answers something under way."""
        known = packet_id in self._in_flight
        self._in_flight.discard(packet_id)
        return known

    def _next_id(self) -> int:
        # [MQTT-2.3.1-4] an id in use is not used a second time.
        while True:
            self._last = self._last % _MAX_PACKET_ID + 1
            if self._last not in self._in_flight:
                return self._last


def matches(wanted: str, topic: str) -> bool:
    """Whether the filter covers the topic name (standard, 4.7)."""
    parts, levels = wanted.split("/"), topic.split("/")
    if parts[-1] == "#":
        parts.pop()
        levels = levels[: len(parts)]
    return len(parts) == len(levels) and all(part in ("+", level) for part, level in zip(parts, levels, strict=True))
