"""A device's message as received, and its parts that belong to no trip: an answer to a call, or a refusal.

Not here: its readings (`services/ingest/batch.py`), the encoding of frames on the bus (`wire/frames.py`).
"""

import msgspec

from tripline.ports.devices import Source
from tripline.wire.readings import Rejected, RpcAnswer


class Frame(msgspec.Struct, gc=False, eq=False):
    """One message of a device, as received."""

    source: Source
    topic: str
    body: bytes
    received_ms: int
    token: int
    """Returned to the source when the frame is durable."""
    refused: Rejected | None = None
    """The gateway's own refusal."""


class Answered(msgspec.Struct, gc=False, eq=False):
    """A device's answer to a call."""

    frame: Frame
    said: RpcAnswer


class Refusal(msgspec.Struct, gc=False, eq=False):
    """An unusable part of a frame, with the reason."""

    frame: Frame
    rejected: Rejected
