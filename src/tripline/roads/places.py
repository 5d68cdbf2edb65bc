"""Places of a map: settlements and their districts, to name coordinates in words.

The table is sorted by kind, then by latitude. Names are UTF-8 in one array, so that a process that names a few
coordinates reads a few pages of it. Coordinates are whole units of 1e-7 degrees.
"""

import itertools
from array import array
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tripline.roads import candidates
from tripline.roads.index import METRES, UNITS, Coordinates, RoadIndex
from tripline.scoring.drives import Floats, Ints

REACH_M: Final = {
    "city": 15_000.0,
    "borough": 4_000.0,
    "town": 5_000.0,
    "suburb": 2_000.0,
    "quarter": 1_000.0,
    "village": 3_000.0,
    "neighbourhood": 600.0,
    "hamlet": 1_200.0,
}
"""How far from its centre a place of each kind may name a point. Of several, the one with the least distance for its
reach counts."""
KINDS: Final = tuple(REACH_M)
"""In the order in which places are stored."""
LANGUAGES: Final = ("", "en", "ko")
"""The names of a place: the local one, then those for readers of these languages."""
MOST_NAME: Final = 100
"""Longest stored name, characters."""
MOST: Final = 250_000
"""Most places of a map."""
MOST_BYTES: Final = 16 << 20
"""Most bytes of all names of a map."""
_AT_ONCE: Final = 256
"""Points compared with places at once."""


class Places(msgspec.Struct, frozen=True):
    """The places of a map."""

    kind_starts: Ints
    """The start of each kind's places, and their number."""
    lat: Coordinates
    lon: Coordinates
    name_starts: Ints
    """The start of each name in `names`, for each place one of each of `LANGUAGES`, and the end of the last."""
    names: NDArray[np.uint8]

    def name(self, place: int, language: str) -> str:
        """The name for readers of a language; if it has none, the local one."""
        first = place * len(LANGUAGES)
        own = first + LANGUAGES.index(language) if language in LANGUAGES else first
        return self._text(own) or self._text(first)

    def _text(self, at: int) -> str:
        begin, end = self.name_starts[at : at + 2].tolist()
        return self.names[begin:end].tobytes().decode()


class Near(NamedTuple):
    """The best place or road for each of some points."""

    number: Ints
    """-1: none."""
    far: Floats
    """How far it is: for a place as a share of its reach, for a road in metres; infinite if there is none."""


class Collector:
    """Collects the places of a map file. If there are too many, the least kinds are left out."""

    def __init__(self, *, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._lat, self._lon, self._kind = array("i"), array("i"), array("b")
        self._names: list[tuple[bytes, ...]] = []
        self._bytes = 0

    def take(self, tags: Mapping[str, str], lat: int, lon: int) -> None:
        """Add a place; anything without a name or of another kind is ignored."""
        kind = tags.get("place", "")
        local = _name(tags, "name")
        if kind not in REACH_M or not local:
            return
        others = (_name(tags, f"name:{language}") for language in LANGUAGES[1:])
        names = (local, *(b"" if each == local else each for each in others))
        self._lat.append(lat)
        self._lon.append(lon)
        self._kind.append(KINDS.index(kind))
        self._names.append(names)
        self._bytes += sum(map(len, names))
        if len(self._names) > 2 * self._most or self._bytes > 2 * self._most_bytes:
            self._shrink()

    def built(self) -> Places:
        """The table of places."""
        self._shrink()
        names = list(itertools.chain.from_iterable(self._names))
        return Places(
            kind_starts=np.searchsorted(np.array(self._kind, np.int8), np.arange(len(KINDS) + 1)).astype(np.int64),
            lat=np.array(self._lat, np.int32),
            lon=np.array(self._lon, np.int32),
            name_starts=np.cumsum([0, *map(len, names)], dtype=np.int64),
            names=np.frombuffer(b"".join(names), np.uint8),
        )

    def _shrink(self) -> None:
        """Sort the places by kind and latitude; drop those beyond the bounds."""
        order = np.lexsort((np.array(self._lat, np.int32), np.array(self._kind, np.int8)))
        sizes = np.array([sum(map(len, names)) for names in self._names], np.int64)[order]
        kept = order[: min(self._most, int(np.searchsorted(np.cumsum(sizes), self._most_bytes, "right")))].tolist()
        self._lat, self._lon = (array("i", [own[at] for at in kept]) for own in (self._lat, self._lon))
        self._kind = array("b", [self._kind[at] for at in kept])
        self._names = [self._names[at] for at in kept]
        self._bytes = sum(len(name) for names in self._names for name in names)


def nearest_places(places: Places, lat: Floats, lon: Floats) -> Near:
    """The place that names each point. `lat`, `lon`: degrees."""
    found = Near(np.full(lat.size, -1, np.int64), np.full(lat.size, np.inf))
    for first in range(0, lat.size, _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        for kind, (begin, end) in enumerate(itertools.pairwise(places.kind_starts.tolist())):
            if begin < end:
                _compare(places, begin, end, REACH_M[KINDS[kind]], (lat[some], lon[some]), found, first)
    return found


def nearest_roads(index: RoadIndex, lat: Floats, lon: Floats) -> Near:
    """The nearest road with a name within `index.REACH_M` of each point. `lat`, `lon`: degrees."""
    found = Near(np.full(lat.size, -1, np.int64), np.full(lat.size, np.inf))
    if index.cells.size:
        near = candidates.nearby(index, lat, lon)
        road = index.road[near.segment].astype(np.int64)
        named = np.flatnonzero(index.name[road])
        _put_best(found, near.point[named], road[named], np.sqrt(near.squared[named]))
    return found


def _compare(
    places: Places, begin: int, end: int, reach_m: float, points: tuple[Floats, Floats], found: Near, first: int
) -> None:
    """Compare points with the places of one kind; write those that are nearer into `found`, from `first` on."""
    own_lat, own_lon = points[0] * UNITS, points[1] * UNITS
    lat = places.lat[begin:end]
    lows = np.searchsorted(lat, own_lat - reach_m / METRES, "left")
    counts = np.searchsorted(lat, own_lat + reach_m / METRES, "right") - lows
    point = np.repeat(np.arange(own_lat.size), counts)
    place = np.arange(point.size) + np.repeat(lows - np.cumsum(counts) + counts, counts)
    north = (lat[place] - own_lat[point]) * METRES
    east = (places.lon[begin:end][place] - own_lon[point]) * METRES * np.cos(np.radians(points[0]))[point]
    share = np.hypot(north, east) / reach_m
    near = np.flatnonzero(share <= 1.0)
    _put_best(found, point[near] + first, place[near] + begin, share[near])


def _put_best(found: Near, point: Ints, number: Ints, far: Floats) -> None:
    """Write the nearest candidate of each point into `found` where it is nearer than before."""
    order = np.lexsort((number, far, point))
    best = order[np.append(True, point[order][1:] != point[order][:-1])[: order.size]]
    best = best[far[best] < found.far[point[best]]]
    found.number[point[best]], found.far[point[best]] = number[best], far[best]


def _name(tags: Mapping[str, str], key: str) -> bytes:
    return tags.get(key, "").strip()[:MOST_NAME].encode()
