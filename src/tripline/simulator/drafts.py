"""Drafts of messages, which habits can change before encoding, and the resulting publishes.

Not here: the habits (`habits.py`), payloads (`payloads.py`, `incidents.py`), sending (`box.py`).
"""

import struct
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import msgspec

from tripline.simulator.payloads import Payload
from tripline.wire import topics


class Kind(Enum):
    """The kind of a publish; the values are its labels in the table."""

    MICROTRIP = "microtrips"
    TRIP = "trips"
    EVENT = "events"
    ANSWER = "RPC answers"


class Draft(msgspec.Struct, kw_only=True):
    """One message of a well-behaved device, until a habit changes it."""

    kind: Kind
    ty: int | str
    ts: int | None
    content: Payload | list[Any]
    number: int
    """Number of earlier messages of the device."""
    extra: Payload = msgspec.field(default_factory=dict)
    """More header keys."""
    topic: str = topics.TRE
    packed: bool = False
    hexadecimal: bool = False
    """MessagePack spelled out as hexadecimal digits."""
    has_header: bool = True
    spoiled: bool = False
    """Add a comma that makes the JSON invalid."""
    qos: int = 1
    retain: bool = False
    copies: int = 1

    @property
    def items(self) -> list[Payload]:
        """The objects of the payload."""
        return self.content if isinstance(self.content, list) else [self.content]

    def body(self) -> bytes:
        """The encoded body."""
        whole: Any = self.content
        if self.has_header:
            header = {"ty": self.ty} if self.ts is None else {"ty": self.ty, "ts": self.ts}
            whole = header | self.extra | {"pld": self.content}
        if self.packed:
            body = msgpacked(whole)
            return body.hex().encode() if self.hexadecimal else body
        text = msgspec.json.encode(whole)
        return text[:-1] + b",}" if self.spoiled else text


@dataclass(slots=True, kw_only=True)
class Message:
    """One publish, and the expected result on the platform."""

    due_s: float
    """Time of sending: seconds of the fleet's clock after its start."""
    kind: Kind
    topic: str
    body: bytes = field(repr=False)
    qos: int = 1
    retain: bool = False
    again: bool = False
    """A repetition, with the DUP flag."""
    kept: int = 1
    """Number of records that it makes."""
    recognised: bool = True
    """True if the platform can recognise a duplicate; false: it may be stored twice, because it has no time."""
    written: bool = False
    """True if it left the device at least once."""


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a connection: in good order, or like a pulled plug."""

    due_s: float
    tidy: bool
    away_s: float
    """Time until the device reconnects."""
    for_good: bool = False


Step = Message | Cut


def msgpacked(value: Any) -> bytes:
    """The bytes of a JSON value."""
    if isinstance(value, dict):
        head = _head(len(value), 0x80, 0xDE)
        return head + b"".join(msgpacked(key) + msgpacked(element) for key, element in value.items())
    if isinstance(value, list):
        return _head(len(value), 0x90, 0xDC) + b"".join(map(msgpacked, value))
    if isinstance(value, str):
        return _text(value.encode())
    if isinstance(value, float):
        return struct.pack(">Bf", 0xCA, value)
    assert isinstance(value, int)
    return _whole(value)


def _head(count: int, short: int, long: int) -> bytes:
    return bytes((short | count,)) if count < 16 else struct.pack(">BH", long, count)


def _text(raw: bytes) -> bytes:
    if len(raw) < 32:
        return bytes((0xA0 | len(raw),)) + raw
    return struct.pack(">BH", 0xDA, len(raw)) + raw


def _whole(value: int) -> bytes:
    if value < 0:
        return struct.pack(">Bq", 0xD3, value)
    if value < 0x80:
        return bytes((value,))
    if value < 2**32:
        return struct.pack(">BI", 0xCE, value)
    return struct.pack(">BQ", 0xCF, value)
