"""A road matcher for tests that knows limits, and drives on its roads."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from tests.support.scoring_rows import sample
from tripline.ports.maps import LostMap
from tripline.roads.located import Located, Road
from tripline.scoring.drives import Drives
from tripline.scoring.quality import LimitSource

_LIMITS: Final = np.array([50.0, 30.0, np.nan])
_SOURCES: Final = np.array([LimitSource.TAGGED, LimitSource.IMPLIED, LimitSource.DEFAULT], np.int8)
_ROADS: Final = np.array([0, 1, -1], np.int32)


class Roads:
    """Two roads and none, ten seconds each in turn, for any drive."""

    has_maps = True

    def located(self, drives: Drives) -> Located:
        turns = drives.time_ms // 10_000 % 3
        drives = replace(drives, limit_kmh=_LIMITS[turns], limit_source=_SOURCES[turns], road=_ROADS[turns])
        roads = [Road("17", 103, "17 대덕대로"), Road("18", 107, "")]
        return Located(drives, roads, [("area:1",)] * len(drives))

    def lost(self) -> Sequence[LostMap]:
        return ()

    def reach(self) -> None:
        pass


def along(speeds: Sequence[float], clock: Callable[[int], float] = float, **columns: Any) -> list[bytes]:
    """A drive northwards at these speeds; `clock`: the second of each sample."""
    metres = np.cumsum([0.0, *speeds[:-1]]) / 3.6
    places = [36 + at / 111_195 for at in metres.tolist()]
    return [
        sample(clock(second), speed, lat=lat, **columns)
        for second, (speed, lat) in enumerate(zip(speeds, places, strict=True))
    ]
