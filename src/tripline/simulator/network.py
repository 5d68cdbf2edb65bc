"""The roads of an imported map as a network to drive on: routes from junction to junction, and their legs.

A vehicle prefers its current road, then main roads to small ones, and seldom drives a piece twice. It drives by the
limit for cars; limits that apply only at some times are ignored.
"""

import math
import random
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from tripline.roads import limits
from tripline.roads.index import UNITS, RoadIndex, Texts
from tripline.scoring.rules import Column
from tripline.simulator import roads
from tripline.simulator.roads import Leg, Place

WEIGHTS: Final = {101: 8.0, 102: 8.0, 103: 6.0, 104: 6.0, 107: 3.0, 108: 1.5}
"""Preference for a road, by its rank."""
_SIDE_WEIGHT: Final = 0.1
_SAME_ROAD: Final = 4.0
_DRIVEN: Final = 8.0
"""Reduction of the preference for a piece that was already driven."""
_STARTS: Final = 1_000
"""Places tried before a drive starts on a side road."""
_UNKNOWN_KMH: Final = 40.0
"""Speed on roads with an unknown limit."""
_FASTEST_KMH: Final = 120.0
"""Speed on roads without a limit by law."""
_SIDE_KMH: Final = 30.0
"""Top speed on side roads with a higher limit."""
_BEND_M: Final = 20.0
"""Length over which changes of direction count as one bend."""
_SHARP: Final = 45.0
_LIGHTS: Final = 0.06
"""Share of junctions with a red light."""
_FAST_RANK: Final = 102
"""Roads of this rank and better have no red lights."""
_LONGEST_M: Final = 400.0
"""Longest leg, so that a vehicle changes its pace."""


class Edge(NamedTuple):
    """A connection from a vertex to the next or the previous one."""

    at: int
    to: int
    road: int
    backward: bool


class _Speeds(NamedTuple):
    limit_kmh: float
    driven_kmh: float


class Network:
    """The roads of one map. It uses the index's arrays, and adds two numbers a vertex."""

    def __init__(self, index: RoadIndex, texts: Texts) -> None:
        self._index, self._texts = index, texts
        place = index.lat.astype(np.int64) * (1 << 32) + index.lon
        self._node = np.unique(place, return_inverse=True)[1].astype(np.int32)
        self._vertices = np.argsort(self._node, kind="stable").astype(np.int32)
        self._firsts = np.searchsorted(self._node[self._vertices], np.arange(int(self._node.max()) + 2))

    def out(self, node: int) -> list[Edge]:
        """The edges that leave a node."""
        edges = []
        index, last = self._index, self._index.road.size - 1
        for at in self._vertices[self._firsts[node] : self._firsts[node + 1]].tolist():
            road = int(index.road[at])
            way = index.one_way[road]
            if at > 0 and way <= 0 and index.road[at - 1] == road:
                edges.append(Edge(at, at - 1, road, True))
            if at < last and way >= 0 and index.road[at + 1] == road:
                edges.append(Edge(at, at + 1, road, False))
        return edges

    def walk(self, chance: random.Random) -> Iterator[Edge]:
        """A route from a random place; it turns at dead ends, so that only a cut-off one-way road ends it."""
        edge: Edge | None = self._start(chance)
        seen: dict[tuple[int, int], int] = defaultdict(int)
        while edge is not None:
            seen[edge.at, edge.to] += 1
            yield edge
            back = self._node[edge.at]
            every = self.out(self._node[edge.to])
            onward = [each for each in every if self._node[each.to] != back]
            onward = onward or every
            weights = [self._weight(each, edge, seen[each.at, each.to]) for each in onward]
            edge = chance.choices(onward, weights)[0] if onward else None

    def legs(self, chance: random.Random) -> Iterator[Leg]:
        """A route as legs: each with one limit and without a sharp bend."""
        line: list[Place] = []
        length_m = 0.0
        recent: deque[tuple[float, float]] = deque()
        edges = self.walk(chance)
        edge = next(edges, None)
        while edge is not None:
            line = line or [self._place(edge.at)]
            line.append(self._place(edge.to))
            step_m = roads.distance_m(line[-2], line[-1])
            length_m += step_m
            following = next(edges, None)
            if following is None:
                yield self._leg(line, edge)
                return
            bend = self._bend(recent, step_m, edge, following)
            stop = self._has_light(chance, edge)
            changes = self._speeds(edge) != self._speeds(following)
            if stop or changes or abs(bend) > _SHARP or length_m > _LONGEST_M:
                yield self._leg(line, edge, stop=stop, turn=bend)
                line, length_m = [], 0.0
                recent.clear()
            edge = following

    def _start(self, chance: random.Random) -> Edge:
        found: list[Edge] = []
        for _ in range(_STARTS):
            vertex = chance.randrange(self._node.size)
            edges = self.out(self._node[vertex])
            if edges and not self._index.side[self._index.road[vertex]]:
                return chance.choice(edges)
            found = found or edges
        return found[0]

    def _weight(self, edge: Edge, before: Edge, times: int) -> float:
        index = self._index
        willing = _SIDE_WEIGHT if index.side[edge.road] else WEIGHTS[int(index.rank[edge.road])]
        return willing * (_SAME_ROAD if edge.road == before.road else 1.0) / (1 + _DRIVEN * times) ** 2

    def _leg(self, line: list[Place], edge: Edge, *, stop: bool = False, turn: float = 0.0) -> Leg:
        speeds = self._speeds(edge)
        return Leg(tuple(line), speeds.limit_kmh, stop, turn, speeds.driven_kmh)

    def _speeds(self, edge: Edge) -> _Speeds:
        lane = limits.at(int(edge.backward), int(Column.CAR))
        known = self._texts.limits[self._index.limits[edge.road]][lane].limit
        limit = math.inf if known is None else known.kmh or math.inf
        driven = _UNKNOWN_KMH if known is None else known.kmh or _FASTEST_KMH
        return _Speeds(limit, min(driven, _SIDE_KMH) if self._index.side[edge.road] else driven)

    def _has_light(self, chance: random.Random, edge: Edge) -> bool:
        node = self._node[edge.to]
        roads_there = int(self._firsts[node + 1] - self._firsts[node])
        return roads_there > 2 and self._index.rank[edge.road] > _FAST_RANK and chance.random() < _LIGHTS

    def _bend(self, recent: deque[tuple[float, float]], step_m: float, edge: Edge, following: Edge) -> float:
        """The change of direction within the last metres, including the end of the edge; degrees, clockwise."""
        before = roads.heading(self._place(edge.at), self._place(edge.to))
        after = roads.heading(self._place(following.at), self._place(following.to))
        for number, (past_m, turn) in enumerate(recent):
            recent[number] = past_m + step_m, turn
        while recent and recent[0][0] > _BEND_M:
            recent.popleft()
        recent.append((0.0, (after - before + 180) % 360 - 180))
        return sum(turn for _, turn in recent)

    def _place(self, vertex: int) -> Place:
        return float(self._index.lat[vertex]) / UNITS, float(self._index.lon[vertex]) / UNITS
