"""Acknowledgements of a batch: everybody gets one, and nobody else waits for all of them."""

import asyncio
from dataclasses import dataclass, field

from tripline.services.device_frames import Frame
from tripline.services.ingest.acknowledgements import TOLD_AT_ONCE, acknowledge


@dataclass(eq=False)
class Source:
    """A device's connection, as far as it is told what is durable."""

    told: list[int] = field(default_factory=list)
    sensor_id: str = ""

    def settled(self, tokens: list[int]) -> None:
        self.told += tokens


def test_a_long_batch_is_acknowledged_to_some_at_a_turn() -> None:
    sources = [Source() for _ in range(2 * TOLD_AT_ONCE + 1)]
    frames = [Frame(source, "topic", b"", 0, number) for source in sources for number in (1, 2)]

    async def play() -> list[int]:
        acknowledging = asyncio.ensure_future(acknowledge(frames))  # type: ignore[arg-type]
        seen = []
        while not acknowledging.done():
            await asyncio.sleep(0)
            seen.append(sum(bool(source.told) for source in sources))
        return seen

    seen = asyncio.run(play())

    assert [source.told for source in sources] == [[1, 2]] * len(sources)
    assert seen[:3] == [TOLD_AT_ONCE, 2 * TOLD_AT_ONCE, 2 * TOLD_AT_ONCE + 1]
