"""Drives along ways of the shipped extract, named by their ids, and on which way each of their samples is."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product

import numpy as np
from evaluation.road_drives import World
from evaluation.roads import MAP

from tests.support import made_roads
from tripline.roads import matcher
from tripline.scoring.drives import Drives

Place = tuple[int, int]
"""Latitude and longitude in units."""
Step = tuple[Place, Place, int]
"""From, to, way."""
Degrees = tuple[float, float]
"""Latitude and longitude."""
NOISE_M = 5.0
NEAR_S = 3
"""So near a change of way either counts: noise moves it."""
_SHARP = 0.6
"""Radians; whoever turns by more has slowed down."""


@cache
def world() -> World:
    """The extract, read once."""
    return World.of(MAP)


@dataclass
class Driven:
    """A drive, one sample a second."""

    drives: Drives
    way: list[int | None]
    """Of each sample; None: off the roads."""
    near: list[set[int | None]]
    """What may be found of each sample: its way, and those up to `NEAR_S` seconds before and behind it."""

    def mistakes(self) -> list[tuple[int, int | None, int | None]]:
        """Samples that are found on another way: which one, its way, the one that is found."""
        seen = enumerate(zip(self.way, self.found(), self.near, strict=True))
        return [(at, way, found) for at, (way, found, near) in seen if found not in near]

    def found(self) -> list[int | None]:
        """The way of each sample, as the matcher finds it."""
        index = world().index
        return [None if road < 0 else int(index.link[road]) for road in matcher.matched(index, self.drives).road]

    def backward(self) -> list[bool]:
        """Whether each sample is driven against the line of its way, as the matcher finds it."""
        return [bool(each) for each in matcher.matched(world().index, self.drives).backward]

    def begin(self) -> Degrees:
        """Where the first sample is."""
        return float(self.drives.lat[0]), float(self.drives.lon[0])

    def end(self) -> Degrees:
        """Where the last sample is."""
        return float(self.drives.lat[-1]), float(self.drives.lon[-1])

    def part(self, first: int, last: int) -> "Driven":
        """These seconds alone."""
        return self._some(list(range(first, last)))

    def aside(self, metres: float) -> "Driven":
        """The same so far to the right, on no road."""
        lat, lon = self.drives.lat, self.drives.lon
        north, east = float(lat[-1] - lat[0]), float(lon[-1] - lon[0]) * _NARROW
        across = np.array([-east, north]) / np.hypot(north, east) * metres / made_roads.METRES
        moved = made_roads.some(self.drives, np.arange(lat.size))
        moved.lat[:], moved.lon[:] = lat + across[0], lon + across[1] / _NARROW
        return _driven(moved, [None] * lat.size)

    def _some(self, samples: list[int]) -> "Driven":
        kept = made_roads.some(self.drives, np.array(samples))
        return Driven(kept, [self.way[at] for at in samples], [self.near[at] for at in samples])

    def without(self, first: int, last: int) -> "Driven":
        """The same without the samples of these seconds."""
        return self._some([at for at in range(len(self.way)) if not first <= at < last])


def driven(*ways: int, mps: float = 13.0, noise_m: float = NOISE_M, seed: int = 1, back: bool = False) -> Driven:
    """A drive along these ways, from the far end of the first to that of the last; `back`: the other way round."""
    return along(steps(*ways, back=back), mps=mps, noise_m=noise_m, seed=seed)


def steps(*ways: int, back: bool = False) -> list[Step]:
    """The way from vertex to vertex, as the ways may be driven."""
    onward: dict[Place, list[tuple[Place, int]]] = {}
    ends: dict[int, tuple[Place, Place]] = {}
    for way in ways:
        line, direction = _line(way)
        ends[way] = line[0], line[-1]
        for one, other in pairwise(line):
            if direction >= 0:
                onward.setdefault(one, []).append((other, way))
            if direction <= 0:
                onward.setdefault(other, []).append((one, way))
    routes = [_shortest(onward, *pair) for pair in product(ends[ways[0]], ends[ways[-1]])]
    whole = [route for route in routes if {way for _, _, way in route} == set(ways)]
    return sorted(whole, key=_metres)[-2 if back and len(ways) == 1 else -1]


def along(route: Sequence[Step], *, mps: float = 13.0, noise_m: float = NOISE_M, seed: int = 1) -> Driven:
    """A drive along a route at this speed, slower where it turns."""
    north, east = (np.array(column) for column in zip(*(_place(step[0]) for step in route), strict=True))
    last = _place(route[-1][1])
    north, east = np.append(north, last[0]), np.append(east, last[1])
    lengths = np.hypot(np.diff(north), np.diff(east))
    ends = np.append(0.0, np.cumsum(lengths))
    heading = np.unwrap(np.arctan2(np.diff(east), np.diff(north)))
    corners = ends[1:-1][np.abs(np.diff(heading)) > _SHARP]
    done, speeds = [0.0], []
    while done[-1] < ends[-1]:
        far = np.abs(corners - done[-1]).min() if corners.size else np.inf
        speeds.append(min(mps, 4.0 + far / 4))
        done.append(done[-1] + speeds[-1])
    at = np.array(done[:-1])
    of_edge = np.minimum(np.searchsorted(ends, at, side="right") - 1, len(route) - 1)
    chance = np.random.default_rng(seed)
    y = np.interp(at, ends, north) + chance.normal(0, noise_m, at.size)
    x = np.interp(at, ends, east) + chance.normal(0, noise_m, at.size)
    return _driven(_drives(y, x, np.array(speeds)), [route[edge][2] for edge in of_edge])


def joined(*parts: Driven) -> Driven:
    """One drive behind the other, without a pause."""
    columns = {
        name: np.concatenate([getattr(part.drives, name) for part in parts]) for name in ("lat", "lon", "speed_kmh")
    }
    north, east = columns["lat"] * made_roads.METRES, columns["lon"] * made_roads.METRES * _NARROW
    return _driven(_drives(north, east, columns["speed_kmh"] / 3.6), [way for part in parts for way in part.way])


def straight(begin: Degrees, end: Degrees, *, mps: float = 13.0, noise_m: float = NOISE_M) -> Driven:
    """A drive on no road from one place to another."""
    north, east = (end[0] - begin[0]) * made_roads.METRES, (end[1] - begin[1]) * made_roads.METRES * _NARROW
    size = max(2, int(np.hypot(north, east) / mps))
    share, chance = np.linspace(0, 1, size), np.random.default_rng(2)
    y = begin[0] * made_roads.METRES + share * north + chance.normal(0, noise_m, size)
    x = begin[1] * made_roads.METRES * _NARROW + share * east + chance.normal(0, noise_m, size)
    return _driven(_drives(y, x, np.full(size, mps)), [None] * size)


_NARROW = float(np.cos(np.radians(47.15)))
"""All of the extract is near this latitude."""


def _driven(drives: Drives, way: list[int | None]) -> Driven:
    return Driven(drives, way, [set(way[max(at - NEAR_S, 0) : at + NEAR_S + 1]) for at in range(len(way))])


def _line(way: int) -> tuple[list[Place], int]:
    index = world().index
    (road,) = np.flatnonzero(index.link == way)
    own = index.road == road
    return list(zip(index.lat[own].tolist(), index.lon[own].tolist(), strict=True)), int(index.one_way[road])


def _shortest(onward: dict[Place, list[tuple[Place, int]]], begin: Place, end: Place) -> list[Step]:
    queue: list[tuple[float, Place]] = [(0.0, begin)]
    best: dict[Place, tuple[float, Step | None]] = {begin: (0.0, None)}
    while queue:
        metres, place = heapq.heappop(queue)
        for other, way in onward.get(place, []):
            step = place, other, way
            total = metres + _metres([step])
            if other not in best or total < best[other][0]:
                best[other] = total, step
                heapq.heappush(queue, (total, other))
    route: list[Step] = []
    while end in best and (step := best[end][1]):
        route.append(step)
        end = step[0]
    return route[::-1]


def _place(place: Place) -> tuple[float, float]:
    """Metres north and east."""
    return place[0] / 1e7 * made_roads.METRES, place[1] / 1e7 * made_roads.METRES * _NARROW


def _metres(route: Sequence[Step]) -> float:
    return sum(float(np.hypot(*np.subtract(_place(one), _place(other)))) for one, other, _ in route)


def _drives(north: np.ndarray, east: np.ndarray, mps: np.ndarray) -> Drives:
    own = made_roads.drives([(0, 0), (north.size * 14.0, 0)])
    sized = made_roads.some(own, np.arange(north.size))
    sized.lat[:], sized.lon[:] = north / made_roads.METRES, east / made_roads.METRES / _NARROW
    sized.speed_kmh[:] = mps * 3.6
    return sized
