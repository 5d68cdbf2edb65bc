"""The mark and instant that identify the redelivery of a device's message.

The instant comes from the message itself, so live messages of all sensors are close together in an index that begins
with it. The mark identifies the sensor and, where the instant alone is ambiguous, the content. Two messages may share
both by chance, so the caller compares the payloads.
"""

import struct
from hashlib import blake2b
from typing import Final

from tripline.domain.ids import SensorId

AHEAD_MS: Final = 300_000
"""No time of a device that is taken as true is further ahead of its receipt (spec/device-messages T2)."""
CLOCKS_APART_MS: Final = 3_600_000
"""No two processes' clocks are further apart, so no row number is further ahead of a clock."""
_SIGNED: Final = struct.Struct(">q").unpack


def key_of(sensor_id: SensorId) -> int:
    """The mark of a microtrip whose header time is unique among the sensor's recent ones."""
    return _number(sensor_id.encode())


def mark_of(key: int, payload: bytes, ty: int | None = None) -> int:
    """The mark of any other message with a time. `key`: the sensor's; `ty`: number of an event."""
    return key ^ _number(payload if ty is None else b"%d " % ty + payload)


def untimed(key: int) -> int:
    """The mark of a message without any time, which is never looked up."""
    return ~key


def _number(content: bytes) -> int:
    """Return a signed 64-bit number, the form that databases store."""
    number: int = _SIGNED(blake2b(content, digest_size=8).digest())[0]
    return number
