"""Outages: something that we need is away. Every port may raise them."""

from enum import Enum


class Outage(Exception):  # noqa: N818  a state of the world, not an error of ours
    """Something we need is away (store, bus, carrier). Retried, counted, 503; never a false acknowledgement."""


class Fault(Enum):
    """What is wrong with a store that cannot be used."""

    AWAY = "away"
    """It is not reached, or others hold it."""
    FULL = "full"
    """Its disk has no room."""
    READ_ONLY = "read-only"
    """It takes no writes."""
    DISK = "disk error"
    """Its disk does not read or write."""
    DAMAGED = "damaged"
    """What is on its disk is not what was written. It does not mend itself."""


class StoreOutage(Outage):
    """The store cannot be used."""

    def __init__(self, fault: Fault, text: str) -> None:
        super().__init__(text)
        self.fault = fault
