"""The values of one object of a payload, read by key: each used value by the rule for its kind; and the header's."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from tripline.wire.device import values as device_values
from tripline.wire.device.kinds import Item
from tripline.wire.device.values import Place

PARKING: Final = 2
"""Value of `try`."""
FARTHEST_M: Final = 1e9
"""Longer distances are not believed (D9): a million kilometres is more than a vehicle drives in its life."""
HERE: Final = (("lat", "lon"),)


class Header(msgspec.Struct, gc=False):
    """The header fields shared by the items of a message."""

    ts: int | None
    """`ts` as sent, when it is a whole number."""
    time_ms: int | None
    """`ts` when it is a valid instant."""
    shared_ms: int
    """The time of items without a time of their own (T3)."""
    parking: bool
    received_ms: int


class Fields:
    """An object of a payload. A value that is absent or unusable is None."""

    __slots__ = ("item", "received_ms", "sent")

    def __init__(self, item: Item, received_ms: int) -> None:
        self.item = item
        self.received_ms = received_ms
        self.sent: Callable[[str], Any] = item.get

    def trip_number(self) -> int | None:
        """`tid`, else `tripId` (I5)."""
        sent, other = self.sent("tid"), self.sent("tripId")
        tid = device_values.whole(sent)
        return device_values.whole(other) if tid is None else tid

    def kind(self) -> int | None:
        """`try`: `PARKING` or driving (D25)."""
        return device_values.whole(self.sent("try"))

    def speed_kmh(self) -> float | None:
        """The number of `sp`, or of its text with a unit."""
        return device_values.real(device_values.speed_kmh(self.sent("sp")))

    def distance(self) -> float | None:
        """The metres of `dis` when they can be a trip's (D9)."""
        metres = device_values.real(self.sent("dis"))
        return metres if metres is not None and 0 < metres <= FARTHEST_M else None

    def instant(self, *keys: str) -> int | None:
        """The first valid time (T1, T2), epoch ms."""
        sent = [self.sent(key) for key in keys]
        read = (device_values.instant(value, self.received_ms) for value in sent)
        return next((at_ms for at_ms in read if at_ms is not None), None)

    def place(self, names: Sequence[Sequence[str]] = HERE, *, any_case: bool = False) -> Place | None:
        """The first valid position (P1) under these names of latitude and longitude, in lower case if `any_case`."""
        sent = {key.lower(): value for key, value in self.item.items()}.get if any_case else self.sent
        read = (device_values.position(sent(lat), sent(lon)) for lat, lon in names)
        return next((place for place in read if place), None)

    def manoeuvres(self) -> int:
        """The flags of `em`, or -1 (E1)."""
        return device_values.manoeuvres(self.sent("em"))


class Noted(Fields):
    """An object that notes the keys that are read."""

    __slots__ = ("read",)

    def __init__(self, item: Item, received_ms: int) -> None:
        super().__init__(item, received_ms)
        self.read: set[str] = set()
        self.sent = self._sent

    def _sent(self, key: str) -> Any:
        self.read.add(key)
        return self.item.get(key)
