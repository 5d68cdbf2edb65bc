"""Devices' own messages on the bus: a device's MQTT message beside its sensor (spec/bus-messages 4.14).

They name no trip, so the device pipeline places them by the rules for devices, and recognises redeliveries. It logs
unusable ones as rejected device messages; here they are also returned to the sender like other unusable messages.

Not here: recognising these messages (`wire/bus/reader.py`), checking their owner (`placement.py`), the pipeline
(`services/ingest/`).
"""

from collections.abc import Sequence
from typing import Final, Protocol

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId
from tripline.ports.outages import Outage
from tripline.services.bus.messages import Headed, Outcome, Refused
from tripline.services.device_frames import Frame
from tripline.services.ingest import batch_splits
from tripline.services.ingest.intake import BATCH_BYTES
from tripline.services.ingest.pipeline import Begin, Taken
from tripline.store.bus import facts as bus_facts
from tripline.store.transactions import WriteTx
from tripline.wire import topics

_SCOPE: Final = Scope.everything("see whose the sensors are that customers' devices speak for over the bus")
_KINDS: Final = {"redelivered": "duplicate"}
"""Kinds of the pipeline -> kinds of the bus consumer, where they differ."""


class TakesFrames(Protocol):
    """The pipeline's intake; on a store of its own, the process has no other pipeline."""

    async def take_in(self, frames: Sequence[Frame], *, begin: Begin) -> Taken:
        """Process a batch. Raises `Outage`: then only transactions that ran `begin` before are stored."""


class Sender:
    """The source of a device's frames, as the pipeline sees it."""

    __slots__ = ("company_id", "sensor_id")

    def __init__(self, sensor_id: SensorId, company_id: CompanyId) -> None:
        self.sensor_id = sensor_id
        self.company_id = company_id

    def settled(self, tokens: list[int]) -> None:
        """Do nothing: the bus is informed about the whole batch."""

    def abandoned(self) -> None:
        """Do nothing: the batch waits."""


async def take_in(messages: Sequence[Headed], *, intake: TakesFrames, now_ms: int) -> Outcome:
    """Pass the messages to the pipeline in portions; return the outcome. Raises `Outage`: some may be stored, and count
    as redeliveries when repeated."""
    outcome = Outcome()
    left = [_frame(each, now_ms) for each in messages]
    sent_as = dict(zip(left, messages, strict=True))
    while left:
        together = batch_splits.beginning(left, BATCH_BYTES)
        taken = await intake.take_in(together, begin=_still_theirs)
        left = left[len(together) :]
        for kind, count in taken.counts.items():
            outcome.counts[_KINDS.get(kind, kind)] += count
        for refusal in taken.refusals:
            sent = sent_as[refusal.frame]
            outcome.refused.append(Refused(sent.message, refusal.rejected, sent.sensor_id))
    return outcome


def _still_theirs(tx: WriteTx, frames: Sequence[Frame]) -> None:
    """Raises `Outage` if a sensor was deleted or changed its owner after the messages were admitted."""
    senders = [frame.source for frame in frames if isinstance(frame.source, Sender)]
    owners = {(sender.sensor_id, sender.company_id) for sender in senders}
    found = bus_facts.sensors(tx, _SCOPE, {sensor_id for sensor_id, _ in owners})
    if owners != {(sensor.id, sensor.company_id) for sensor in found.values()}:
        raise Outage("A sensor was deleted or changed hands meanwhile.")


def _frame(headed: Headed, now_ms: int) -> Frame:
    return Frame(Sender(headed.sensor_id, headed.company_id), topics.TRE, headed.body, now_ms, token=0)
