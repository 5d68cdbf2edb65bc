"""Outages: a system that we need is away. Every port may raise them."""

from enum import Enum


class Outage(Exception):  # noqa: N818  a state of the world, not an error of ours
    """A system that we need is away (store, bus, carrier). Retried, counted, 503; never a false acknowledgement."""


class Fault(Enum):
    """Reasons why a store cannot be used."""

    AWAY = "away"
    """It is unreachable, or other processes hold it."""
    FULL = "full"
    """Its disk has no room."""
    READ_ONLY = "read-only"
    """It accepts no writes."""
    DISK = "disk error"
    """Its disk does not read or write."""
    DAMAGED = "damaged"
    """The data on its disk is corrupt. It does not repair itself."""


class StoreOutage(Outage):
    """The store cannot be used."""

    def __init__(self, fault: Fault, text: str) -> None:
        super().__init__(text)
        self.fault = fault
