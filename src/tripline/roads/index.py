"""A road index: the roads of one area as flat arrays, with a grid of cells to find those near a point.

Coordinates are whole units of 1e-7 degrees. A segment is named by the vertex where it begins; the last vertex of a road
begins none. The grid has rows of `CELL_M` and cells as wide at the latitude of their row.
"""

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from tripline.roads.limits import RoadLimits
from tripline.scoring.drives import Floats, Ints

Coordinates = NDArray[np.int32]
Numbers = NDArray[np.int32]
Bytes = NDArray[np.int8]

UNITS: Final = 10_000_000
"""In a degree."""
DEGREE_M: Final = 111_195.08
"""Of latitude."""
METRES: Final = DEGREE_M / UNITS
"""In a unit of latitude."""
CELL_M: Final = 160.0
REACH_M: Final = 50.0
"""Largest distance of a point from a road that the grid finds."""
_ROW: Final = CELL_M / METRES


class RoadIndex(msgspec.Struct, frozen=True):
    """Roads 0..n-1; one OpenStreetMap way may be several roads, if the extract lacks a part of it."""

    lat: Coordinates
    """Latitude of each vertex, road by road."""
    lon: Coordinates
    road: Numbers
    """The road of each vertex."""
    link: Ints
    """Of each road: the id of its way."""
    rank: Bytes
    """Of each road: `classes.rank`."""
    one_way: Bytes
    """Of each road: `classes.one_way`."""
    side: Bytes
    """Of each road: 1 for a side road (`classes.SIDE`)."""
    limits: Numbers
    """Of each road: its index in `Texts.limits`."""
    kmh: NDArray[np.float32]
    """Of each of `Texts.limits`: the six limits at any time (`limits.at`), km/h; infinite: none, or unknown."""
    name: Numbers
    """Of each road: its index in `Texts.names`."""
    cells: Ints
    """Numbers of the cells that have roads, ascending."""
    cell_starts: Ints
    """The start of each cell's segments in `segments`, and the number of segments."""
    segments: Numbers
    """Cell by cell: the segments within `REACH_M` of a point in it."""
    near_starts: Ints
    """The start of each road's neighbours in `near`, and their number."""
    near: Numbers
    """Road by road, ascending: the roads that share a node with it, once for each node."""
    near_at: Numbers
    """The shared node: a vertex of the road."""


class Texts(msgspec.Struct, frozen=True):
    """Contents of an index that are not arrays."""

    limits: list[RoadLimits]
    names: list[str]


def cell_numbers(lat: Floats, lon: Floats) -> Ints:
    """The cell of each point, given in units; any number where the grid has none."""
    rows = np.floor(lat / _ROW)
    return _numbers(rows, lon)


def cells_around(lat: Floats, lon: Floats, reach_m: float) -> Ints:
    """The cells with points within reach of each point: shape n x 4, with repetitions if they are fewer.

    A cell is wider than twice the reach.
    """
    reach = reach_m / METRES
    found = []
    for up in (-reach, reach):
        rows = np.floor((lat + up) / _ROW)
        wide = reach / _narrow(rows)
        found += [_numbers(rows, lon - wide), _numbers(rows, lon + wide)]
    return np.stack(found, axis=1)


def _narrow(rows: Floats) -> Floats:
    """The length of a degree of longitude in a row for each metre of one of latitude."""
    narrow: Floats = np.cos(np.radians(np.clip((rows + 0.5) * _ROW / UNITS, -89.0, 89.0)))
    return narrow


def _numbers(rows: Floats, lon: Floats) -> Ints:
    columns = np.floor(lon * _narrow(rows) / _ROW)
    numbers: Ints = (rows.astype(np.int64) << 32) + columns.astype(np.int64)
    return numbers
