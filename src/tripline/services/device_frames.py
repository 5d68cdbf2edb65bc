"""A device's message as it came, and its parts that belong to no trip: an answer to a call, or a refusal.

Not here: its readings on their way (`services/ingest/batch.py`), the form in which frames cross the bus
(`wire/frames.py`).
"""

import msgspec

from tripline.ports.devices import Source
from tripline.wire.readings import Rejected, RpcAnswer


class Frame(msgspec.Struct, gc=False, eq=False):
    """One message of a device, as it came."""

    source: Source
    topic: str
    body: bytes
    received_ms: int
    token: int
    """Given back to the source when the frame is durable."""
    refused: Rejected | None = None
    """The gateway's own refusal."""


class Answered(msgspec.Struct, gc=False, eq=False):
    """A device's answer to a call."""

    frame: Frame
    said: RpcAnswer


class Refusal(msgspec.Struct, gc=False, eq=False):
    """What cannot be used of a frame, and why."""

    frame: Frame
    rejected: Rejected
