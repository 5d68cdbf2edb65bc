"""The mark and instant by which a second delivery of a device's message is recognised.

The instant comes from the message itself, so live messages of all sensors lie close together in an index that begins
with it. The mark says whose message it is and, where the instant alone does not tell, what it holds. Two messages may
have both in common by chance: whoever finds one compares it.

Not here: which messages are compared (`services/ingest/redeliveries.py`), where marks are kept
(`store/ingest/deliveries.py`).
"""

import struct
from hashlib import blake2b
from typing import Final

from tripline.domain.ids import SensorId

_SIGNED: Final = struct.Struct(">q").unpack


def key_of(sensor_id: SensorId) -> int:
    """The mark of a microtrip whose header time no other one has that was stored lately of the sensor."""
    return _number(sensor_id.encode())


def mark_of(key: int, payload: bytes, ty: int | None = None) -> int:
    """The mark of any other message with a time. `key`: of its sensor; `ty`: number of an event."""
    return key ^ _number(payload if ty is None else b"%d " % ty + payload)


def untimed(key: int) -> int:
    """The mark of a message without any time, which nobody looks for."""
    return ~key


def _number(content: bytes) -> int:
    """64 bits with a sign, as a database keeps them."""
    number: int = _SIGNED(blake2b(content, digest_size=8).digest())[0]
    return number
