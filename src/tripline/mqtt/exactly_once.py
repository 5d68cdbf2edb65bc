"""Packet ids of QoS 2 publishes under way from a client, so that a second sending is not a second message.

Follows section 4.3.3 of the standard: the message is handed on at the first PUBLISH, the id is held until PUBREL.
"""

from typing import Final

_FREE: Final = 0
_OFFERED: Final = 1
"""Handed on, not yet answered."""
_RECORDED: Final = 2
"""Answered with PUBREC."""


class HeldIds:
    """One byte an id, as many as the highest id seen: a session costs 64 KiB at most."""

    __slots__ = ("_states",)

    def __init__(self) -> None:
        self._states = bytearray()

    def offer(self, packet_id: int) -> bool:
        """Hold the id; whether it was free, that is, whether the publish is new [MQTT-4.3.3-2]."""
        states = self._states
        if packet_id >= len(states):
            states.extend(bytes(packet_id + 1 - len(states)))
        new = states[packet_id] == _FREE
        if new:
            states[packet_id] = _OFFERED
        return new

    def record(self, packet_id: int) -> None:
        """The PUBREC goes out now."""
        if self._states[packet_id] == _OFFERED:
            self._states[packet_id] = _RECORDED

    def recorded(self, packet_id: int) -> bool:
        """Whether PUBREC went out, so that a second sending wants a second PUBREC."""
        return self._states[packet_id] == _RECORDED

    def release(self, packet_id: int) -> None:
        """PUBREL came: the id may be used again."""
        if packet_id < len(self._states):
            self._states[packet_id] = _FREE
