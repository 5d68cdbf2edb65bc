"""Roads and limits by imported maps (`ports.maps.RoadMatcher`).

A call uses the maps that it began with (`open_maps.py`). A map that cannot be read delays the trips within its bounds
for a time; then they are matched without it, and their quality records that (`area:lost`).

Another matcher may find the driven ways (`roads_valhalla.py`). The roads and limits of these ways come from our maps,
too.
"""

import datetime
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from tripline.adapters.maps import stamps
from tripline.adapters.maps.open_maps import CurrentMaps, OpenMap, OpenMaps
from tripline.domain.maps import Bounds
from tripline.later import Later
from tripline.ports.maps import LostMap, RoadHere, RoadsOutage, Spot
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import Rules

if TYPE_CHECKING:
    import numpy as np

    from tripline.adapters.maps import files as map_files
    from tripline.adapters.maps.roads_valhalla import Valhalla
    from tripline.roads import doubt, likely, limited, located, matcher, ways
    from tripline.roads.index import RoadIndex
    from tripline.roads.located import Located, Road
    from tripline.roads.matcher import Matches, Trace
    from tripline.roads.ways import Ways
    from tripline.scoring import drives as of_trips
    from tripline.scoring.drives import Drives, Flags, Ints
else:
    # A process that has no maps, or nothing to score, needs none of these.
    np = Later("numpy")
    map_files = Later("tripline.adapters.maps.files")
    doubt = Later("tripline.roads.doubt")
    likely = Later("tripline.roads.likely")
    limited = Later("tripline.roads.limited")
    located = Later("tripline.roads.located")
    matcher = Later("tripline.roads.matcher")
    ways = Later("tripline.roads.ways")
    of_trips = Later("tripline.scoring.drives")

PATIENCE_S: Final = 600.0
"""How long trips wait for a map that cannot be read."""
LOST: Final = "lost"
"""The version of a map that could not be read."""


class Answers(NamedTuple):
    """Another matcher's result."""

    ways: "Ways"
    told: "Flags"
    """For each trip, true if that matcher has a result; our own matcher takes the others."""
    maps: Sequence[tuple[str, ...]]
    """For each trip, that matcher's entries in its quality, in addition to the maps."""


class OsmRoads:
    """Implements `ports.maps.RoadMatcher`. One for each process."""

    def __init__(
        self,
        folder: Path,
        *,
        zone: ZoneInfo,
        monotonic: Callable[[], float] = time.monotonic,
        asked: "Valhalla | None" = None,
    ) -> None:
        """`asked`: who says which ways were driven; None: our own matcher finds the roads."""
        self._folder = folder
        self.open_maps = OpenMaps(folder, monotonic=monotonic)
        """The maps, for other readers of this process."""
        self._asked = asked
        self._zone = zone
        """Time zone of limits that depend on the time of day."""
        self._monotonic = monotonic

    @property
    def has_maps(self) -> bool:
        return bool(stamps.stamp(self._folder))

    def located(self, drives: "Drives") -> "Located":
        count = drives.time_ms.size
        limit_kmh, road = np.full(count, np.nan), np.full(count, -1, np.int32)
        source = np.full(count, LimitSource.NONE, np.int8)
        trip = drives.trips
        roads: list[Road] = []
        maps: list[tuple[str, ...]] = [()] * len(drives)
        found_maps = self.open_maps.now()
        for gone in found_maps.lost:
            for at in np.unique(trip[_within(gone.bounds, drives)]).tolist():
                if self._monotonic() - gone.since_s < PATIENCE_S:
                    raise RoadsOutage(str(gone.error)) from gone.error
                maps[at] = (*maps[at], f"{gone.error.name}:{LOST}")
        paced = matcher.paced(drives, Rules())
        answers = self._answers(paced, found_maps)
        for each in found_maps.known:
            near = np.unique(trip[_within(each.area.bounds, drives) & (road < 0)])
            if not near.size:
                continue
            samples, own = _of(paced, near)
            trace = matcher.trace_of(own)
            found = _matched(each.arrays, own, trace, near, answers)
            # The limit comes from the map under either matcher, so both score a trip alike (docs/decisions/312).
            offset_ms = self._offsets(own)
            told = limited.limits_of(each.arrays, each.texts, own, found, offset_ms=offset_ms)
            told = doubt.given(each.arrays, each.texts, own, trace, found, told, offset_ms=offset_ms)
            fresh = (found.road >= 0) & (road[samples] < 0)
            taken = samples[fresh]
            limit_kmh[taken], source[taken] = told.kmh[fresh], told.source[fresh]
            known, numbers = np.unique(found.road[fresh], return_inverse=True)
            road[taken] = numbers + len(roads)
            roads += [_road(each, number) for number in known.tolist()]
            for at in np.unique(trip[taken]).tolist():
                maps[at] = (*maps[at], f"{each.area.name}:{each.area.map}")
        if answers is not None:
            maps = [(*own_maps, *beside) for own_maps, beside in zip(maps, answers.maps, strict=True)]
        return located.Located(replace(drives, limit_kmh=limit_kmh, limit_source=source, road=road), roads, maps)

    def road_at(self, spot: Spot) -> RoadHere | None:
        """The likeliest road, if the map knows its limit and every other likely road has the same one."""
        if not self.has_maps:
            return None
        offset_ms = self._offset(spot.time_ms)
        found = [
            each
            for known in self.open_maps.now().known
            if known.area.bounds.south <= spot.lat <= known.area.bounds.north
            and known.area.bounds.west <= spot.lon <= known.area.bounds.east
            for each in likely.roads(known.arrays, known.texts, **spot._asdict(), offset_ms=offset_ms)
        ]
        best = min(found, key=lambda each: each.cost, default=None)
        if best is None or best.limit_kmh is None:
            return None
        near = (each for each in found if each.cost <= best.cost + likely.DOUBT)
        return RoadHere(best.name, best.limit_kmh) if all(each.limit_kmh == best.limit_kmh for each in near) else None

    def lost(self) -> Sequence[LostMap]:
        if not self.has_maps:
            return ()
        return [LostMap(each.name, each.why) for each in map_files.lost(self._folder)]

    def reach(self) -> None:
        if self._asked is not None:
            self._asked.reach()

    def _answers(self, drives: "Drives", found_maps: CurrentMaps) -> Answers | None:
        """The other matcher's result for the trips on any map; None without such a matcher."""
        if self._asked is None:
            return None
        on_map = np.zeros(drives.time_ms.size, np.bool_)
        for each in found_maps.known:
            on_map |= _within(each.area.bounds, drives)
        return self._asked(drives, np.unique(drives.trips[on_map]))

    def _offsets(self, drives: "Drives") -> "Ints":
        """How far local time is ahead at the beginning of each trip, ms."""
        begun = [
            int(drives.time_ms[start]) if start < end else 0
            for start, end in itertools.pairwise(drives.starts.tolist())
        ]
        return np.array([self._offset(at_ms) for at_ms in begun], np.int64)

    def _offset(self, at_ms: int) -> int:
        # Device clocks may give any year; the time zone database ends at the latest one.
        at = datetime.datetime.fromtimestamp(min(max(at_ms, 0), _LATEST_MS) / 1_000, self._zone)
        return round((at.utcoffset() or datetime.timedelta()).total_seconds()) * 1_000


_LATEST_MS: Final = 4_102_444_800_000
"""The year 2100."""


def _within(bounds: Bounds, drives: "Drives") -> "Flags":
    west, south, east, north = bounds
    return (drives.lat >= south) & (drives.lat <= north) & (drives.lon >= west) & (drives.lon <= east)


class _Own(NamedTuple):
    """Some trips alone."""

    samples: "Ints"
    """Where their samples stand among all."""
    drives: "Drives"


def _of(drives: "Drives", trips: "Ints") -> _Own:
    begins, ends = drives.starts[trips], drives.starts[trips + 1]
    samples = np.concatenate([np.arange(begin, end) for begin, end in zip(begins, ends, strict=True)])
    own = of_trips.Drives(
        starts=np.append(0, np.cumsum(ends - begins)),
        time_ms=drives.time_ms[samples],
        lat=drives.lat[samples],
        lon=drives.lon[samples],
        speed_kmh=drives.speed_kmh[samples],
        em=None,
        limit_kmh=None,
        column=drives.column[trips],
        obd=drives.obd[trips],
        stated_m=drives.stated_m[trips],
    )
    return _Own(samples, own)


def _matched(index: "RoadIndex", own: "Drives", trace: "Trace", trips: "Ints", answers: Answers | None) -> "Matches":
    """Match the trips `own`; `trips` are their indices in `answers`."""
    if answers is None:
        return matcher.matched(index, own, trace)
    return ways.matched(index, own, trace, answers.ways.of(trips), answers.told[trips])


def _road(of: OpenMap, road: int) -> "Road":
    return located.Road(str(of.arrays.link[road]), int(of.arrays.rank[road]), of.texts.names[of.arrays.name[road]])
