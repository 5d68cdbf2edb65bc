"""Devices' own messages on the bus: a device's MQTT message beside its sensor (spec/bus-messages 4.14).

They name no trip, so they are placed by the life of a device's trips, by the very pipeline that takes in what devices
send; what was delivered before is what it knows as a redelivery. What it cannot use it writes to the log of rejected
messages as a device's; here it is told to the sender, like everything else that cannot be used.

Not here: which messages these are (`wire/bus/reader.py`), whose (`placement.py`), the pipeline (`services/ingest/`).
"""

from collections.abc import Sequence
from typing import Final, Protocol

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId
from tripline.ports.outages import Outage
from tripline.services.bus.messages import Headed, Outcome, Refused
from tripline.services.device_frames import Frame
from tripline.services.ingest import cuts
from tripline.services.ingest.intake import BATCH_BYTES
from tripline.services.ingest.pipeline import Begin, Taken
from tripline.store.bus import facts as bus_facts
from tripline.store.transactions import WriteTx
from tripline.wire import topics

_SCOPE: Final = Scope.everything("see whose the sensors are that customers' devices speak for over the bus")
_KINDS: Final = {"redelivered": "duplicate"}
"""Kind of the pipeline's -> of the bus consumer's, where they differ."""


class TakesFrames(Protocol):
    """The intake of the pipeline: of all pipelines of this process the only one on a store of its own."""

    async def take_in(self, frames: Sequence[Frame], *, begin: Begin) -> Taken:
        """Take a batch through. Raises `Outage`: nothing is kept but what `begin` was asked for before."""


class Sender:
    """Who sends for a device: the source of its frames, as the pipeline sees it."""

    __slots__ = ("company_id", "sensor_id")

    def __init__(self, sensor_id: SensorId, company_id: CompanyId) -> None:
        self.sensor_id = sensor_id
        self.company_id = company_id

    def settled(self, tokens: list[int]) -> None:
        """Stored; the bus hears of the batch as a whole."""

    def abandoned(self) -> None:
        """Not stored; the batch waits."""


async def take_in(messages: Sequence[Headed], *, intake: TakesFrames, now_ms: int) -> Outcome:
    """What the pipeline made of them, in parts that go through together. Raises `Outage`: some may be kept, and are
    redelivered ones when they come again."""
    outcome = Outcome()
    left = [_frame(each, now_ms) for each in messages]
    sent_as = dict(zip(left, messages, strict=True))
    while left:
        together = cuts.beginning(left, BATCH_BYTES)
        taken = await intake.take_in(together, begin=_still_theirs)
        left = left[len(together) :]
        for kind, count in taken.counts.items():
            outcome.counts[_KINDS.get(kind, kind)] += count
        for refusal in taken.refusals:
            sent = sent_as[refusal.frame]
            outcome.refused.append(Refused(sent.message, refusal.rejected, sent.sensor_id))
    return outcome


def _still_theirs(tx: WriteTx, frames: Sequence[Frame]) -> None:
    """Raises `Outage` when a sensor has another owner than when the messages were let in, or none."""
    senders = [frame.source for frame in frames if isinstance(frame.source, Sender)]
    owners = {(sender.sensor_id, sender.company_id) for sender in senders}
    found = bus_facts.sensors(tx, _SCOPE, {sensor_id for sensor_id, _ in owners})
    if owners != {(sensor.id, sensor.company_id) for sensor in found.values()}:
        raise Outage("A sensor was deleted or changed hands meanwhile.")


def _frame(headed: Headed, now_ms: int) -> Frame:
    return Frame(Sender(headed.sensor_id, headed.company_id), topics.TRE, headed.body, now_ms, token=0)
