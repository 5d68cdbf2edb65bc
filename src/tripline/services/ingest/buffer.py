"""The pipeline's intake when a bus is configured: frames are written to a topic and acknowledged from there.

The key is the sensor, so one partition holds all frames of a sensor in order. A frame is acknowledged when every
required replica has it. The writer retries without end, since a dropped frame could be overtaken by later ones; a
source that waits too long is abandoned and resends its unacknowledged frames.
"""

import asyncio
from typing import Final, NamedTuple

import msgspec

from tripline import metrics, observe
from tripline.ports.bus import BusMessageRefusedError, BusNote, BusWriter
from tripline.ports.devices import Source
from tripline.ports.outages import Outage
from tripline.services import poll_loop
from tripline.wire import frames

REFUSED_BYTES: Final = 1_024
"""Bytes preserved of a body that the brokers refuse; only the device still has the rest."""
TRIAL_S: Final = 2.0
"""How long connections are refused after the bus refused a frame."""
LOOK_S: Final = 1.0
"""Interval between checks for frames that wait too long."""
_log = observe.logger("ingest")


class Ticket(NamedTuple):
    """A frame handed to the writer."""

    source: Source
    token: int
    """Returned to the source when the frame is acknowledged; 0: no acknowledgement is needed."""


class BufferIntake:
    """Implements `ports.devices.Intake` and `ports.bus.Receipts`."""

    def __init__(self, writer: BusWriter, *, topic: str, patience_s: float) -> None:
        """`writer` never drops a message that precedes others of its key. `patience_s`: how long a source waits before
        it is abandoned."""
        self._writer = writer
        self._topic = topic
        self._patience_s = patience_s
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._held: dict[Source, _Held] = {}
        """Sources with frames in flight, and recently abandoned ones."""
        self._under_way = 0
        """Frames in flight in the writer, including those from abandoned sources."""
        self._troubled = False
        """True if a failure was reported since the last delivery."""
        self._failed_s = 0.0
        """Time of the latest failure, by the loop's clock."""

    def offer(self, source: Source, topic: str, body: bytes, received_ms: int, token: int) -> None:
        self._send(source, frames.packed(topic, received_ms, body), token)

    def refuse(
        self, source: Source, topic: str, head: bytes, received_ms: int, token: int, reason: str, size: int
    ) -> None:
        """Write a publish that the gateway refused: its first bytes go to the rejected-message log."""
        self._send(source, frames.packed_refusal(topic, received_ms, head, reason, f"{size} bytes"), token)

    @property
    def crowded(self) -> bool:
        return self._writer.crowded

    @property
    def away(self) -> bool:
        """True if the bus is unavailable: pending frames serve as the trial, or else the next connection does."""
        return self._troubled and (self._under_way > 0 or self._loop.time() - self._failed_s < TRIAL_S)

    async def run(self) -> None:
        """Abandon frames that wait too long, until `stop`; `offer` itself writes the frames."""
        while not self._stop.is_set():
            await poll_loop.set_within(self._stop, LOOK_S)
            self._look()

    def stop(self) -> None:
        """Make `run` return. Do not offer frames afterwards."""
        self._stop.set()

    def delivered(self, tickets: list[Ticket]) -> None:
        self._troubled = False
        self._under_way -= len(tickets)
        now_s = self._loop.time()
        settled: dict[Source, list[int]] = {}
        for source, token in tickets:
            settled.setdefault(source, []).append(token)
        for source, tokens in settled.items():
            held = self._held.get(source)
            if held is None or held.abandoned:
                continue
            held.frames -= len(tokens)
            held.since_s = now_s
            if not held.frames:
                del self._held[source]
            source.settled([token for token in tokens if token])
        metrics.FRAMES.labels("buffered").inc(len(tickets))

    def failed(self, tickets: list[Ticket]) -> None:
        """Abandon these sources once each: their unacknowledged frames may be lost."""
        self._under_way -= len(tickets)
        self._abandon({ticket.source for ticket in tickets}, "The bus did not accept the frames.")

    def _send(self, source: Source, value: bytes, token: int) -> None:
        held = self._held.get(source)
        if held is None:
            held = self._held[source] = _Held(self._loop.time())
        elif held.abandoned:
            return  # it must not overtake earlier frames
        held.frames += 1
        self._under_way += 1
        ticket = Ticket(source, token)
        note = BusNote(self._topic, source.sensor_id.encode(), value)
        try:
            try:
                self._writer.send(note, self, ticket)
            except BusMessageRefusedError as refused:
                self._writer.send(note._replace(value=_shortened(value, str(refused))), self, ticket)
        except (Outage, BusMessageRefusedError):
            self.failed([ticket])

    def _look(self) -> None:
        """Abandon late sources; the writer still has their frames, and the devices resend them after reconnecting."""
        now_s = self._loop.time()
        for source in [source for source, held in self._held.items() if held.abandoned]:
            del self._held[source]
        late = {source for source, held in self._held.items() if now_s - held.since_s > self._patience_s}
        if late:
            self._abandon(late, "The bus did not accept the frames in time.")

    def _abandon(self, sources: set[Source], reason: str) -> None:
        told = [(source, held) for source in sources if (held := self._held.get(source)) and not held.abandoned]
        number = sum(held.frames for _, held in told)
        self._failed_s = self._loop.time()
        if not self._troubled:
            self._troubled = True
            _log.warning("ingest.outage", reason=reason, frames=number, sources=len(told))
        metrics.FRAMES.labels("abandoned").inc(number)
        for source, held in told:
            held.abandoned = True
            source.abandoned()


class _Held(msgspec.Struct):
    since_s: float
    """When the first of them was offered, or an earlier one delivered; by the clock of the loop."""
    frames: int = 0
    abandoned: bool = False
    """Remains set until its connection is surely closed, so that no more of its frames are written."""


def _shortened(value: bytes, detail: str) -> bytes:
    frame = frames.unpacked(value)
    return frames.packed_refusal(frame.topic, frame.received_ms, frame.body[:REFUSED_BYTES], "too_large", detail)
