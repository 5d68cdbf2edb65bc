"""The events of a server session, made from received bytes.

A publish is a plain tuple, because there are a hundred thousand of them a second; everything else is rare and named.
"""

from typing import Final, TypeAlias

import msgspec

PUBACK_TOKEN: Final = 0x4002_0000
PUBREC_TOKEN: Final = 0x5002_0000

Frame: TypeAlias = tuple[str, bytes, int]
"""Topic, body, token.

The token is the answer itself: the four bytes of the PUBACK or PUBREC as one big-endian number; 0 at QoS 0. So any
number of acknowledgements is one `struct.pack`.
"""
Frames: TypeAlias = list[Frame]
"""Publishes without anything else between them, in order of receipt."""


class ConnectRequest(msgspec.Struct, frozen=True):
    """A valid CONNECT with a user name: the owner answers with `ServerSession.admit` or `refuse`."""

    user_name: str


class Oversized(msgspec.Struct, frozen=True):
    """A publish with a body above the limit was read and discarded except for its head; `token` as in a frame."""

    topic: str
    head: bytes
    size: int
    token: int


class Delivered(msgspec.Struct, frozen=True):
    """The client acknowledged our publish with this packet id."""

    packet_id: int


class Ended(msgspec.Struct, frozen=True):
    """The session is over: send the output, then close. `reason` is one of the words below, stable for logs."""

    reason: str
    detail: str = ""


DISCONNECTED: Final = "disconnected"
"""The client sent DISCONNECT."""
PROTOCOL_ERROR: Final = "protocol_error"
REFUSED: Final = "refused"
FLOODED: Final = "flooded"
"""The client sent too much before its CONNECT was answered, or too many SUBSCRIBEs before the first answer."""

SessionEvent: TypeAlias = Frames | ConnectRequest | Oversized | Delivered | Ended
