"""What a server session tells its owner about the bytes it was given.

A publish is a plain tuple, because there are a hundred thousand of them a second; everything else is rare and named.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from tripline.mqtt.packets import Connect, Publish

PUBACK_TOKEN: Final = 0x4002_0000
PUBREC_TOKEN: Final = 0x5002_0000

Frame: TypeAlias = tuple[str, bytes, int]
"""Topic, body, token.

The token is the answer itself: the four bytes of the PUBACK or PUBREC as one big-endian number; 0 at QoS 0. So any
number of acknowledgements is one `struct.pack`.
"""
Frames: TypeAlias = list[Frame]
"""Publishes without anything else between them, in order of receipt."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A valid CONNECT with a user name: the owner answers with `ServerSession.admit` or `refuse`."""

    user_name: str
    connect: Connect


@dataclass(frozen=True, slots=True)
class Oversized:
    """A publish with a body above the limit was read and thrown away but for its head; `token` as in a frame."""

    topic: str
    head: bytes
    size: int
    token: int


@dataclass(frozen=True, slots=True)
class Routed:
    """A publish on a topic that is routed between clients; `token` as in a frame."""

    publish: Publish
    token: int


@dataclass(frozen=True, slots=True)
class Granted:
    """A filter was granted at this QoS."""

    wanted: str
    qos: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """The client acknowledged our publish with this packet id."""

    packet_id: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The session is over: send what is to be sent, then close. `reason` is one of the words below, stable for logs."""

    reason: str
    detail: str = ""


DISCONNECTED: Final = "disconnected"
"""The client said DISCONNECT."""
PROTOCOL_ERROR: Final = "protocol_error"
REFUSED: Final = "refused"
FLOODED: Final = "flooded"
"""Too much was sent before the CONNECT, or too many SUBSCRIBEs before the first of them, were answered."""

Event: TypeAlias = Frames | Asked | Oversized | Routed | Granted | Delivered | Ended
