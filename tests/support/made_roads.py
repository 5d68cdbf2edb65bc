"""Made-up roads and drives along them, in metres east and north of a place on the equator."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace

from tripline.roads import limited, matcher
from tripline.roads.builder import Builder
from tripline.roads.index import RoadIndex, Texts
from tripline.scoring.drives import Drives, Floats, Ints
from tripline.scoring.rules import Column

METRES: Final = 111_195.08
"""In a degree."""
BEGIN_MS: Final = 1_767_225_600_000
"""A midnight UTC, a Thursday."""
Line = Sequence[tuple[float, float]]
Lines = Mapping[int, Line]
World = Lines | tuple[Lines, Mapping[int, Mapping[str, str]]]
"""Lines of roads by their links; with tags beside them, where they have some."""


def built(world: World) -> tuple[RoadIndex, Texts]:
    """An index of these roads; ends in one place are one node."""
    lines, tags = world if isinstance(world, tuple) else (world, {})
    builder = Builder()
    nodes: dict[tuple[int, int], int] = {}
    for link, line in lines.items():
        places = [(round(north / METRES * 1e7), round(east / METRES * 1e7)) for east, north in line]
        known = {"highway": "secondary", **tags.get(link, {})}
        builder.road(link, known, [(nodes.setdefault(place, len(nodes)), *place) for place in places])
    return builder.built(otherwise="")


def drives(
    *lines: Line,
    mps: float = 14.0,
    interval_s: int = 1,
    noise_m: float = 0.0,
    stand_at: int | None = None,
    column: Column = Column.CAR,
) -> Drives:
    """A drive along each line at a steady speed; `stand_at`: at which of its points it stands for three minutes."""
    chance = np.random.default_rng(3)
    east, north, speed, sizes = [], [], [], []
    for line in lines:
        x, y = np.array(line, float).T
        at = np.append(0.0, np.cumsum(np.hypot(np.diff(x), np.diff(y))))
        done = np.arange(0.0, at[-1], mps * interval_s)
        kmh = np.full(done.size, mps * 3.6)
        if stand_at is not None:
            place = int(np.searchsorted(done, at[stand_at]))
            done, kmh = np.insert(done, place, [at[stand_at]] * 180), np.insert(kmh, place, [0.0] * 180)
        east.append(np.interp(done, at, x))
        north.append(np.interp(done, at, y))
        speed.append(kmh)
        sizes.append(done.size)
    own = np.concatenate(north), np.concatenate(east)
    lat, lon = (column + chance.normal(0.0, noise_m, column.size) for column in own)
    return Drives(
        starts=np.cumsum([0, *sizes]),
        time_ms=np.concatenate([BEGIN_MS + np.arange(size) * interval_s * 1_000 for size in sizes]),
        lat=lat / METRES,
        lon=lon / METRES,
        speed_kmh=np.concatenate(speed),
        em=None,
        limit_kmh=None,
        column=np.full(len(lines), column, np.int8),
        obd=np.zeros(len(lines), np.bool_),
        stated_m=np.full(len(lines), np.nan),
    )


def some(own: Drives, samples: Ints) -> Drives:
    """These samples of a single drive, in this order."""
    columns = {name: getattr(own, name)[samples] for name in ("time_ms", "lat", "lon", "speed_kmh")}
    return replace(own, starts=np.array([0, samples.size]), **columns)


def limits(world: World, *lines: Line, offset_ms: int = 0, column: Column = Column.CAR) -> Floats:
    """The limit of each sample of drives along these lines."""
    index, texts = built(world)
    own = drives(*lines, column=column)
    offsets = np.full(len(lines), offset_ms)
    return limited.limits_of(index, texts, own, matcher.matched(index, own), offset_ms=offsets)[0]
