"""Likely roads of a single position, by distance and heading, with their limits.

Not here: the roads of a drive, which earlier and later samples decide too (`matcher.py`).
"""

import math
from typing import Final, NamedTuple

import numpy as np

from tripline.roads import candidates as nearness
from tripline.roads import limited
from tripline.roads.index import RoadIndex, Texts
from tripline.roads.matcher import Matches
from tripline.scoring.drives import Drives
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import Column

MOST_COST: Final = 3.0
"""A dearer road is unlikely: 35 m away, or at 45 degrees and 20 m away."""
DOUBT: Final = 3.0
"""Of two roads whose costs differ by less, either may be the right one. It corresponds to 20 to 1."""
_KNOWN: Final = (LimitSource.TAGGED, LimitSource.IMPLIED)


class Likely(NamedTuple):
    """A road that the position may be on."""

    cost: float
    name: str
    limit_kmh: float | None
    """None: the map does not know it; the usual limit of a class of road does not count."""


def roads(
    index: RoadIndex,
    texts: Texts,
    *,
    time_ms: int,
    lat: float,
    lon: float,
    heading_deg: float | None,
    column: Column,
    offset_ms: int,
) -> list[Likely]:
    """The likely roads, best first; a road whose direction is unclear once for each direction.

    `offset_ms`: how far local time is ahead, for limits that depend on it.
    """
    if not index.cells.size:
        return []
    north, east = (0.0, 0.0) if heading_deg is None else _vector(heading_deg)
    found = nearness.candidates(index, *(np.array([each]) for each in (lat, lon, north, east)))
    cost, road, backward = found.cost[0], found.road[0], found.backward[0]
    near = cost <= MOST_COST
    cost, road, backward = cost[near], road[near], backward[near]
    if heading_deg is None:
        way = index.one_way[road]
        cost, road, way = np.repeat(cost, 2), np.repeat(road, 2), np.repeat(way, 2)
        backward = np.where(way == 0, np.arange(way.size) % 2 == 1, way < 0)
    sample = np.zeros(road.size)
    drives = Drives(
        starts=np.array([0, road.size]),
        time_ms=np.full(road.size, time_ms, np.int64),
        lat=sample + lat,
        lon=sample + lon,
        speed_kmh=sample,
        em=None,
        limit_kmh=None,
        column=np.array([column], np.int8),
        obd=np.array([False]),
        stated_m=np.array([np.nan]),
    )
    told = limited.limits_of(index, texts, drives, Matches(road, backward), offset_ms=np.array([offset_ms]))
    limits = np.where(np.isin(told.source, _KNOWN), told.kmh, np.nan).tolist()
    return [
        Likely(own, texts.names[index.name[number]], None if math.isnan(limit) else limit)
        for own, number, limit in zip(cost.tolist(), road.tolist(), limits, strict=True)
    ]


def _vector(heading_deg: float) -> tuple[float, float]:
    angle = math.radians(heading_deg)
    return math.cos(angle), math.sin(angle)
