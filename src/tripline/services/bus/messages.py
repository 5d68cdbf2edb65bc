"""A customer's message on its way through a batch: as it came, read, and refused.

Not here: the reading itself (`wire/bus_read.py`), what is done with it (`placing.py`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TypeAlias

from tripline.domain import bus
from tripline.domain.ids import CompanyId, SensorId
from tripline.wire import bus_payloads, bus_read
from tripline.wire.bus_read import Kind, Opened
from tripline.wire.readings import Event, LatestValues, Microtrip, Rejected, Trip

Usable: TypeAlias = Microtrip | Trip | Event | LatestValues


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """A message as it came."""

    topic: str
    body: bytes
    kind: Kind | None
    """What its topic carries as a rule."""
    company_id: CompanyId | None = None
    """The only company that can write to its topic."""
    partition: int | None = None
    offset: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Refused:
    """A message, or some part of it, that cannot be used."""

    message: Message
    rejected: Rejected
    sensor_id: SensorId | None = None
    """The sensor, when the message comes from its owner."""


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One reading with what tells a second delivery of it."""

    reading: Usable
    content: bytes
    """Its payload without white space between the values."""
    by_name: int | None
    """Its number by what the customer calls it; None: it has no name."""
    by_content: int
    """Its number by its content."""


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A message whose payload was read."""

    message: Message
    opened: Opened
    records: Sequence[Record]
    left_out: Sequence[Rejected]
    """What is wrong with it, or with some of its elements."""


@dataclass(frozen=True, slots=True, eq=False)
class Headed:
    """A device's own message, from its sensor's owner (4.14)."""

    message: Message
    sensor_id: SensorId
    company_id: CompanyId
    """The owner."""
    body: bytes
    """As the device would send it."""


@dataclass(slots=True)
class Outcome:
    """What became of a batch."""

    counts: Counter[str] = field(default_factory=Counter)
    """How many of each kind were stored, and how many were `duplicate`."""
    refused: list[Refused] = field(default_factory=list)
    """What could not be used; it is in the rejected-message log."""
    reasons: Counter[str] = field(default_factory=Counter)
    """How many could not be used, by reason, where who asks counts them."""

    headed: list[Headed] = field(default_factory=list)
    """What is a device's own and was not taken in yet."""

    def add(self, other: "Outcome") -> None:
        """Both together."""
        self.counts += other.counts
        self.refused += other.refused
        self.headed += other.headed


def read(message: Message, opened: Opened, *, sensor_type: str, zone: tzinfo, received_ms: int, max_items: int) -> Read:
    """The message with its payload read; `sensor_type` is the registered one."""
    readings = bus_read.readings(
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
