"""Maps: finding the roads of drives, naming places, showing tiles, and managing the stored maps.

Not here: the records about maps and imports (`domain/maps.py`).
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from tripline.domain.maps import Bounds, Maps, Standing
from tripline.ports.outages import Outage
from tripline.scoring.rules import Column

if TYPE_CHECKING:
    # They bring numpy, which no process needs that has nothing to score.
    from tripline.roads.located import Located
    from tripline.scoring.drives import Drives


class RoadsOutage(Outage):
    """A map or server that the roads of these trips depend on is away. Other trips can still be scored."""


class LostMap(NamedTuple):
    """An imported map that cannot be read."""

    name: str
    why: str


class RoadServer(NamedTuple):
    """The state of a server that finds roads."""

    trouble: str = ""
    """Why it cannot be used, one sentence; empty: it answers."""

    @classmethod
    def asked(cls, reach: Callable[[], None]) -> "RoadServer":
        """Check the server with `reach`, which acts as `RoadMatcher.reach`."""
        try:
            reach()
        except RoadsOutage as outage:
            return cls(str(outage))
        return cls()


class Spot(NamedTuple):
    """A vehicle at a moment."""

    time_ms: int
    lat: float
    lon: float
    heading_deg: float | None
    """From true north, clockwise; None: unknown, as of a vehicle that stands."""
    column: Column
    """The kind of vehicle; a road may have a limit of its own for it."""


class RoadHere(NamedTuple):
    """The road at a spot."""

    name: str
    """Its number and name; empty if it has neither."""
    limit_kmh: float


class RoadMatcher(Protocol):
    """Finds the roads that trips were driven on, and the limits there."""

    @property
    def has_maps(self) -> bool:
        """True with at least one map. Cheap."""

    def located(self, drives: "Drives") -> "Located":
        """The drives with the road and the limit of each sample. Takes milliseconds; called on any thread.

        Raises `RoadsOutage` while a map or server for one of the drives is away. After some minutes it stops waiting
        and answers without it.
        """

    def road_at(self, spot: Spot) -> RoadHere | None:
        """The road at the spot by our maps; None where its limit is unknown or roads with other limits are as likely.

        Takes a millisecond; called on any thread.
        """

    def lost(self) -> Sequence[LostMap]:
        """The maps that it cannot read, sorted by name. Takes milliseconds; called on any thread."""

    def reach(self) -> None:
        """Check the server that finds roads, if there is one. Takes seconds; called on any thread.

        Raises `RoadsOutage` when it cannot be used, with a sentence that does not name its address.
        """


class Point(NamedTuple):
    """A point on the ground, degrees."""

    lat: float
    lon: float


class PlaceName(NamedTuple):
    """The names of a point on the map."""

    road: str
    """Number and name of the nearest named road; empty: none is near."""
    place: str
    """The settlement or district; empty: none is near."""


class PlaceNames(Protocol):
    """Names coordinates by roads and places."""

    def named(self, points: Sequence[Point], *, language: str) -> list[PlaceName]:
        """The names of each point, for readers of a language. Takes milliseconds for a page; called on any thread."""


class MapTile(NamedTuple):
    """A vector tile (MVT)."""

    version: str
    """The version of the whole map. Another version may have another tile at this place."""
    body: bytes
    packed: bool
    """True when the body is compressed with gzip."""


class BaseMapView(NamedTuple):
    """The base map as a whole."""

    version: str
    """Changes when any tile may have changed."""
    bounds: Bounds | None
    """None: no map."""
    least_zoom: int
    most_zoom: int
    attribution: str
    """Attribution to show beside it, plain text."""


NO_MAP: Final = BaseMapView("0", None, 0, 0, "")
"""The answer of `BaseMap.shown` without a map."""


class BaseMap(Protocol):
    """The tiles of the map on pages. Called on the event loop, and quick."""

    def shown(self) -> BaseMapView:
        """The present map."""

    async def tile(self, zoom: int, column: int, row: int) -> MapTile | None:
        """The tile at this place; None where the map has none. `column` and `row` are between 0 and 2^zoom - 1."""

    def unpacked(self, tile: MapTile) -> bytes:
        """The uncompressed body of a tile. Raises `Outage` when it is damaged."""


class MapArrival(Protocol):
    """A map file that is being uploaded. Its methods raise `BadMapFile`, `ImportCancelled`, `MapsBusy`, `OSError`."""

    async def write(self, piece: bytes) -> None:
        """Append a piece of the file."""

    async def finish(self) -> Standing:
        """Say that the file is complete. Its import starts when this upload's context ends."""


class MapKeeper(Protocol):
    """Stores and imports the maps of this installation. Every method raises `Outage`."""

    most_bytes: int
    """Of a file."""

    async def maps(self) -> Maps:
        """All maps, and the running or unfinished import."""

    def arrival(self, name: str, *, country: str) -> AbstractAsyncContextManager[MapArrival]:
        """A context that receives the file of an area. Without `finish` the file is discarded."""

    async def go_on(self, name: str) -> Standing:
        """Resume an unfinished import. Raises `NothingToContinue`, `MapsBusy`."""

    async def cancel(self, name: str) -> None:
        """End the import of an area, or forget one that ended; the former map stays. Raises `NotFound`, `MapsBusy`."""

    async def remove(self, name: str) -> None:
        """Remove the map of an area and its unfinished import. Raises `NotFound`, `MapsBusy`."""

    async def run(self) -> None:
        """Import the files that were uploaded, one after the other, until cancelled."""
