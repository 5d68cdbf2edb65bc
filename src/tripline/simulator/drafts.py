"""A message before it is bytes, so that a habit can bend it; and the publish that it becomes.

Not here: the bending (`habits.py`), what is written into one (`payloads.py`, `incidents.py`), sending (`box.py`).
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import msgspec

from tripline.simulator import msgpack
from tripline.simulator.payloads import Payload
from tripline.wire import topics


class Kind(Enum):
    """What a publish is about; the values are what the table calls it."""

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
    """How many messages the device wrote before."""
    extra: Payload = msgspec.field(default_factory=dict)
    """More header keys."""
    topic: str = topics.TRE
    packed: bool = False
    hexadecimal: bool = False
    """MessagePack spelled out as hexadecimal digits."""
    has_header: bool = True
    spoiled: bool = False
    """A comma too many: no JSON."""
    qos: int = 1
    retain: bool = False
    copies: int = 1

    @property
    def items(self) -> list[Payload]:
        """The objects of the payload."""
        return self.content if isinstance(self.content, list) else [self.content]

    def body(self) -> bytes:
        """What is published."""
        whole: Any = self.content
        if self.has_header:
            header = {"ty": self.ty} if self.ts is None else {"ty": self.ty, "ts": self.ts}
            whole = header | self.extra | {"pld": self.content}
        if self.packed:
            body = msgpack.packed(whole)
            return body.hex().encode() if self.hexadecimal else body
        text = msgspec.json.encode(whole)
        return text[:-1] + b",}" if self.spoiled else text


@dataclass(slots=True, kw_only=True)
class Message:
    """One publish, and what the platform is to make of it."""

    due_s: float
    """When it is sent: seconds of the fleet's clock after its start."""
    kind: Kind
    topic: str
    body: bytes = field(repr=False)
    qos: int = 1
    retain: bool = False
    again: bool = False
    """Sent before: as the DUP flag says."""
    kept: int = 1
    """Records that it makes."""
    recognised: bool = True
    """A second delivery is known to be one; false: it may be kept twice, for the message says no time at all."""
    written: bool = False
    """Whether it left the device at least once."""


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """The connection ends: in good order, or as when somebody pulls the plug."""

    due_s: float
    tidy: bool
    away_s: float
    """How long until the device is back."""
    for_good: bool = False


Step = Message | Cut
