"""The door of the pipeline where the bus stands between: frames are written to a topic and acknowledged there.

The key is the sensor, so one partition has all frames of a sensor in their order. A frame is acknowledged when every
replica that must have it has it. One that fails abandons its source, which sends again what was not acknowledged.

Not here: placing and keeping (`draining.py`, in a worker), the bus itself (`adapters/`).
"""

import asyncio
from typing import Any, Final

from tripline import observe
from tripline.domain.ids import SensorId
from tripline.ports import BusMessageRefusedError, BusNote, BusWriter, Outage, Source
from tripline.wire import frames

REFUSED_BYTES: Final = 1_024
"""Beginning of a body that the brokers do not take; the rest is lost to everybody but the device."""
TRIAL_S: Final = 2.0
"""How long nobody is let in after the bus did not take something."""
_log = observe.logger("ingest")


class BufferDoor:
    """Implements `ports.Intake` and `ports.Receipts`."""

    def __init__(self, writer: BusWriter, *, topic: str) -> None:
        self._writer = writer
        self._topic = topic
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._troubled = False
        """Whether the latest outcome was a failure that was told."""
        self._failed_s = 0.0
        """When it was, by the clock of the loop."""

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
        """Whether the bus took nothing lately: after a moment the next device tries."""
        return self._troubled and self._loop.time() - self._failed_s < TRIAL_S

    async def run(self) -> None:
        """Return when `stop` was called: frames are written by whoever offers them."""
        await self._stop.wait()

    def stop(self) -> None:
        """Let `run` return. Offer nothing afterwards."""
        self._stop.set()

    def delivered(self, tickets: list[Any]) -> None:
        """Acknowledge what every replica has."""
        self._troubled = False
        settled: dict[Source, list[int]] = {}
        for source, token in tickets:
            settled.setdefault(source, []).append(token)
        for source, tokens in settled.items():
            source.settled([token for token in tokens if token])
        observe.FRAMES.labels("buffered").inc(len(tickets))

    def failed(self, tickets: list[Any]) -> None:
        """Nothing of these sources that was not acknowledged is sure to be kept: tell each once."""
        sources = dict.fromkeys(source for source, _ in tickets)
        self._failed_s = self._loop.time()
        if not self._troubled:
            self._troubled = True
            reason = "The bus did not take them in time."
            _log.warning("ingest.outage", reason=reason, frames=len(tickets), sources=len(sources))
        observe.FRAMES.labels("abandoned").inc(len(tickets))
        for source in sources:
            source.abandoned()

    def _send(self, source: Source, value: bytes, token: int) -> None:
        ticket = (source, token)
        note = BusNote(self._topic, _key(source.sensor_id), value)
        try:
            try:
                self._writer.send(note, self, ticket)
            except BusMessageRefusedError as refused:
                self._writer.send(note._replace(value=_shortened(value, str(refused))), self, ticket)
        except (Outage, BusMessageRefusedError):
            self.failed([ticket])


def _key(sensor_id: SensorId) -> bytes:
    return sensor_id.encode()


def _shortened(value: bytes, detail: str) -> bytes:
    frame = frames.unpacked(value)
    return frames.packed_refusal(frame.topic, frame.received_ms, frame.body[:REFUSED_BYTES], "too_large", detail)
