"""Customers' messages from a file through the bus consumer's code, without a bus: for old drives, trials and repairs.

Works with or without a running server; a running server scores the trips that it ends. Importing the same file again
changes nothing, so an interrupted import is simply repeated; for a device's own messages that is true only while the
pipeline remembers them.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import IO, Final

from tripline import clock, observe
from tripline.adapters.signals import local
from tripline.config import Config
from tripline.config import bus as config_bus
from tripline.config.bus import Carried
from tripline.maintenance import stores
from tripline.services.bus.batches import BusBatches
from tripline.services.bus.messages import Message, Outcome, Refused
from tripline.services.live.position_keeper import PositionKeeper
from tripline.wire.bus import envelopes as bus_envelopes
from tripline.wire.bus import files as bus_files
from tripline.wire.bus import reader as bus_reader
from tripline.wiring import ingest

BATCH_BYTES: Final = 4 * 2**20
"""Total size of a batch's messages."""
GAP_S: Final = 0.02
"""Pause between two batches: on a SQLite file, each commit of another process makes a server reload its tracks."""
Progress = Callable[[int], None]
"""Called with the number of finished lines."""
Show = Callable[[Refused], None]
"""Called with each unusable message; its `offset` is the number of its line."""


async def ingested(
    config: Config, file: IO[bytes], *, topic: str | None, progress: Progress, show: Show
) -> tuple[int, Outcome]:
    """Import a file of messages, one per line; return their number and outcome.

    `topic`: the topic of lines without one. Raises `Outage`; messages reported as done stay stored.
    """
    total, lines = Outcome(), 0
    async with _batches(config) as batches:
        for batch in _in_batches(_messages(config, file, topic), config.bus.batch):
            outcome = await batches.take_in(batch, now_ms=clock.now_ms())
            lines += len(batch)
            for refused in outcome.refused:
                show(refused)
            # Refused messages are shown, not collected: a file may have millions of lines.
            total.counts += outcome.counts
            total.counts["rejected"] += len(outcome.refused)
            for refused in outcome.refused:
                total.reasons[refused.rejected.reason] += 1
            progress(lines)
            await asyncio.sleep(GAP_S)
    return lines, total


@contextlib.asynccontextmanager
async def _batches(config: Config) -> AsyncIterator[BusBatches]:
    observe.configure_logging(level="warning", as_json=False)
    async with stores.store_of(config) as store, stores.numbering(store) as maker:
        # Servers poll every few seconds, so this process sends no notifications.
        base = ingest.Base(store=store, ids=maker, signals=local.LocalSignals(), clock=clock.now_ms)
        positions = PositionKeeper(
            store=store,
            signals=base["signals"],
            clock=base["clock"],
            gap_ms=config.ingest.trip_gap_minutes * 60_000,
            fastest_kmh=config.guards.fastest_kmh,
        )
        devices = ingest.pipeline_intake(config, base, positions)
        yield ingest.bus_batches(config, base, devices, positions)
        await devices.settle_rejected()
        await positions.finish()


def _messages(config: Config, file: IO[bytes], topic: str | None) -> Iterator[Message]:
    """The messages of the file; their offsets are line numbers."""
    topics = {
        bus_envelopes.MICROTRIPS: Carried("microtrip"),
        bus_envelopes.TRIPS: Carried("trip"),
        bus_envelopes.EVENTS: Carried("event"),
        **config_bus.topics(config.bus),
    }
    for number, line in enumerate(bus_files.lines(file, longest=bus_reader.LARGEST), 1):
        if not line.strip():
            continue
        message = bus_files.message(line)
        read_from = "".join(filter(str.isprintable, message.topic or topic or ""))
        carried = topics.get(read_from)
        yield Message(
            topic=read_from,
            body=message.body,
            kind=None if carried is None else carried.kind,
            company_id=None if carried is None else carried.company_id,
            offset=number,
        )


def _in_batches(messages: Iterator[Message], most: int) -> Iterator[list[Message]]:
    batch: list[Message] = []
    size = 0
    for message in messages:
        batch.append(message)
        size += len(message.body)
        if len(batch) == most or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
