"""Bounds the memory of all connections that are not admitted yet, together.

A CONNECT may be long, because of its Will; twenty thousand long ones that never end would fill the memory. Where all of
them hold too much, one that holds most is ended: a device's own CONNECT is short and is not among those.
"""

from typing import Final, Protocol

MAX_HELD: Final = 33_554_432
"""Bytes of CONNECTs, whole or not, and of what came behind them."""
CROWDED_OUT: Final = "crowded_out"
_SIZES: Final = 32


class Arrival(Protocol):
    """A connection that is not admitted yet."""

    def end(self, reason: str) -> None:
        """Close at once."""


class Arrivals:
    """How much each one holds, found by size without looking at all."""

    def __init__(self, limit: int = MAX_HELD) -> None:
        self.limit = limit
        self.held = 0
        self._of: dict[Arrival, int] = {}
        self._by_size: list[dict[Arrival, None]] = [{} for _ in range(_SIZES)]
        """Connections by the length of their size in bits, those that came to it first at the front."""

    def note(self, arrival: Arrival, size: int) -> None:
        """It holds so many bytes now. Ends some that hold most, maybe this one, while all hold too much."""
        self.forget(arrival)
        if size:
            self._of[arrival] = size
            self._by_size[size.bit_length()][arrival] = None
            self.held += size
        while self.held > self.limit:
            largest = next(iter(next(filter(None, reversed(self._by_size)))))
            self.forget(largest)
            largest.end(CROWDED_OUT)

    def forget(self, arrival: Arrival) -> None:
        """It is admitted, or gone."""
        size = self._of.pop(arrival, 0)
        if size:
            del self._by_size[size.bit_length()][arrival]
            self.held -= size
