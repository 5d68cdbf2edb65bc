"""Builds a road index from the roads and areas of a map file."""

from array import array
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from tripline.roads import classes, limits
from tripline.roads.areas import Points, Ring
from tripline.roads.classes import Tags
from tripline.roads.index import CELL_M, METRES, REACH_M, Coordinates, Numbers, RoadIndex, Texts, cells_around
from tripline.scoring.drives import Flags, Ints

Number = TypeVar("Number", np.int32, np.int64)
MOST_NAME: Final = 200
"""Longest stored name, characters."""
_STEP_M: Final = 50.0
"""Distance between the points of a segment that are used to find its cells."""
_CROWD: Final = 64
"""Most roads at one node that become neighbours; no junction has as many."""


class Builder:
    """Collects roads and areas one by one; compact, because an extract has millions of vertices."""

    def __init__(self) -> None:
        self._lat, self._lon = array("i"), array("i")
        self._node = array("q")
        self._starts = array("q", [0])
        self._link = array("q")
        self._tags = array("i")
        self._known_tags: dict[tuple[tuple[str, str], ...], int] = {}
        self._countries: dict[str, list[Sequence[Ring]]] = {}
        self._built_up: list[Sequence[Ring]] = []

    @property
    def roads(self) -> int:
        """The number of roads."""
        return len(self._link)

    def road(self, link: int, tags: Tags, line: Sequence[tuple[int, int, int]]) -> None:
        """Add a road that vehicles drive on. `line`: node, latitude, longitude of two vertices or more."""
        for node, lat, lon in line:
            self._node.append(node)
            self._lat.append(lat)
            self._lon.append(lon)
        self._starts.append(len(self._lat))
        self._link.append(link)
        kept = tuple(sorted((key, text) for key, text in tags.items() if _counts(key)))
        self._tags.append(self._known_tags.setdefault(kept, len(self._known_tags)))

    def country(self, code: str, rings: Sequence[Ring]) -> None:
        """Add a part of a country."""
        self._countries.setdefault(code, []).append(rings)

    def built_up(self, rings: Sequence[Ring]) -> None:
        """Add a built-up area."""
        self._built_up.append(rings)

    def built(self, *, otherwise: str) -> tuple[RoadIndex, Texts]:
        """Build the index. `otherwise`: the country of roads outside every completely mapped country."""
        lat, lon = np.array(self._lat, np.int32), np.array(self._lon, np.int32)
        starts, node = np.array(self._starts, np.int64), np.array(self._node, np.int64)
        road = np.repeat(np.arange(self.roads, dtype=np.int32), np.diff(starts))
        middles = (starts[:-1] + starts[1:]) // 2
        points = Points(lat[middles], lon[middles])
        country, built_up = np.zeros(self.roads, np.int64), np.zeros(self.roads, np.bool_)
        codes = [otherwise, *self._countries]
        for number, code in enumerate(codes[1:], 1):
            for rings in self._countries[code]:
                country[points.inside(rings)] = number
        for rings in self._built_up:
            built_up[points.inside(rings)] = True
        kinds = list(self._known_tags)
        own = np.array(self._tags, np.int64)
        rules, numbers = _rules(kinds, own, codes, country, built_up)
        names = {"": 0}
        named = [names.setdefault(_name(dict(kind)), len(names)) for kind in kinds]
        facts = [_facts(dict(kind)) for kind in kinds]
        ranks, ways, sides = (np.array(column, np.int8) for column in zip(*facts, strict=True))
        cells, cell_starts, segments = _grid(lat, lon, road)
        near_starts, near, near_at = _neighbours(node, road, self.roads)
        index = RoadIndex(
            lat=lat,
            lon=lon,
            road=road,
            link=np.array(self._link, np.int64),
            rank=ranks[own],
            one_way=ways[own],
            side=sides[own],
            limits=numbers,
            kmh=_kmh(rules),
            name=np.array(named, np.int32)[own],
            cells=cells,
            cell_starts=cell_starts,
            segments=segments,
            near_starts=near_starts,
            near=near,
            near_at=near_at,
        )
        return index, Texts(rules, list(names))


def _counts(key: str) -> bool:
    """True if a road's tag is used."""
    return key in ("highway", "name", "ref", "oneway", "junction", "motorroad") or key.startswith(
        ("maxspeed", "zone:", "source:maxspeed")
    )


def _name(tags: Mapping[str, str]) -> str:
    """The name for display: number and name of the road, if tagged."""
    return " ".join(tags[key] for key in ("ref", "name") if tags.get(key))[:MOST_NAME]


def _facts(tags: Mapping[str, str]) -> tuple[int, int, int]:
    """Rank, direction, and 1 for a side road (`classes.SIDE`)."""
    road_class = classes.class_of(tags) or ""
    return classes.rank(road_class), classes.one_way(tags), int(road_class in classes.SIDE)


def _rules(
    kinds: Sequence[tuple[tuple[str, str], ...]], own: Ints, codes: Sequence[str], country: Ints, built_up: Flags
) -> tuple[list[limits.RoadLimits], Numbers]:
    """The distinct limits, and the index into them for each road."""
    facts, place = np.unique(np.stack([own, country, built_up], axis=1), axis=0, return_inverse=True)
    known: dict[limits.RoadLimits, int] = {}
    numbers = []
    for kind, code, is_built_up in facts.tolist():
        tags = dict(kinds[kind])
        road_class = classes.class_of(tags) or ""
        rule = limits.of_road(tags, road_class, country=codes[code], built_up=bool(is_built_up))
        numbers.append(known.setdefault(rule, len(known)))
    return list(known), np.array(numbers, np.int32)[place.reshape(-1)]


def _kmh(rules: Sequence[limits.RoadLimits]) -> NDArray[np.float32]:
    """`RoadIndex.kmh`."""
    known = [[lane.limit.kmh if lane.limit and lane.limit.kmh else np.inf for lane in rule] for rule in rules]
    return np.array(known, np.float32).reshape(len(rules), -1)


def _grid(lat: Coordinates, lon: Coordinates, road: Numbers) -> tuple[Ints, Ints, Numbers]:
    """Cells, the start of each cell's segments, and the segments."""
    begins = np.flatnonzero(road[:-1] == road[1:])
    a_lat, a_lon = lat[begins].astype(np.float64), lon[begins].astype(np.float64)
    d_lat, d_lon = lat[begins + 1] - a_lat, lon[begins + 1] - a_lon
    metres = np.hypot(d_lat, d_lon * np.cos(np.radians(a_lat / 1e7))) * METRES
    pieces = np.ceil(metres / _STEP_M).astype(np.int64) + 1
    which = np.repeat(np.arange(begins.size), pieces)
    nth = np.arange(which.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    share = nth / np.maximum(pieces - 1, 1)[which]
    around = cells_around(a_lat[which] + share * d_lat[which], a_lon[which] + share * d_lon[which], _AROUND_M)
    found, segments = _pairs(around.ravel(), np.repeat(begins[which].astype(np.int32), 4))
    cells, firsts = np.unique(found, return_index=True)
    return cells, np.append(firsts, found.size).astype(np.int64), segments


_AROUND_M: Final = REACH_M + _STEP_M / 2
assert 2 * _AROUND_M < CELL_M


def _neighbours(node: Ints, road: Numbers, roads: int) -> tuple[Ints, Numbers, Numbers]:
    """The start of each road's neighbours, the neighbours, and the vertices where they meet it."""
    order = np.lexsort((road, node))
    nodes, at = node[order], road[order].astype(np.int64)
    found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for apart in range(1, _CROWD):
        same = np.flatnonzero((nodes[apart:] == nodes[:-apart]) & (at[apart:] != at[:-apart]))
        if not (nodes[apart:] == nodes[:-apart]).any():
            break
        one, other = same, same + apart
        found += [(at[own] * roads + at[near], order[own]) for own, near in ((one, other), (other, one))]
    both, near_at = _pairs(*(np.concatenate(column) for column in zip(*found, strict=True)))
    starts = np.searchsorted(both, np.arange(roads + 1) * roads)
    return starts.astype(np.int64), (both % max(roads, 1)).astype(np.int32), near_at.astype(np.int32)


def _pairs(first: Ints, second: NDArray[Number]) -> tuple[Ints, NDArray[Number]]:
    """Sort pairs and remove duplicates; much less time and memory than `np.unique` of rows."""
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    fresh = np.append(True, (first[1:] != first[:-1]) | (second[1:] != second[:-1]))[: first.size]
    return first[fresh], second[fresh]
