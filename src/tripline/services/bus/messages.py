"""A customer's message at the stages of a batch: as received, read, and refused."""

from collections import Counter
from collections.abc import Sequence
from datetime import tzinfo

import msgspec

from tripline.domain import bus
from tripline.domain.ids import CompanyId, SensorId
from tripline.services.device_frames import Frame
from tripline.wire.bus import payloads as bus_payloads
from tripline.wire.bus import reader as bus_reader
from tripline.wire.bus import reasons as bus_reasons
from tripline.wire.bus.reader import Kind, Opened
from tripline.wire.readings import LatestValues, Microtrip, Rejected, Trip, Usable


class Message(msgspec.Struct, frozen=True, eq=False):
    """A message as received."""

    topic: str
    body: bytes
    kind: Kind | None
    """The usual content of its topic."""
    company_id: CompanyId | None = None
    """The only company that may write to its topic."""
    partition: int | None = None
    offset: int | None = None


class Refused(msgspec.Struct, frozen=True, eq=False):
    """A message, or a part of it, that cannot be used."""

    message: Message
    rejected: Rejected
    sensor_id: SensorId | None = None
    """The sensor, if the message comes from its owner."""

    @classmethod
    def of(cls, message: Message, reason: str, sensor_id: SensorId | None = None) -> "Refused":
        """The whole message, for this reason."""
        return cls(message, bus_reasons.rejected(reason, message.body), sensor_id)


class Record(msgspec.Struct, frozen=True, eq=False):
    """One reading with the keys that identify a second delivery."""

    reading: Usable
    content: bytes
    """Its payload without white space between the values."""
    by_name: int | None
    """Its number by the customer's name for it; None: it has no name."""
    by_content: int
    """Its number by its content."""


class Read(msgspec.Struct, frozen=True, eq=False):
    """A message whose payload was read."""

    message: Message
    opened: Opened
    records: Sequence[Record]
    left_out: Sequence[Rejected]
    """Problems of the message, or of some of its elements."""


class Outcome(msgspec.Struct):
    """The outcome of a batch."""

    counts: Counter[str] = msgspec.field(default_factory=Counter)
    """Stored messages by kind, and `duplicate`."""
    refused: list[Refused] = msgspec.field(default_factory=list)
    """Unusable messages, which are in the rejected-message log."""
    reasons: Counter[str] = msgspec.field(default_factory=Counter)
    """Unusable messages by reason, if the caller counts them."""

    headed: dict[Frame, Message] = msgspec.field(default_factory=dict)
    """Devices' own messages (4.14) that are not processed yet, as the devices would send them."""

    def add(self, other: "Outcome") -> None:
        self.counts += other.counts
        self.refused += other.refused
        self.headed |= other.headed


def read(message: Message, opened: Opened, *, sensor_type: str, zone: tzinfo, received_ms: int, max_items: int) -> Read:
    """Read the payload of a message; `sensor_type` is the registered one."""
    readings = bus_reader.readings(
        opened, sensor_type=sensor_type, zone=zone, received_ms=received_ms, max_items=max_items
    )
    return Read(
        message,
        opened,
        [_record(opened, each) for each in readings if not isinstance(each, Rejected)],
        [each for each in readings if isinstance(each, Rejected)],
    )


def _record(opened: Opened, reading: Usable) -> Record:
    content = bus_payloads.compact(reading.payload)
    if isinstance(reading, Trip | LatestValues):
        return Record(reading, content, None, 0)
    # A microtrip is identified within its trip, an event within its sensor.
    owner = opened.trip_id or opened.sensor_id if isinstance(reading, Microtrip) else opened.sensor_id
    if opened.record is not None:
        named = bus.record_key(owner, opened.record)
        return Record(reading, content, named, bus.record_key(owner, opened.record, content))
    when = opened.values.get("createdTime")
    facts = f"{reading.ty} {reading.ts} {when}\n".encode()
    return Record(reading, content, None, bus.record_key(owner, "", facts + content))
