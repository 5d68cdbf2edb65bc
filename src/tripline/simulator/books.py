"""The books of a simulated fleet: what each vehicle sent, what was acknowledged, and what must therefore be stored.

An acknowledged message must be stored, unless it is known to make no record (a redelivery, a body that is no message).
A message that was not acknowledged may be stored. Not here: counting what is stored (`office.py`).
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from tripline.simulator.drafts import Kind, Message

COUNTED: Final = (Kind.MICROTRIP, Kind.TRIP, Kind.EVENT)
"""What the platform can be asked for."""
Stored = Mapping[Kind, int]


class Row(msgspec.Struct):
    """The books of one kind of message."""

    sent: int = 0
    """Publishes, those that were sent again among them."""
    resent: int = 0
    acknowledged: int = 0
    without_record: int = 0
    """Acknowledged ones that are known to make no record."""
    due: int = 0
    """Records that must be stored."""
    maybe: int = 0
    """Records that may be stored as well: of messages that nobody acknowledged, or that came twice unrecognised."""

    def add(self, other: "Row") -> None:
        """Add another vehicle's books."""
        for name in Row.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Ledger(msgspec.Struct):
    """The books of one vehicle, or of many together."""

    rows: dict[Kind, Row] = msgspec.field(default_factory=lambda: {kind: Row() for kind in Kind})
    connections: int = 0
    failure: str | None = None
    """Why the device gave up."""

    def sent(self, message: Message) -> None:
        """A publish is on its way."""
        again = message.written
        row = self.rows[message.kind]
        row.sent += 1
        row.resent += again
        if message.qos == 0 or (again and not message.recognised):
            row.maybe += message.kept

    def acknowledged(self, message: Message) -> None:
        """Its PUBACK came."""
        row = self.rows[message.kind]
        row.acknowledged += 1
        row.due += message.kept
        row.without_record += not message.kept

    def left(self, message: Message) -> None:
        """Nobody will acknowledge it any more."""
        self.rows[message.kind].maybe += message.kept

    def add(self, other: "Ledger") -> None:
        """Add another vehicle's books."""
        for kind, row in other.rows.items():
            self.rows[kind].add(row)
        self.connections += other.connections

    def agrees_with(self, stored: Stored) -> bool:
        """Whether everything is stored that must be, and nothing that cannot be."""
        return all(
            self.rows[kind].due <= stored[kind] <= self.rows[kind].due + self.rows[kind].maybe for kind in COUNTED
        )
