"""Drives along the roads of a map, with the road of every second known; and noise to make them like a receiver's.

Here too: the cases that every matcher is judged on. Not here: judging (`roads.py`).
"""

import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np

from tripline.adapters.maps import osm_file
from tripline.roads import doubt, limited, matcher
from tripline.roads.index import METRES as UNIT_M
from tripline.roads.index import UNITS, RoadIndex, Texts
from tripline.roads.limited import Sources
from tripline.roads.matcher import Matches
from tripline.scoring.drives import Drives, Flags, Floats, Ints
from tripline.scoring.rules import Column

BEGIN_MS: Final = 1_767_225_600_000
METRES_PER_DEGREE: Final = 111_195.08
_SPEED_UP: Final = 1.6
_SLOW_DOWN: Final = 2.2
"""m/s2."""
_CORNER_MPS: Final = 5.0
_PAUSES: Final = 0.01
"""How often a vehicle stands at a node."""
NOISES_M: Final = (5, 10, 15)
INTERVALS_S: Final = (1, 2, 3, 5)
METRES: Final = 15_000.0
"""Of a drive."""
KINDS: Final = {
    "white": "each error for itself",
    "drift": "errors that drift: after 30 s 1/e of one is left",
    "tunnel": "as white, and twice in a drive no positions for half a minute to a minute",
    "town": "as drift, twice as far where the limit is 50 km/h or less",
}
DRIFT: Final = 0.967
"""How much of an error that drifts is left after a second."""
MOVING_KMH: Final = 2.0
_TOWN_KMH: Final = 50.0
_TOWN: Final = 2.0
_SHORT_S: Final = (1, 3)
"""Intervals of tunnels and towns."""
_WEIGHTS: Final = {101: 8.0, 102: 8.0, 103: 6.0, 104: 6.0, 107: 3.0, 108: 1.5}


class Edge(NamedTuple):
    """From a vertex to the next or the one before."""

    at: int
    to: int
    road: int
    backward: bool


class Drive(NamedTuple):
    """One sample a second, but for those that a receiver had no position for."""

    second: Floats
    lat: Floats
    lon: Floats
    speed_kmh: Floats
    truth: Matches

    def some(self, kept: Flags) -> "Drive":
        """These seconds alone."""
        return Drive(*(column[kept] for column in self[:4]), Matches(*(column[kept] for column in self.truth)))


class Case(NamedTuple):
    """Drives as a receiver told them, and what they were in truth."""

    kind: str
    """One of `KINDS`."""
    noise_m: int
    interval_s: int
    drives: Drives
    truth: Matches


class Told(NamedTuple):
    """What a matcher tells of each sample."""

    link: Ints
    """-1: no road."""
    limit_kmh: Floats
    """NaN: none that is known."""
    source: Sources
    """`LimitSource`."""


class World:
    """The roads of a map as a network to drive on."""

    @classmethod
    def of(cls, file: Path) -> Self:
        """That of an OpenStreetMap extract."""
        with tempfile.TemporaryDirectory() as scratch:
            return cls(*osm_file.read(file, scratch=Path(scratch), progress=lambda _: None).built(otherwise=""))

    def __init__(self, index: RoadIndex, texts: Texts, *, pace: tuple[float, float] = (0.85, 1.15)) -> None:
        """`pace`: the slowest and the fastest driver, of the limit."""
        self.index, self.texts = index, texts
        self._pace = pace
        place = index.lat.astype(np.int64) * (1 << 32) + index.lon
        self._node = np.unique(place, return_inverse=True)[1].tolist()
        self._out: dict[int, list[Edge]] = defaultdict(list)
        way, side = index.one_way.tolist(), index.side.tolist()
        road = index.road.tolist()
        for vertex in range(len(road) - 1):
            own = road[vertex]
            if road[vertex + 1] != own:
                continue
            if way[own] >= 0:
                self._out[self._node[vertex]].append(Edge(vertex, vertex + 1, own, False))
            if way[own] <= 0:
                self._out[self._node[vertex + 1]].append(Edge(vertex + 1, vertex, own, True))
        ranks = index.rank.tolist()
        self._weight = [0.1 if side[own] else _WEIGHTS[ranks[own]] for own in range(len(ranks))]
        self._starts = [edge for edges in self._out.values() for edge in edges if not side[edge.road]]

    @property
    def strength(self) -> Floats:
        """Of each road how many times as far errors are there, between houses."""
        kmh = [self._kmh(road) for road in range(self.index.link.size)]
        return np.where(np.array(kmh) <= _TOWN_KMH, _TOWN, 1.0)

    def drive(self, seed: int, *, metres: float) -> Drive:
        """A drive of this length, or shorter where the roads end."""
        chance = random.Random(seed)  # noqa: S311  drives, not secrets
        return self._driven(self._route(chance, metres), chance)

    def _route(self, chance: random.Random, metres: float) -> list[Edge]:
        route: list[Edge] = []
        while self._length(route) < metres / 2:
            edge, seen = chance.choice(self._starts), defaultdict(int)
            route = [edge]
            done = self._length(route)
            while done < metres:
                back = self._node[edge.at]
                onward = [each for each in self._out[self._node[edge.to]] if self._node[each.to] != back]
                if not onward:
                    break
                weights = [
                    self._weight[each.road]
                    * (4 if each.road == edge.road else 1)
                    / (1 + 8 * seen[each.at, each.to]) ** 2
                    for each in onward
                ]
                edge = chance.choices(onward, weights)[0]
                seen[edge.at, edge.to] += 1
                route.append(edge)
                done += self._length([edge])
        return route

    def _length(self, route: list[Edge]) -> float:
        lat, lon = self.index.lat, self.index.lon
        total = 0.0
        for edge in route:
            north = float(lat[edge.to]) - float(lat[edge.at])
            east = (float(lon[edge.to]) - float(lon[edge.at])) * np.cos(np.radians(float(lat[edge.at]) / UNITS))
            total += float(np.hypot(north, east)) * UNIT_M
        return total

    def _driven(self, route: list[Edge], chance: random.Random) -> Drive:
        lat, lon = self.index.lat / UNITS, self.index.lon / UNITS
        lengths = np.array([self._length([edge]) for edge in route])
        ends = np.cumsum(lengths)
        target = np.array([self._target_mps(edge) for edge in route]) * chance.uniform(*self._pace)
        headings = np.array(
            [np.arctan2((lon[e.to] - lon[e.at]) * np.cos(np.radians(lat[e.at])), lat[e.to] - lat[e.at]) for e in route]
        )
        turns = np.abs((np.diff(headings) + np.pi) % (2 * np.pi) - np.pi)
        slow = np.append(np.where(turns > 0.7, _CORNER_MPS, np.inf), np.inf)
        pause = np.array([chance.random() < _PAUSES for _ in route])
        rows, at, speed, edge = [], 0.0, float(target[0]), 0
        while edge < len(route):
            e = route[edge]
            share = 1 - (ends[edge] - at) / max(lengths[edge], 1e-9)
            place = lat[e.at] + share * (lat[e.to] - lat[e.at]), lon[e.at] + share * (lon[e.to] - lon[e.at])
            rows.append((*place, speed * 3.6, e.road, e.backward))
            wanted = target[edge]
            for ahead in range(edge, min(edge + 8, len(route))):
                left = max(ends[ahead] - at, 0.0)
                least = min(slow[ahead], 0.0 if pause[ahead] else np.inf, target[min(ahead + 1, len(route) - 1)] * 1.05)
                wanted = min(wanted, np.sqrt(least**2 + 2 * _SLOW_DOWN * left))
            if speed < 0.5 and pause[edge]:
                rows += [(*place, 0.0, e.road, e.backward)] * chance.randint(3, 20)
                pause[edge] = False
                wanted = 3.0
            speed = float(np.clip(wanted, max(speed - 2 * _SLOW_DOWN, 0.3), speed + _SPEED_UP))
            at += speed
            while edge < len(route) and ends[edge] <= at:
                edge += 1
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        truth = Matches(columns[3].astype(np.int64), columns[4].astype(np.bool_))
        return Drive(np.arange(len(rows), dtype=np.float64), *columns[:3], truth)

    def _kmh(self, road: int) -> float:
        """The limit, 40 where there is none."""
        known = self.texts.limits[self.index.limits[road]][0].limit
        return 40.0 if known is None or not known.kmh else known.kmh

    def _target_mps(self, edge: Edge) -> float:
        kmh = min(self._kmh(edge.road), 120.0)
        return (min(kmh, 30.0) if self.index.side[edge.road] else kmh) / 3.6


def told(world: World, drives: Drives, found: Matches, *, is_judged: bool = False) -> Told:
    """Links and limits of samples on these roads. `is_judged`: those that samples over their limits are judged by."""
    zero = np.zeros(len(drives), np.int64)
    limits = limited.limits_of(world.index, world.texts, drives, found, offset_ms=zero)
    if is_judged:
        limits = doubt.given(world.index, world.texts, drives, matcher.trace_of(drives), found, limits, offset_ms=zero)
    return Told(np.where(found.road >= 0, world.index.link[found.road], -1), limits.kmh, limits.source)


def cases(world: World, count: int) -> Iterator[Case]:
    """So many drives along the roads of a world, the same at each call, once for each kind, noise and interval."""
    driven = [world.drive(seed, metres=METRES) for seed in range(count)]
    for kind in KINDS:
        memory = DRIFT if kind in ("drift", "town") else 0.0
        strength = world.strength if kind == "town" else None
        given = [_without_tunnels(each, seed) for seed, each in enumerate(driven)] if kind == "tunnel" else driven
        for noise in NOISES_M:
            for interval in INTERVALS_S if kind in ("white", "drift") else _SHORT_S:
                own = sampled(given, noise_m=noise, interval_s=interval, seed=noise, memory=memory, strength=strength)
                yield Case(kind, noise, interval, *own)


def _without_tunnels(drive: Drive, seed: int) -> Drive:
    """The drive without the seconds in two tunnels."""
    chance = random.Random(seed)  # noqa: S311  drives, not secrets
    kept = np.ones(drive.lat.size, np.bool_)
    for _ in range(2):
        begin = chance.randrange(max(drive.lat.size - 60, 1))
        kept[begin : begin + chance.randint(30, 60)] = False
    return drive.some(kept)


def sampled(
    drives: list[Drive],
    *,
    noise_m: float,
    interval_s: int,
    seed: int,
    memory: float = 0.0,
    strength: Floats | None = None,
) -> tuple[Drives, Matches]:
    """Samples of these drives, and their roads.

    `memory`: how much of an error is left after a second; `strength`: of each road, how many times as far errors are.
    """
    chance = np.random.default_rng(seed)
    thinned = [
        Drive(*(column[::interval_s] for column in drive[:4]), Matches(*(c[::interval_s] for c in drive.truth)))
        for drive in drives
    ]
    sizes: Ints = np.array([drive.lat.size for drive in thinned])
    truth = Matches(*(np.concatenate([getattr(drive.truth, name) for drive in thinned]) for name in Matches._fields))
    second, lat, lon, kmh = (np.concatenate([getattr(drive, name) for drive in thinned]) for name in Drive._fields[:4])
    metres = noise_m if strength is None else noise_m * strength[truth.road]
    north, east = (_errors(chance, second.size, memory**interval_s) * metres / METRES_PER_DEGREE for _ in range(2))
    own = Drives(
        starts=np.append(0, np.cumsum(sizes)),
        time_ms=BEGIN_MS + second.astype(np.int64) * 1_000,
        lat=lat + north,
        lon=lon + east / np.cos(np.radians(lat)),
        speed_kmh=kmh,
        em=None,
        limit_kmh=None,
        column=np.full(len(drives), Column.CAR, np.int8),
        obd=np.zeros(len(drives), np.bool_),
        stated_m=np.full(len(drives), np.nan),
    )
    return own, truth


def _errors(chance: np.random.Generator, count: int, memory: float) -> Floats:
    """Errors of deviation 1."""
    fresh = chance.standard_normal(count)
    if memory:
        for at in range(1, count):
            fresh[at] = memory * fresh[at - 1] + (1 - memory**2) ** 0.5 * fresh[at]
    return fresh
