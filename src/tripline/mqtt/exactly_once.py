"""Packet ids of QoS 2 publishes in flight from a client, so that a resent publish is not a second message.

Follows section 4.3.3 of the standard: the first PUBLISH delivers the message, and its id stays in use until PUBREL.
"""

from typing import Final

_FREE: Final = 0
_OFFERED: Final = 1
"""Delivered, not yet answered."""
_RECORDED: Final = 2
"""Answered with PUBREC."""


class HeldIds:
    """One byte per id, up to the highest id seen: a session costs 64 KiB at most."""

    __slots__ = ("_states",)

    def __init__(self) -> None:
        self._states = bytearray()

    def offer(self, packet_id: int) -> bool:
        """Mark the id as in use; true if it was free, so that the publish is new [MQTT-4.3.3-2]."""
        states = self._states
        if packet_id >= len(states):
            states.extend(bytes(packet_id + 1 - len(states)))
        new = states[packet_id] == _FREE
        if new:
            states[packet_id] = _OFFERED
        return new

    def record(self, packet_id: int) -> None:
        """Record that its PUBREC is sent."""
        if self._states[packet_id] == _OFFERED:
            self._states[packet_id] = _RECORDED

    def recorded(self, packet_id: int) -> bool:
        """True if PUBREC was sent, so that a resent publish needs a second PUBREC."""
        return self._states[packet_id] == _RECORDED

    def release(self, packet_id: int) -> None:
        """Free the id after PUBREL."""
        if packet_id < len(self._states):
            self._states[packet_id] = _FREE
