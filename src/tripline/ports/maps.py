"""Maps: telling the roads of drives, showing tiles, and keeping both for their administrator.

Not here: what is known of a map (`domain/maps.py`).
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from tripline.domain.maps import Bounds, Maps, Standing
from tripline.ports.outages import Outage

if TYPE_CHECKING:
    # They bring numpy, which no process needs that has nothing to score.
    from tripline.roads.located import Located
    from tripline.scoring.drives import Drives


class RoadsOutage(Outage):
    """What is to tell roads is away; trips elsewhere can be scored."""


class LostMap(NamedTuple):
    """A map that is to tell roads, and cannot be read."""

    name: str
    why: str


class RoadMatcher(Protocol):
    """Tells on which roads trips were driven, and the limits there."""

    @property
    def has_maps(self) -> bool:
        """Whether it knows any road at all. Cheap."""

    def located(self, drives: "Drives") -> "Located":
        """The drives with what is known of their roads. Takes milliseconds; called on any thread.

        Raises `RoadsOutage` while what would tell the roads of one of them is away: for a time, then it goes without.
        """

    def lost(self) -> Sequence[LostMap]:
        """The maps that it cannot read, by name. Takes milliseconds; called on any thread."""


class MapTile(NamedTuple):
    """A vector tile (MVT)."""

    version: str
    """Of the whole map: another one may have another tile there."""
    body: bytes
    packed: bool
    """Whether the body is packed with gzip."""


class ShownMap(NamedTuple):
    """The base map as a whole."""

    version: str
    """Changes when any tile may have changed."""
    bounds: Bounds | None
    """None: there is no map."""
    least_zoom: int
    most_zoom: int
    attribution: str
    """Whom to name beside it, plain text."""


NO_MAP: Final = ShownMap("0", None, 0, 0, "")
"""What is to see without a map."""


class BaseMap(Protocol):
    """The tiles of a map that pages show. Called on the event loop, and quick."""

    def shown(self) -> ShownMap:
        """What there is to see now."""

    async def tile(self, zoom: int, column: int, row: int) -> MapTile | None:
        """A tile; None: nothing is there. `column` and `row` lie between 0 and 2^zoom - 1."""

    def unpacked(self, tile: MapTile) -> bytes:
        """The body of a tile without packing. Raises `Outage` when it is damaged."""


class MapArrival(Protocol):
    """A map file on its way. Raises `BadMapFile`, `ImportCancelled`, `MapsBusy`, `OSError`."""

    async def write(self, piece: bytes) -> None:
        """Take in a piece."""

    async def finish(self) -> Standing:
        """That was all: it is imported as soon as this arrival ends."""


class MapKeeper(Protocol):
    """Keeps the maps of this installation, for their administrator. All of it raises `Outage`."""

    most_bytes: int
    """Of a file."""

    async def maps(self) -> Maps:
        """The maps, and the import that has not come to a good end."""

    def arrival(self, name: str, *, country: str) -> AbstractAsyncContextManager[MapArrival]:
        """Takes in the file of an area; nothing of it is left unless it was finished."""

    async def go_on(self, name: str) -> Standing:
        """Go on with the import of an area that ended before it was done. Raises `NothingToContinue`, `MapsBusy`."""

    async def cancel(self, name: str) -> None:
        """End the import of an area, or forget one that ended; the former map stays. Raises `NotFound`, `MapsBusy`."""

    async def remove(self, name: str) -> None:
        """Forget the map of an area, and an import of it that ended. Raises `NotFound`, `MapsBusy`."""

    async def run(self) -> None:
        """Import what was taken in, until cancelled."""
