"""The bus consumer: read batches, store them, write dead letters, and only then commit the group's offsets.

While the store or the bus is down the batch waits and no more are read; no message is dropped. Unusable messages block
nothing: they are logged in the batch's transaction, and then written to the dead-letter topic. If a process dies in
between, the batch is read again; stored messages change nothing then, but a dead letter may be written twice.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from tripline import observe
from tripline.config.bus import Carried
from tripline.ports.bus import BusBatch, BusMessage, BusMessageRefusedError, BusNote, BusReader, BusWriter
from tripline.ports.clocks import Clock
from tripline.ports.outages import Outage
from tripline.services import batch_tries
from tripline.services.bus.batches import BusBatches
from tripline.services.bus.messages import Message, Refused
from tripline.services.ingest.pace import Pace
from tripline.wire.bus import envelopes as bus_envelopes

_log = observe.logger("bus")


class BusConsumer:
    """Stores messages that customers' systems write to the bus, until cancelled."""

    def __init__(
        self,
        *,
        reader: BusReader,
        writer: BusWriter,
        batches: BusBatches,
        topics: Mapping[str, Carried],
        dead_letters: str,
        clock: Clock,
        most: int,
    ) -> None:
        """`dead_letters`: topic for unusable messages; empty: none are written. `most`: most messages per
        transaction."""
        self._reader = reader
        self._writer = writer
        self._batches = batches
        self._topics = topics
        self._dead_letters = dead_letters
        self._clock = clock
        self._pace = Pace(most=most)
        self._waits_for = ""
        reader.explain(self._doing)

    async def run(self) -> None:
        """Process batches until cancelled; pause after a failure, without losing messages."""
        while True:
            await self.turn()

    async def turn(self) -> None:
        """Process one batch to its end, waiting through outages."""
        batch = await self._reader.read(self._pace.size)
        refused = await self._stored(batch)
        if self._dead_letters and refused:
            await self._written(refused)
        self._reader.done(batch)

    async def _stored(self, batch: BusBatch) -> Sequence[Refused]:
        """Store messages from partitions that this member still owns; return the refused ones."""
        troubles = 0
        refused: list[Refused] = []
        while (batch := self._reader.kept(batch)).messages:
            together = batch.messages[: self._pace.size]
            try:
                outcome = await self._batches.take_in([self._message(each) for each in together], now_ms=self._clock())
            except Exception as error:  # noqa: BLE001  the messages wait after any error
                troubles += 1
                self._pace.failed()
                await self._pause(error, troubles, len(batch.messages))
            else:
                troubles = 0
                self._pace.took(len(together), self._batches.steps.worked_s)
                refused += outcome.refused
                batch = replace(batch, messages=batch.messages[len(together) :])
        return refused

    async def _written(self, refused: Sequence[Refused]) -> None:
        """Write all refused messages to the dead-letter topic. If one is too long, write each by itself, and that one
        shortened; the messages are in the log in any case."""
        try:
            await self._delivered([self._note(each) for each in refused])
        except BusMessageRefusedError:
            if len(refused) == 1:
                with contextlib.suppress(BusMessageRefusedError):
                    await self._delivered([self._note(refused[0], cut=True)])
                return
            for each in refused:
                await self._written([each])

    async def _delivered(self, notes: Sequence[BusNote]) -> None:
        """Write these notes, retrying while the brokers are down. Raises `BusMessageRefusedError`."""
        troubles = 0
        while True:
            try:
                await self._writer.deliver(notes)
            except BusMessageRefusedError:
                raise
            except Exception as error:  # noqa: BLE001  as above
                troubles += 1
                await self._pause(error, troubles, len(notes))
            else:
                return

    async def _pause(self, error: Exception, troubles: int, count: int) -> None:
        if isinstance(error, Outage):
            _log.warning("bus.outage", reason=str(error), messages=count)
        else:
            _log.error("bus.failed", messages=count, exc_info=error)
        self._waits_for = "outage" if isinstance(error, Outage) else "failure"
        await asyncio.sleep(batch_tries.pause_s(troubles))
        self._waits_for = ""

    def _doing(self) -> str:
        return self._waits_for or self._batches.steps.doing

    def _message(self, read: BusMessage) -> Message:
        carried = self._topics.get(read.topic)
        return Message(
            topic=read.topic,
            body=read.value,
            kind=None if carried is None else carried.kind,
            company_id=None if carried is None else carried.company_id,
            partition=read.partition,
            offset=read.offset,
        )

    def _note(self, refused: Refused, *, cut: bool = False) -> BusNote:
        message = refused.message
        letter = bus_envelopes.dead_letter(
            topic=message.topic,
            partition=message.partition,
            offset=message.offset,
            reason=refused.rejected.reason,
            detail=refused.rejected.detail,
            body=message.body,
            cut=cut,
        )
        return BusNote(self._dead_letters, None, letter)
