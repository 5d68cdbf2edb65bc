"""Devices: the parts that take in their frames, track their presence, and send them messages."""

from collections.abc import Callable
from enum import Enum
from typing import Final, Protocol

from tripline.domain.ids import RowNo, SensorId


class Source(Protocol):
    """The source of frames, which learns when they are durable. Implemented by the gateway's connection."""

    sensor_id: SensorId

    def settled(self, tokens: list[int]) -> None:
        """The frames with these tokens (in the order offered) are committed; called on the event loop."""

    def abandoned(self) -> None:
        """The store is away: frames offered since the last `settled` are lost. Close without acknowledging."""


class Intake(Protocol):
    """The entrance of the ingest pipeline, offered to the gateway."""

    def offer(self, source: Source, topic: str, body: bytes, received_ms: int, token: int) -> None:
        """Queue one frame. Cheap; never blocks. Frames of one source keep their order."""

    def refuse(
        self, source: Source, topic: str, head: bytes, received_ms: int, token: int, reason: str, size: int
    ) -> None:
        """Record a frame that the gateway could not take in: `head` is the first KiB of its `size` bytes.

        It goes to the rejected-message log with the reason and is settled in order, like a frame.
        """

    @property
    def crowded(self) -> bool:
        """True when sources should stop reading until their next `settled`."""

    @property
    def away(self) -> bool:
        """True while frames offered now would be lost: new connections should come again later."""


TAKEN_OVER: Final = "taken_over"
"""Reason for ending an older session of a sensor when a newer one begins."""


class Presence(Protocol):
    """Receives the gateway's device connections. A session's number is greater than the numbers of older sessions."""

    def connected(self, sensor_id: SensorId, session_no: RowNo, at_ms: int, callable_now: Callable[[], None]) -> None:
        """A session began. Cheap; never blocks.

        `callable_now` runs on the event loop once a call from any process can reach this session: at once with one
        process, after a commit with several, never when a newer session took its place.
        """

    def lost(self, sensor_id: SensorId, session_no: RowNo, at_ms: int, *, seen_ms: int, reason: str) -> None:
        """The session ended, for this reason; something was last heard at `seen_ms`. Cheap; never blocks.

        One that is `TAKEN_OVER` ends just before, or any time after, the newer one begins.
        """


class Delivery(Enum):
    """The outcome of a message to a device."""

    SENT = "written to its connection"
    NOT_CONNECTED = "it has no live session"
    NOT_SUBSCRIBED = "it has a session, and did not subscribe to the topic"
    CONGESTED = "it does not read what was sent before"


class Devices(Protocol):
    """Devices with a live session, on any gateway."""

    async def send(self, sensor_id: SensorId, topic: str, body: bytes) -> Delivery:
        """Send a message at QoS 1, or less when the device asked for less."""
