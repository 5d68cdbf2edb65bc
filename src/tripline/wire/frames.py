"""A device's message on its way from a gateway to a worker, on our own topic of the bus: MessagePack of a few values.

Version 1 is [version, topic, receipt (epoch ms), body] and, for a publish that the gateway refused, its reason and
detail. The key of the message on the bus is the sensor.
"""

from typing import Final

import msgspec

VERSION: Final = 1


class Frame(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A device's publish."""

    version: int
    topic: str
    received_ms: int
    body: bytes
    reason: str | None = None
    """Why the gateway refused it; the body is then cut to its beginning."""
    detail: str | None = None


class FrameError(ValueError):
    """Not a frame that this program can read."""


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Frame).decode


def packed(topic: str, received_ms: int, body: bytes) -> bytes:
    """A publish as it is written to the bus."""
    return _encode((VERSION, topic, received_ms, body))


def packed_refusal(topic: str, received_ms: int, head: bytes, reason: str, detail: str) -> bytes:
    """A publish that the gateway refused, with its beginning."""
    return _encode((VERSION, topic, received_ms, head, reason, detail))


def unpacked(value: bytes) -> Frame:
    """The publish. Raises `FrameError`."""
    try:
        frame = _decode(value)
    except msgspec.MsgspecError as error:
        raise FrameError(str(error)) from error
    if frame.version != VERSION:
        raise FrameError(f"Frames of version {frame.version} are those of a later program.")
    return frame
