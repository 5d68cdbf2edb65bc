"""The books of a simulated fleet: messages sent and acknowledged by each vehicle, and records that must be stored.

An acknowledged message must be stored, unless it makes no record (a redelivery, an unreadable body). A message without
an acknowledgement may be stored.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from tripline.simulator.drafts import Kind, Message

COUNTED: Final = (Kind.MICROTRIP, Kind.TRIP, Kind.EVENT)
"""Kinds that can be counted on the platform."""
Stored = Mapping[Kind, int]


class Row(msgspec.Struct):
    """The books of one kind of message."""

    sent: int = 0
    """Publishes, including resent ones."""
    resent: int = 0
    acknowledged: int = 0
    without_record: int = 0
    """Acknowledged messages that make no record."""
    due: int = 0
    """Records that must be stored."""
    maybe: int = 0
    """Records that may also be stored: from unacknowledged messages, or from unrecognised duplicates."""

    def add(self, other: "Row") -> None:
        """Add another vehicle's books."""
        for name in Row.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Ledger(msgspec.Struct):
    """The books of one vehicle, or of many together."""

    rows: dict[Kind, Row] = msgspec.field(default_factory=lambda: {kind: Row() for kind in Kind})
    connections: int = 0
    failure: str | None = None
    """The reason why the device gave up."""

    @property
    def whole(self) -> Row:
        """The books of all kinds together."""
        whole = Row()
        for row in self.rows.values():
            whole.add(row)
        return whole

    def sent(self, message: Message) -> None:
        """Count a publish."""
        again = message.written
        row = self.rows[message.kind]
        row.sent += 1
        row.resent += again
        if message.qos == 0 or (again and not message.recognised):
            row.maybe += message.kept

    def acknowledged(self, message: Message) -> None:
        """Count its PUBACK."""
        row = self.rows[message.kind]
        row.acknowledged += 1
        row.due += message.kept
        row.without_record += not message.kept

    def left(self, message: Message) -> None:
        """Count a message that will not be acknowledged any more."""
        self.rows[message.kind].maybe += message.kept

    def add(self, other: "Ledger") -> None:
        """Add another vehicle's books."""
        for kind, row in other.rows.items():
            self.rows[kind].add(row)
        self.connections += other.connections

    def agrees_with(self, stored: Stored) -> bool:
        """True if every required record is stored, and no impossible one."""
        return all(
            self.rows[kind].due <= stored[kind] <= self.rows[kind].due + self.rows[kind].maybe for kind in COUNTED
        )
