"""Drafts of messages, which habits can change before encoding, and the resulting publishes."""

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
            body = msgspec.msgpack.encode(_packed(whole))
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


def _packed(value: Any) -> Any:
    """A JSON value whose decimals MessagePack takes with 32 bits, like real devices (spec/device-messages 8)."""
    if isinstance(value, dict):
        return {key: _packed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_packed(each) for each in value]
    return msgspec.Raw(struct.pack(">Bf", 0xCA, value)) if isinstance(value, float) else value
