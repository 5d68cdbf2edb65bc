"""A made city: expressways above arterials with their ramps, tunnels beneath streets, and streets side by side.

Its drivers keep to the limits, so each second over the limit that they are charged with is the matcher's error.

Not here: drives and noise (`road_drives.py`), the shipped extract (`roads.py`).
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from evaluation import road_drives
from evaluation.road_drives import DRIFT, METRES_PER_DEGREE, MOVING_KMH, NOISES_M, Drive, World, sampled
from tripline.roads import matcher
from tripline.roads.builder import Builder
from tripline.roads.matcher import Matches
from tripline.scoring import overspeed
from tripline.scoring.drives import Drives, Floats, Ints
from tripline.scoring.rules import Rules

DRIVES: Final = 60
METRES: Final = 15_000.0
"""Of a drive."""
PACE: Final = (0.85, 1.0)
"""Of the limit."""
MOST_FALSE_S: Final = 2.0
"""Seconds in 100 km, at `GATED_M`."""
GATED_M: Final = 10
_LAT: Final = 37.5
_BLOCK: Final = 200.0
_BLOCKS: Final = 16
_WIDE: Final = _BLOCK * _BLOCKS
_WAY: Final = 2
"""Blocks of a street that are one way."""
_BESIDE: Final = {2: 18.0, 6: 18.0, 8: 30.0, 10: 18.0, 14: 18.0}
"""Streets with another one so far beside them, limit 30."""
_APART: Final = 7.0
"""The carriageways of an expressway from the middle of the street below, metres; a ramp is twice as far."""
Place = tuple[float, float]
"""Metres east and north."""


class City:
    """The roads of the city as a network to drive on."""

    def __init__(self) -> None:
        self._builder = Builder()
        self._nodes: dict[Place, int] = {}
        self._tunnels: set[int] = set()
        self._streets()
        for north, kmh in ((6 * _BLOCK, "80"), (10 * _BLOCK, "100")):
            self._expressway(north, kmh, across=False)
        self._expressway(2 * _BLOCK, "80", across=True)
        self._tunnel("80", (2_400, 200), (2_403, 300), (2_403, 2_900), (2_400, 3_000))
        self._tunnel("60", (800, 3_000), (1_380, 2_510), (1_990, 1_890), (2_600, 1_400))
        self.world = World(*self._builder.built(otherwise=""), pace=PACE)

    def drive(self, seed: int) -> Drive:
        """A drive; every other vehicle has no positions in tunnels, the rest reckon them by wheel speeds."""
        drive = self.world.drive(seed, metres=METRES)
        if seed % 2:
            return drive
        link = self.world.index.link[drive.truth.road]
        return drive.some(~np.isin(link, list(self._tunnels)))

    def _road(self, highway: str, kmh: str, *line: Place, **tags: str) -> int:
        """Add a road; those that meet in a place share a node."""
        link = self._builder.roads + 1
        narrow = np.cos(np.radians(_LAT))
        places = [
            (
                self._nodes.setdefault(place, len(self._nodes)),
                round((_LAT + place[1] / METRES_PER_DEGREE) * 1e7),
                round((127 + place[0] / METRES_PER_DEGREE / narrow) * 1e7),
            )
            for place in line
        ]
        self._builder.road(link, {"highway": highway, "maxspeed": kmh, **tags}, places)
        return link

    def _streets(self) -> None:
        lines = sorted([k * _BLOCK for k in range(_BLOCKS + 1)] + [k * _BLOCK + far for k, far in _BESIDE.items()])
        for at in lines:
            number, beside = divmod(at, _BLOCK)
            kinds = {0: ("secondary", "50"), 2: ("primary", "60")}
            highway, kmh = ("residential", "30") if beside else kinds.get(number % 4, ("residential", "30"))
            for first in range(0, len(lines) - 1, _WAY):
                part = lines[first : first + _WAY + 1]
                self._road(highway, kmh, *((east, at) for east in part))
                self._road(highway, kmh, *((at, north) for north in part))

    def _expressway(self, at: float, kmh: str, *, across: bool) -> None:
        """Two carriageways above the street at `at`, with ramps to it every four blocks. `across`: to the north."""

        def road(highway: str, kmh: str, *line: Place) -> None:
            # Towards the east on the right-hand side; the other carriageway is the same turned round.
            turned = [(_WIDE - along, -aside) for along, aside in line]
            for each in (line, turned):
                places = [(along, at + aside) for along, aside in each]
                self._road(highway, kmh, *((y, x) if across else (x, y) for x, y in places), oneway="yes")

        joints = np.arange(_BLOCK / 2, _WIDE, _BLOCK).tolist()
        road("trunk", kmh, (0.0, 0.0), (joints[0], -_APART))
        for first in range(0, len(joints) - 1, 3):
            road("trunk", kmh, *((along, -_APART) for along in joints[first : first + 4]))
        road("trunk", kmh, (joints[-1], -_APART), (_WIDE, 0.0))
        for middle in np.arange(4 * _BLOCK, _WIDE, 4 * _BLOCK).tolist():
            down = (middle - 300, -_APART), (middle - 240, -2 * _APART), (middle - 100, -2 * _APART), (middle, 0.0)
            road("trunk_link", "50", *down)
            road("trunk_link", "50", *((2 * middle - along, aside) for along, aside in reversed(down)))

    def _tunnel(self, kmh: str, *line: Place) -> None:
        self._tunnels.add(self._road("primary", kmh, *line))


def measured(drives: int = DRIVES) -> Iterator[dict[str, Any]]:
    """A row for each noise: how many limits are right, and how long lawful drivers are charged."""
    city = City()
    driven = [city.drive(seed) for seed in range(drives)]
    for noise_m in NOISES_M:
        own, truth = sampled(driven, noise_m=noise_m, interval_s=1, seed=noise_m, memory=DRIFT)
        yield {"noise": noise_m, "km": _km(own)} | figures(city.world, own, truth)


def holds(row: dict[str, Any]) -> bool | None:
    """True if the row's gate holds; None: it has none."""
    return bool(row["false_s"] <= MOST_FALSE_S) if row["noise"] == GATED_M else None


def figures(world: World, own: Drives, truth: Matches) -> dict[str, Any]:
    """The share of right limits, and the seconds over the limit that only the matcher sees, in 100 km."""
    found = matcher.matched(world.index, own)
    right = road_drives.told(world, own, truth).limit_kmh
    ours = road_drives.told(world, own, found, is_judged=True).limit_kmh
    moving = own.speed_kmh > MOVING_KMH
    false = np.setdiff1d(_over(own, ours), _over(own, right))
    charged_s = overspeed.seconds(own, false, np.diff(own.time_ms, append=0), Rules())
    return {
        "right_limit": float((ours == right)[moving].mean()),
        "false_s": float(charged_s.sum() / _km(own) * 100),
        "charged": float(np.unique(own.at(false)).size / len(own)),
    }


def _over(own: Drives, limit_kmh: Floats) -> Ints:
    return overspeed.samples_over(replace(own, limit_kmh=limit_kmh), own.speed_kmh, Rules())


def _km(own: Drives) -> float:
    return float(own.speed_kmh.sum() / 3_600)
