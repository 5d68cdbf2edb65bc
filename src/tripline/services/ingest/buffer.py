"""The intake of the pipeline where the bus stands between: frames are written to a topic and acknowledged there.

The key is the sensor, so one partition has all frames of a sensor in their order. A frame is acknowledged when every
replica that must have it has it. The writer tries for ever, since a frame that it dropped could fall behind later ones;
a source that waits too long is abandoned and sends again what was not acknowledged.

Not here: placing and keeping (`drain.py`, in a worker), the bus itself (`adapters/`).
"""

import asyncio
import contextlib
from typing import Final, NamedTuple

from tripline import metrics, observe
from tripline.domain.ids import SensorId
from tripline.ports.bus import BusMessageRefusedError, BusNote, BusWriter
from tripline.ports.devices import Source
from tripline.ports.outages import Outage
from tripline.wire import frames

REFUSED_BYTES: Final = 1_024
"""Beginning of a body that the brokers do not take; the rest is lost to everybody but the device."""
TRIAL_S: Final = 2.0
"""How long nobody is let in after the bus refused something."""
LOOK_S: Final = 1.0
"""Between two checks for frames that wait too long."""
_log = observe.logger("ingest")


class Ticket(NamedTuple):
    """A frame that the writer has."""

    source: Source
    token: int
    """Given back to the source when the frame is acknowledged; 0: the source does not ask."""


class BufferIntake:
    """Implements `ports.devices.Intake` and `ports.bus.Receipts`."""

    def __init__(self, writer: BusWriter, *, topic: str, patience_s: float) -> None:
        """`writer` never drops a message that others of its key are behind. `patience_s`: how long a source waits
        until it is abandoned."""
        self._writer = writer
        self._topic = topic
        self._patience_s = patience_s
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._held: dict[Source, _Held] = {}
        """Sources with frames that are under way, and those abandoned lately."""
        self._under_way = 0
        """Frames that the writer has, whoever still waits for them."""
        self._troubled = False
        """Whether a failure was reported since the last delivery."""
        self._failed_s = 0.0
        """When the latest was, by the clock of the loop."""

    def offer(self, source: Source, topic: str, body: bytes, received_ms: int, token: int) -> None:
        """Write one frame. Cheap; never blocks. The order of a source's frames is kept."""
        self._send(source, frames.packed(topic, received_ms, body), token)

    def refuse(
        self, source: Source, topic: str, head: bytes, received_ms: int, token: int, reason: str, size: int
    ) -> None:
        """Write a publish that the gateway did not take: its first bytes are for the rejected-message log."""
        self._send(source, frames.packed_refusal(topic, received_ms, head, reason, f"{size} bytes"), token)

    @property
    def crowded(self) -> bool:
        """Whether sources should stop reading until there is room."""
        return self._writer.crowded

    @property
    def away(self) -> bool:
        """Whether the bus takes nothing: as long as frames wait for it these are the trial, then who comes next is."""
        return self._troubled and (self._under_way > 0 or self._loop.time() - self._failed_s < TRIAL_S)

    async def run(self) -> None:
        """Abandon frames that wait too long, until `stop`. Whoever offers a frame writes it."""
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._stop.wait()
            self._look()

    def stop(self) -> None:
        """Let `run` return. Offer nothing afterwards."""
        self._stop.set()

    def delivered(self, tickets: list[Ticket]) -> None:
        """Acknowledge what every replica has."""
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
        """Nothing of these sources that was not acknowledged is sure to be kept: tell each once."""
        self._under_way -= len(tickets)
        self._abandon({ticket.source for ticket in tickets}, "The bus did not take them.")

    def _send(self, source: Source, value: bytes, token: int) -> None:
        held = self._held.get(source)
        if held is None:
            held = self._held[source] = _Held(self._loop.time())
        elif held.abandoned:
            return  # it must not get ahead of those before it
        held.frames += 1
        self._under_way += 1
        ticket = Ticket(source, token)
        note = BusNote(self._topic, _key(source.sensor_id), value)
        try:
            try:
                self._writer.send(note, self, ticket)
            except BusMessageRefusedError as refused:
                self._writer.send(note._replace(value=_shortened(value, str(refused))), self, ticket)
        except (Outage, BusMessageRefusedError):
            self.failed([ticket])

    def _look(self) -> None:
        """What the writer has goes on waiting; its devices send it once more when they are back, behind it."""
        now_s = self._loop.time()
        for source in [source for source, held in self._held.items() if held.abandoned]:
            del self._held[source]
        late = {source for source, held in self._held.items() if now_s - held.since_s > self._patience_s}
        if late:
            self._abandon(late, "The bus did not take them in time.")

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


class _Held:
    """What is under way of one source."""

    __slots__ = ("abandoned", "frames", "since_s")

    def __init__(self, now_s: float) -> None:
        self.frames = 0
        self.since_s = now_s
        """When the first of them was offered, or something before it delivered; by the clock of the loop."""
        self.abandoned = False
        """Kept until its connection is surely gone, so that nothing more of it is written."""


def _key(sensor_id: SensorId) -> bytes:
    return sensor_id.encode()


def _shortened(value: bytes, detail: str) -> bytes:
    frame = frames.unpacked(value)
    return frames.packed_refusal(frame.topic, frame.received_ms, frame.body[:REFUSED_BYTES], "too_large", detail)
