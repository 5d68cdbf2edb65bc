"""A customer's message on its way through a batch: as it came, read, and refused.

Not here: the reading itself (`wire/bus/reader.py`), what is done with it (`placement.py`).
"""

from collections import Counter
from collections.abc import Sequence
from datetime import tzinfo
from typing import TypeAlias

import msgspec

from tripline.domain import bus
from tripline.domain.ids import CompanyId, SensorId
from tripline.wire.bus import payloads as bus_payloads
from tripline.wire.bus import reader as bus_reader
from tripline.wire.bus.reader import Kind, Opened
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Rejected, Trip

Usable: TypeAlias = Microtrip | Trip | DeviceEvent | LatestValues


class Message(msgspec.Struct, frozen=True, eq=False):
    """A message as it came."""

    topic: str
    body: bytes
    kind: Kind | None
    """What its topic carries as a rule."""
    company_id: CompanyId | None = None
    """The only company that can write to its topic."""
    partition: int | None = None
    offset: int | None = None


class Refused(msgspec.Struct, frozen=True, eq=False):
    """A message, or some part of it, that cannot be used."""

    message: Message
    rejected: Rejected
    sensor_id: SensorId | None = None
    """The sensor, when the message comes from its owner."""


class Record(msgspec.Struct, frozen=True, eq=False):
    """One reading with what tells a second delivery of it."""

    reading: Usable
    content: bytes
    """Its payload without white space between the values."""
    by_name: int | None
    """Its number by what the customer calls it; None: it has no name."""
    by_content: int
    """Its number by its content."""


class Read(msgspec.Struct, frozen=True, eq=False):
    """A message whose payload was read."""

    message: Message
    opened: Opened
    records: Sequence[Record]
    left_out: Sequence[Rejected]
    """What is wrong with it, or with some of its elements."""


class Headed(msgspec.Struct, frozen=True, eq=False):
    """A device's own message, from its sensor's owner (4.14)."""

    message: Message
    sensor_id: SensorId
    company_id: CompanyId
    """The owner."""
    body: bytes
    """As the device would send it."""


class Outcome(msgspec.Struct):
    """What became of a batch."""

    counts: Counter[str] = msgspec.field(default_factory=Counter)
    """How many of each kind were stored, and how many were `duplicate`."""
    refused: list[Refused] = msgspec.field(default_factory=list)
    """What could not be used; it is in the rejected-message log."""
    reasons: Counter[str] = msgspec.field(default_factory=Counter)
    """How many could not be used, by reason, when the caller counts them."""

    headed: list[Headed] = msgspec.field(default_factory=list)
    """What is a device's own and was not taken in yet."""

    def add(self, other: "Outcome") -> None:
        """Both together."""
        self.counts += other.counts
        self.refused += other.refused
        self.headed += other.headed


def read(message: Message, opened: Opened, *, sensor_type: str, zone: tzinfo, received_ms: int, max_items: int) -> Read:
    """The message with its payload read; `sensor_type` is the registered one."""
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
    # A microtrip is found among those of its trip, an event among those of its sensor.
    owner = opened.trip_id or opened.sensor_id if isinstance(reading, Microtrip) else opened.sensor_id
    if opened.record is not None:
        named = bus.record_key(owner, opened.record)
        return Record(reading, content, named, bus.record_key(owner, opened.record, content))
    when = opened.values.get("createdTime")
    facts = f"{reading.ty} {reading.ts} {when}\n".encode()
    return Record(reading, content, None, bus.record_key(owner, "", facts + content))
