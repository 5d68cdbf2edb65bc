"""Acknowledge durable batches: once per source, a few sources per turn of the event loop."""

import asyncio
from collections.abc import Sequence
from typing import Final

from tripline import observe
from tripline.ports.devices import Source
from tripline.services.device_frames import Frame

TOLD_AT_ONCE: Final = 64
"""Sources acknowledged in one turn of the event loop: two milliseconds."""
_log = observe.logger("ingest")


async def acknowledge(frames: Sequence[Frame]) -> None:
    """Acknowledge the durable frames of each source in one call; QoS 0 frames (token 0) need none."""
    tokens: dict[Source, list[int]] = {}
    for frame in frames:
        if frame.token:
            mine = tokens.get(frame.source)
            if mine is None:
                tokens[frame.source] = [frame.token]
            else:
                mine.append(frame.token)
    for number, (source, mine) in enumerate(tokens.items(), 1):
        try:
            source.settled(mine)
        except Exception:  # noqa: BLE001  one connection's bug must not stop the others' acknowledgements
            _log.exception("ingest.failed", sensor=source.sensor_id)
        if not number % TOLD_AT_ONCE:
            await asyncio.sleep(0)  # each is encrypted and sent: let other tasks run in between
