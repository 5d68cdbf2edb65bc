"""Devices' own messages on the bus (bus-messages 4.14): what a device would send over MQTT, with its sensor beside it.

They name no trip, so they are placed by the life of a device's trips, by the very pipeline that takes in what devices
send; what was delivered before is what it knows as a redelivery. What it cannot use it writes to the log of rejected
messages as a device's; here it is told to the sender, like everything else that cannot be used.

Not here: which messages these are (`wire/bus_read.py`), whose (`placing.py`), the pipeline (`services/ingest/`).
"""

from collections.abc import Sequence
from typing import Final, Protocol

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId
from tripline.ports import Outage
from tripline.services.bus.messages import Headed, Outcome, Refused
from tripline.services.ingest import cutting
from tripline.services.ingest.intake import BATCH_BYTES
from tripline.services.ingest.pipeline import Begin, Frame, Taken
from tripline.store import bus_facts
from tripline.store.transactions import WriteTx
from tripline.wire import topics

_SCOPE: Final = Scope.everything("see whose the sensors are that customers' devices speak for over the bus")
_KINDS: Final = {"redelivered": "duplicate"}
"""Kind of the pipeline's -> of the bus door's, where they differ."""


class TakesFrames(Protocol):
    """The door of the pipeline: of all pipelines of this process the only one on a store of its own."""

    async def take_in(self, frames: Sequence[Frame], *, begin: Begin) -> Taken:
        """Take a batch through. Raises `Outage`: nothing is kept but what `begin` was asked for before."""


class Sender:
    """Who sends for a device: the source of its frames, as the pipeline sees it."""

    __slots__ = ("company_id", "sensor_id")

    def __init__(self, sensor_id: SensorId, company_id: CompanyId) -> None:
        self.sensor_id = sensor_id
        self.company_id = company_id

    def settled(self, tokens: list[int]) -> None:
        """Stored; the batch as a whole is told to the bus."""

    def abandoned(self) -> None:
        """Not stored; the batch waits."""


async def take_in(messages: Sequence[Headed], *, door: TakesFrames, now_ms: int) -> Outcome:
    """What the pipeline made of them, in parts that go through together. Raises `Outage`: some may be kept, and are
    redelivered ones when they come again."""
    outcome = Outcome()
    left = [_frame(each, now_ms) for each in messages]
    sent_as = {id(frame[2]): each for frame, each in zip(left, messages, strict=True)}
    while left:
        together = cutting.beginning(left, BATCH_BYTES)
        taken = await door.take_in(together, begin=_still_theirs)
        left = left[len(together) :]
        for kind, count in taken.counts.items():
            outcome.counts[_KINDS.get(kind, kind)] += count
        for sensor_id, _, _, rejected in taken.refusals:
            outcome.refused.append(Refused(sent_as[id(rejected.body)].message, rejected, sensor_id))
    return outcome


def _still_theirs(tx: WriteTx, frames: Sequence[Frame]) -> None:
    """Raises `Outage` when a sensor has another owner than when the messages were let in, or none."""
    owners = {(source.sensor_id, source.company_id) for source, *_ in frames if isinstance(source, Sender)}
    found = bus_facts.sensors(tx, _SCOPE, {sensor_id for sensor_id, _ in owners})
    if owners != {(sensor.id, sensor.company_id) for sensor in found.values()}:
        raise Outage("A sensor was deleted or changed hands meanwhile.")


def _frame(headed: Headed, now_ms: int) -> Frame:
    return Sender(headed.sensor_id, headed.company_id), topics.TRE, headed.body, now_ms, 0, None
