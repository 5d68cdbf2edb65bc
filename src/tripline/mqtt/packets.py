"""MQTT 3.1.1 control packets as values, and the errors of malformed bytes.

Bytes become packets in `decode.py`, packets become bytes in `encode.py`. Statement numbers in comments and errors
([MQTT-x.y.z-n]) come from the OASIS standard MQTT Version 3.1.1.
"""

from enum import IntEnum
from typing import Final, TypeAlias

import msgspec

MAX_REMAINING_LENGTH: Final = 268_435_455
"""Largest length that four bytes can encode (standard, 2.2.3)."""
SUBSCRIPTION_FAILED: Final = 0x80
"""Return code of a filter that was not granted (standard, 3.9.3)."""


class ProtocolError(Exception):
    """The peer's bytes break the standard. `rule` is the statement or section, `sentence` describes the fault."""

    def __init__(self, sentence: str, rule: str) -> None:
        super().__init__(f"{sentence} [{rule}]")
        self.sentence = sentence
        self.rule = rule


class UnsupportedProtocol(Exception):  # noqa: N818  an answer is foreseen for it: return code 1
    """A CONNECT of another protocol version; it is answered, not decoded."""


class Kind(IntEnum):
    """Control packet types: the high four bits of the first byte (standard, table 2.1)."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    PUBREC = 5
    PUBREL = 6
    PUBCOMP = 7
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14


class ConnectCode(IntEnum):
    """CONNACK return codes (standard, table 3.1)."""

    ACCEPTED = 0
    UNACCEPTABLE_PROTOCOL = 1
    IDENTIFIER_REJECTED = 2
    SERVER_UNAVAILABLE = 3
    BAD_USER_NAME = 4
    NOT_AUTHORISED = 5


class Will(msgspec.Struct, frozen=True):
    """The message that a client wants published when it vanishes."""

    topic: str
    body: bytes
    qos: int = 0
    retain: bool = False


class Connect(msgspec.Struct, frozen=True):
    """Request of a client to begin a session. `keep_alive_s` 0 disables the check for silence."""

    client_id: str
    clean_session: bool = True
    keep_alive_s: int = 60
    user_name: str | None = None
    password: bytes | None = None
    will: Will | None = None


class Connack(msgspec.Struct, frozen=True):
    """Answer to CONNECT."""

    code: int
    session_present: bool = False


class Publish(msgspec.Struct, frozen=True):
    """A message. `packet_id` is 0 at QoS 0 and 1-65535 above."""

    topic: str
    body: bytes
    qos: int = 0
    packet_id: int = 0
    retain: bool = False
    dup: bool = False


class Puback(msgspec.Struct, frozen=True):
    """Answer to a QoS 1 publish."""

    packet_id: int


class Pubrec(msgspec.Struct, frozen=True):
    """First answer to a QoS 2 publish: received."""

    packet_id: int


class Pubrel(msgspec.Struct, frozen=True):
    """The sender of a QoS 2 publish releases its packet id."""

    packet_id: int


class Pubcomp(msgspec.Struct, frozen=True):
    """Last answer to a QoS 2 publish: complete."""

    packet_id: int


class Subscribe(msgspec.Struct, frozen=True):
    """Requested filters, each with the highest QoS requested."""

    packet_id: int
    filters: tuple[tuple[str, int], ...]


class Suback(msgspec.Struct, frozen=True):
    """Granted QoS of each filter, or `SUBSCRIPTION_FAILED`."""

    packet_id: int
    codes: tuple[int, ...]


class Unsubscribe(msgspec.Struct, frozen=True):
    """Filters to remove."""

    packet_id: int
    filters: tuple[str, ...]


class Unsuback(msgspec.Struct, frozen=True):
    """Answer to UNSUBSCRIBE."""

    packet_id: int


class Pingreq(msgspec.Struct, frozen=True):
    """Sign of life from the client."""


class Pingresp(msgspec.Struct, frozen=True):
    """Answer to PINGREQ."""


class Disconnect(msgspec.Struct, frozen=True):
    """The client ends its session."""


Packet: TypeAlias = (
    Connect
    | Connack
    | Publish
    | Puback
    | Pubrec
    | Pubrel
    | Pubcomp
    | Subscribe
    | Suback
    | Unsubscribe
    | Unsuback
    | Pingreq
    | Pingresp
    | Disconnect
)
