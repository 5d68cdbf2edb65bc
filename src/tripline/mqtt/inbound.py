"""The single pass over each chunk a client sends: complete packets become frames and events, the rest is buffered.

Plain publishes are parsed here, in place, because that loop decides the speed of the device listener; it stops at
anything unusual, which then goes through `decode.py` and is checked in `session.py`. Bodies above the limit are
discarded as they arrive, so a connection never buffers more than one packet of the allowed size.
"""

from abc import ABC, abstractmethod
from typing import Final, NamedTuple

from tripline.mqtt import decode, primitives
from tripline.mqtt.events import PUBACK_TOKEN, Frames, SessionEvent
from tripline.mqtt.packets import Kind, ProtocolError, Publish

HEAD: Final = 1_024
"""Bytes kept of an oversized body."""
MAX_LENGTH: Final = 16 * 1_048_576
"""A larger remaining length ends the connection for any type of packet."""
MAX_CONTROL: Final = 65_536
"""Largest remaining length of any packet except a publish in a live session."""
LOT_BYTES: Final = 32_768
"""Bytes parsed in one go; this many bytes of the shortest publishes take about 3 ms."""
LOT_PACKETS: Final = 256
"""Packets other than plain publishes parsed in one go: less than a millisecond."""
_MAX_TOPICS: Final = 512
_MAX_TOPIC_LENGTH: Final = 128


class _Oversized(NamedTuple):
    """A publish whose body is being discarded."""

    publish: Publish
    """With the head of its body."""
    size: int
    """Of the whole body."""


class Inbound(ABC):
    """The stream from one client. `session.ServerSession` adds the rules of a session."""

    __slots__ = (
        "_heard",
        "_held",
        "_live",
        "_max_body",
        "_needed",
        "_oversized",
        "_reading",
        "_skip",
        "_topics",
        "more",
    )

    def __init__(self, *, max_body: int, topics: dict[bytes, str]) -> None:
        self._topics = topics
        """Checked topic names of all sessions of the owner; cleared when it has `_MAX_TOPICS`."""
        self._max_body = max_body
        self._reading = True
        self._live = False
        self._heard = False
        """True if a whole packet arrived since the last keep-alive check."""
        self._held = bytearray()
        self._needed = 0
        """Number of buffered bytes at which parsing is worth another try."""
        self._skip = 0
        """Bytes of an oversized body still to be discarded."""
        self._oversized: _Oversized | None = None
        self.more = False
        """Whole packets may be left: continue with no bytes after serving others, and before new bytes."""

    def _learn(self, topic: str) -> None:
        """Let the fast loop accept publishes on this checked topic; not on one of unusual length."""
        if len(topic) > _MAX_TOPIC_LENGTH:
            return
        if len(self._topics) >= _MAX_TOPICS:
            self._topics.clear()
        self._topics[topic.encode()] = topic

    @abstractmethod
    def _packet(self, first: int, body: bytes, found: list[SessionEvent]) -> None:
        """Act on one packet; may end the session or stop reading."""

    @abstractmethod
    def _take(self, publish: Publish, size: int, found: list[SessionEvent]) -> None:
        """Act on a publish with a body of `size` bytes; at least the head of the body is present."""

    def _resumed(self, data: bytes, found: list[SessionEvent]) -> bytes:
        """The bytes to parse after new data; empty while a packet is incomplete. Raises ProtocolError."""
        if self._skip:
            return self._thrown_away(data, found)
        self.more = False
        self._held += data
        # A packet that arrives byte by byte is assembled once, not at each byte.
        if len(self._held) < self._needed:
            return b""
        whole = bytes(self._held)
        self._held.clear()
        return whole

    def _walk(self, data: bytes, found: list[SessionEvent]) -> None:
        """Append the events of these bytes to `found` and buffer incomplete packets. Raises ProtocolError."""
        at, size, packets = 0, len(data), 0
        while at < size and self._reading:
            if self._live:
                frames: Frames = []
                at = self._publishes(data, at, frames)
                if frames:
                    found.append(frames)
                if at == size:
                    break
            header = primitives.remaining_length(data, at + 1)
            if header is None:
                break
            length, start = header
            self._check(data[at], length)
            if start + length > size:
                break
            self._packet(data[at], data[start : start + length], found)
            at = start + length
            packets += 1
            if (packets == LOT_PACKETS or at >= LOT_BYTES) and at < size and self._reading:
                self.more = True
                break
        if at:
            self._heard = True
        if self.more:
            self._held += data[at:]
            self._needed = 0
        elif at < size:
            self._hold(data, at)

    def _publishes(self, data: bytes, at: int, frames: Frames) -> int:
        """Parse publishes at QoS 0 and 1 until another or an unusual packet follows.

        Returns the position where it stopped, within `LOT_BYTES`. It raises nothing: an unsuitable packet is left to
        the general parser.
        """
        known_topic = self._topics.get
        append = frames.append
        max_body = self._max_body
        size = len(data)
        if size > LOT_BYTES:
            size = min(size, at + LOT_BYTES)
        while at + 4 < size:  # The shortest publish with a topic name has five bytes.
            first = data[at]
            length = data[at + 1]
            start = at + 2
            if length > 0x7F:
                high = data[start]
                if high > 0x7F:
                    return at
                length = length & 0x7F | high << 7
                start += 1
            end = start + length
            topic_end = start + 2 + (data[start] << 8 | data[start + 1])
            if end > size or length > max_body or topic_end > end:
                return at
            topic = known_topic(data[start + 2 : topic_end])
            if topic is None:
                return at
            if first & 0b1111_0110 == 0x32:  # QoS 1; DUP and RETAIN change nothing.
                body_at = topic_end + 2
                if body_at > end:
                    return at
                packet_id = data[topic_end] << 8 | data[topic_end + 1]
                if not packet_id:
                    return at
                append((topic, data[body_at:end], PUBACK_TOKEN | packet_id))
            elif first & 0b1111_1110 == 0x30:  # QoS 0
                append((topic, data[topic_end:end], 0))
            else:
                return at
            at = end
        return at

    def _check(self, first: int, length: int) -> None:
        """Check a packet by its header, before its bytes arrive."""
        if not self._live and first >> 4 != Kind.CONNECT:
            raise ProtocolError("The first packet is not CONNECT.", "MQTT-3.1.0-1")
        is_publish = first >> 4 == Kind.PUBLISH
        limit = MAX_LENGTH if is_publish else MAX_CONTROL
        if length > limit:
            raise ProtocolError(f"A packet of {length} bytes is above the limit of {limit}.", "2.2.3")

    def _hold(self, data: bytes, at: int) -> None:
        """Buffer the incomplete packet at the end of the chunk, or start discarding it if its body is too large."""
        if not self._live or not self._begin_oversized(data, at):
            self._held += data[at:]
            header = primitives.remaining_length(data, at + 1)
            self._needed = 2 if header is None else header.start + header.body - at
            if self._live and header is not None and header.body > self._max_body:
                # Parse an oversized publish as soon as its head may be complete, not when all of it has arrived.
                self._needed = min(self._needed, len(data) - at + HEAD)

    def _begin_oversized(self, data: bytes, at: int) -> bool:
        header = primitives.remaining_length(data, at + 1)
        if header is None or data[at] >> 4 != Kind.PUBLISH or header.body <= self._max_body:
            return False
        length, start = header
        if start + 2 > len(data):
            return False
        body_at = start + 2 + (data[start] << 8 | data[start + 1]) + (2 if data[at] & 0b110 else 0)
        body_size = start + length - body_at
        head_end = body_at + HEAD
        # The header counts the topic too: the body may be within the limit.
        if body_size <= self._max_body or head_end > len(data):
            return False
        publish = decode.packet(data[at], data[start:head_end])
        assert isinstance(publish, Publish)
        self._oversized = _Oversized(publish, body_size)
        self._skip = start + length - len(data)
        return True

    def _thrown_away(self, data: bytes, found: list[SessionEvent]) -> bytes:
        """Discard bytes of the oversized body; return the bytes after it."""
        dropped = min(self._skip, len(data))
        self._skip -= dropped
        if self._skip == 0 and self._oversized is not None:
            publish, size = self._oversized
            self._oversized = None
            self._heard = True
            self._take(publish, size, found)
        return data[dropped:]
