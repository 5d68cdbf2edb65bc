"""Devices' own messages on the bus: a device's MQTT message beside its sensor (spec/bus-messages 4.14).

They name no trip, so the device pipeline places them by the rules for devices, and recognises redeliveries. It logs
unusable ones as rejected device messages; here they are also returned to the sender like other unusable messages.

Not here: recognising these messages (`wire/bus/reader.py`), checking their owner (`batches.py`), the pipeline
(`services/ingest/`).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId
from tripline.ports.outages import Outage
from tripline.services.bus.messages import Message, Outcome, Refused
from tripline.services.device_frames import Frame
from tripline.services.ingest import batch_splits
from tripline.services.ingest.drain import BusSource
from tripline.services.ingest.intake import BATCH_BYTES, Intake
from tripline.store.bus import facts as bus_facts
from tripline.store.bus.facts import Sensor
from tripline.store.transactions import WriteTx
from tripline.wire import topics

_SCOPE: Final = Scope.everything("see whose the sensors are that customers' devices speak for over the bus")
_KINDS: Final = {"redelivered": "duplicate"}
"""Kinds of the pipeline -> kinds of the bus consumer, where they differ."""


class _Sender(BusSource):
    """The source of a device's frames: the sensor, and its owner when the message was admitted."""

    company_id: CompanyId


def frame(sensor: Sensor, body: bytes, now_ms: int) -> Frame:
    """A device's own message, with this body, as the device would send it."""
    return Frame(_Sender(sensor.id, sensor.company_id), topics.TRE, body, now_ms, token=0)


async def take_in(messages: Mapping[Frame, Message], *, intake: Intake) -> Outcome:
    """Pass the messages to the pipeline in portions; return the outcome. Raises `Outage`: some may be stored, and count
    as redeliveries when repeated."""
    outcome = Outcome()
    left = list(messages)
    while left:
        together = batch_splits.beginning(left, BATCH_BYTES)
        taken = await intake.take_in(together, begin=_still_theirs)
        left = left[len(together) :]
        for kind, count in taken.counts.items():
            outcome.counts[_KINDS.get(kind, kind)] += count
        for refusal in taken.refusals:
            outcome.refused.append(Refused(messages[refusal.frame], refusal.rejected, refusal.frame.source.sensor_id))
    return outcome


def _still_theirs(tx: WriteTx, frames: Sequence[Frame]) -> None:
    """Raises `Outage` if a sensor was deleted or changed its owner after the messages were admitted."""
    senders = [frame.source for frame in frames if isinstance(frame.source, _Sender)]
    owners = {(sender.sensor_id, sender.company_id) for sender in senders}
    found = bus_facts.sensors(tx, _SCOPE, {sensor_id for sensor_id, _ in owners})
    if owners != {(sensor.id, sensor.company_id) for sensor in found.values()}:
        raise Outage("A sensor was deleted or changed hands meanwhile.")
