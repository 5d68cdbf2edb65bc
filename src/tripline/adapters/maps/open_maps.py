"""The imported maps that a process has open, for road limits and names of places.

The list is refreshed at each call, so an import or a removal takes effect with the next trip. Arrays are mapped into
memory, so that processes share them.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tripline.adapters.maps import stamps
from tripline.adapters.maps.stamps import Stamp
from tripline.domain.maps import Bounds
from tripline.later import Later

if TYPE_CHECKING:
    from tripline.adapters.maps import files as map_files
    from tripline.adapters.maps.files import LostAreaError
    from tripline.domain.maps import Area
    from tripline.roads.index import RoadIndex, Texts
else:
    # A process that has no maps, or nothing to score or name, needs none of these.
    map_files = Later("tripline.adapters.maps.files")

_TRIES: Final = 5
"""Reads of the folder before we give up while maps are being removed."""
_WORLD: Final = Bounds(-180.0, -90.0, 180.0, 90.0)


class OpenMap(NamedTuple):
    """An imported map."""

    area: "Area"
    arrays: "RoadIndex"
    texts: "Texts"


class Lost(NamedTuple):
    """A map that cannot be read."""

    error: "LostAreaError"
    bounds: Bounds
    """Its area; the whole world if the bounds cannot be read either."""
    since_s: float
    """When it was first found so."""


class CurrentMaps(NamedTuple):
    """The maps of the folder."""

    stamp: Stamp
    known: list[OpenMap]
    lost: list[Lost]


class OpenMaps:
    """One for each process; used on any thread."""

    def __init__(self, folder: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._monotonic = monotonic
        self._open = CurrentMaps((), [], [])

    def now(self) -> CurrentMaps:
        """The current maps. Milliseconds after a change; cheap otherwise."""
        for tries in range(_TRIES):
            now = stamps.stamp(self._folder)
            # Maps that are missing although the folder did not change are lost; the next call tries them again.
            if now == self._open.stamp and (tries or not self._open.lost):
                break
            self._open = self._opened(now)
        return self._open

    def _opened(self, stamp: Stamp) -> CurrentMaps:
        # Folders never change: an open map need not be opened again.
        before = {each.area: each for each in self._open.known}
        now_s, since_s = self._monotonic(), {each.error.name: each.since_s for each in self._open.lost}
        known, lost = [], []
        for area in map_files.described(self._folder):
            if isinstance(area, map_files.LostAreaError):
                lost.append(Lost(area, _WORLD, since_s.get(area.name, now_s)))
                continue
            try:
                known.append(before.get(area) or OpenMap(area, *map_files.load(self._folder, area)))
            except map_files.LostAreaError as error:
                lost.append(Lost(error, area.bounds, since_s.get(area.name, now_s)))
        return CurrentMaps(stamp, known, lost)
