"""Redeliveries over the bus, and the part of a trip message that its trip keeps (spec/bus-messages 4.11, 4.15, 5).

A customer's trip is identified by the customer's `tripId`. Its states are the usual ones (`trips.py`), but neither
another number nor a new mounting splits it, data after a silence continues it, and a sensor may have several open.
"""

import hashlib
from typing import Final, NamedTuple

import msgspec

SOURCE: Final = "bus"
"""`trip.source` of a trip that customers' messages made; the pipeline of devices leaves it alone."""

_OWNER_BITS: Final = 20
_CONTENT_BITS: Final = 43
"""Together 63: a positive number in a signed column. The records of one owner are adjacent in the index."""
_REMEMBERED: Final = 4
"""Trip messages of one trip that are recognised when redelivered: the one that counts, and its predecessors."""
_DIGEST_BYTES: Final = 4


def record_key(owner: str, record: str, content: bytes = b"") -> int:
    """Return the look-up number of a record, from the customer's id for it and, if given, its content.

    Different records may share a number by chance, so the caller compares the payloads.
    """
    head = hashlib.blake2b(owner.encode(), digest_size=8).digest()
    body = hashlib.blake2b(record.encode() + b"\0" + content, digest_size=8, salt=head).digest()
    return (int.from_bytes(head) >> (64 - _OWNER_BITS) << _CONTENT_BITS) | int.from_bytes(body) >> (64 - _CONTENT_BITS)


def digest(*parts: bytes) -> str:
    """A short text that distinguishes the trip messages of a trip."""
    return hashlib.blake2b(b"\0".join(parts), digest_size=_DIGEST_BYTES).hexdigest()


class Span(NamedTuple):
    """The earliest and the latest sample of a trip, or when it began and ended."""

    first_ms: int
    last_ms: int

    def and_also(self, other: "Span") -> "Span":
        """The span of both."""
        return Span(min(self.first_ms, other.first_ms), max(self.last_ms, other.last_ms))


class TripMessage(msgspec.Struct, frozen=True):
    """The part of a trip message that its trip keeps, besides payload and distance; `trip.message_key` is its text."""

    start_ms: int | None
    """From the message; None: from the samples."""
    end_ms: int | None
    parking: bool
    """True when the message marks the trip as parking."""
    alone: bool
    """True when the trip had no sample yet."""
    digests: tuple[str, ...]
    """Of the message that counts and of its predecessors, newest first."""

    @property
    def text(self) -> str:
        """The encoded form, at most 64 characters."""
        flags = ("p" if self.parking else "") + ("a" if self.alone else "")
        times = (("" if at_ms is None else str(at_ms)) for at_ms in (self.start_ms, self.end_ms))
        return ":".join([f"b{flags}", *times, "".join(self.digests[:_REMEMBERED])])


def told(text: str) -> TripMessage:
    """Parse the encoded form."""
    flags, start, end, digests = text.split(":")
    width = 2 * _DIGEST_BYTES
    return TripMessage(
        start_ms=int(start) if start else None,
        end_ms=int(end) if end else None,
        parking="p" in flags,
        alone="a" in flags,
        digests=tuple(digests[place : place + width] for place in range(0, len(digests), width)),
    )
