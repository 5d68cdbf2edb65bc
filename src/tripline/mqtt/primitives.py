"""Building blocks of packets: two-byte numbers, text, binary fields, packet ids, the remaining length.

Follows sections 1.5 and 2.2-2.3 of the standard.
"""

from typing import Final, NamedTuple

from tripline.mqtt.packets import MAX_REMAINING_LENGTH, ProtocolError

_MAX_FIELD: Final = 65_535


class Length(NamedTuple):
    """The remaining length of a packet."""

    body: int
    """Bytes of its body."""
    start: int
    """Where the body begins."""


class FieldReader:
    """Reads fields one by one from the body of a packet; raises ProtocolError where the body is too short."""

    __slots__ = ("_at", "_body", "_packet")

    def __init__(self, packet: str, body: bytes) -> None:
        self._packet = packet
        self._body = body
        self._at = 0

    @property
    def exhausted(self) -> bool:
        """True if every byte was read."""
        return self._at == len(self._body)

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        start, self._at = self._at, self._at + count
        if self._at > len(self._body):
            raise ProtocolError(f"{self._packet} ends inside a field.", "2.2.3")
        return self._body[start : self._at]

    def byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def number(self) -> int:
        """The next two bytes, most significant first (standard, 1.5.2)."""
        high, low = self.take(2)
        return high << 8 | low

    def packet_id(self) -> int:
        """A packet id; 0 is not one."""
        packet_id = self.number()
        if packet_id == 0:
            raise ProtocolError(f"{self._packet} carries packet id 0.", "MQTT-2.3.1-1")
        return packet_id

    def binary(self) -> bytes:
        """A field of bytes after its two-byte length."""
        return self.take(self.number())

    def text(self) -> str:
        """A text field (standard, 1.5.3)."""
        return checked_text(self._packet, self.binary())

    def rest(self) -> bytes:
        """All unread bytes."""
        return self.take(len(self._body) - self._at)

    def end(self) -> None:
        """Refuse bytes after the last field."""
        if not self.exhausted:
            raise ProtocolError(f"{self._packet} has bytes behind its last field.", "2.2.3")


def checked_text(packet: str, raw: bytes) -> str:
    """Decode text; ill-formed UTF-8, surrogates and U+0000 raise ProtocolError."""
    try:
        text = raw.decode()  # Python refuses surrogates and overlong forms, as [MQTT-1.5.3-1] demands.
    except UnicodeDecodeError:
        raise ProtocolError(f"{packet} carries text that is not well-formed UTF-8.", "MQTT-1.5.3-1") from None
    if "\x00" in text:
        raise ProtocolError(f"{packet} carries text with U+0000.", "MQTT-1.5.3-2")
    return text


def checked_topic(raw: bytes) -> str:
    """The topic name of a publish: text of at least one character, without wildcards."""
    topic = checked_text("PUBLISH", raw)
    check_topic("PUBLISH", topic, "MQTT-3.3.2-2")
    return topic


def check_topic(packet: str, topic: str, rule: str) -> None:
    """Refuse an empty topic name, and one with wildcards under the rule given."""
    if not topic:
        raise ProtocolError(f"{packet} has an empty topic name.", "MQTT-4.7.3-1")
    if "+" in topic or "#" in topic:
        raise ProtocolError(f"{packet} has a wildcard in its topic name.", rule)


def remaining_length(data: bytes, at: int) -> Length | None:
    """The remaining length whose first byte is `data[at]`; None if bytes are missing."""
    length = 0
    for index in range(4):
        if at + index >= len(data):
            return None
        byte = data[at + index]
        length |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return Length(length, at + index + 1)
    raise ProtocolError("The remaining length has more than four bytes.", "2.2.3")


def remaining_length_bytes(length: int) -> bytes:
    """The remaining length as one to four bytes."""
    if length > MAX_REMAINING_LENGTH:
        raise ValueError(f"A packet cannot hold {length} bytes.")
    out = bytearray()
    while length > 0x7F:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    out.append(length)
    return bytes(out)


def number_bytes(number: int) -> bytes:
    """A two-byte number."""
    return number.to_bytes(2, "big")


def binary_bytes(value: bytes) -> bytes:
    """A field of bytes after its length."""
    if len(value) > _MAX_FIELD:
        raise ValueError(f"A field cannot hold {len(value)} bytes.")
    return number_bytes(len(value)) + value


def text_bytes(text: str) -> bytes:
    """A text field."""
    return binary_bytes(text.encode())
