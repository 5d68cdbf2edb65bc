"""The quality of a trip's samples, kept with the trip whether it has a score or not.

Free of numpy, so that whoever shows it need not load the kernel.
"""

from enum import StrEnum
from typing import Final

import msgspec


class Quality(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The quality of one trip's samples."""

    samples: int
    """That take part: with a time and a position of their own, one an instant."""
    period_ms: int
    """Mean interval between them, gaps apart; 0 with fewer than two."""
    gaps: int = 0
    speed_ratio: float | None = None
    """Distance by speed for each metre by positions; None: too short to tell, or no speeds."""
    distance: str = "own"
    """`own`, `stated` by the trip message, or `doubted`: stated, but too far from our own, which is taken."""
    repairs: dict[str, int] = {}
    """Name of a repair (`findings.REPAIRS`) -> how often, where it was needed."""


def written(quality: Quality) -> bytes:
    """JSON of it."""
    return msgspec.json.encode(quality)


def read(body: bytes) -> Quality:
    """What was written. Raises `msgspec.DecodeError`."""
    return msgspec.json.decode(body, type=Quality)


class Unit(StrEnum):
    """What a speed that does not fit its path is likely to be in."""

    MPH = "mph"
    KNOTS = "knots"
    METRES_PER_SECOND = "metres_per_second"
    NOTHING = "nothing"
    """It is 0, or next to it, however fast the vehicle goes."""


_RATIOS: Final = {
    Unit.MPH: 1 / 1.609344,
    Unit.KNOTS: 1 / 1.852,
    Unit.METRES_PER_SECOND: 1 / 3.6,
    Unit.NOTHING: 0.0,
}
_NEAR: Final = 0.05


def likely(ratio: float) -> Unit | None:
    """The unit that gives this ratio; None: none that is known."""
    unit = min(_RATIOS, key=lambda each: abs(_RATIOS[each] - ratio))
    return unit if abs(_RATIOS[unit] - ratio) <= _NEAR else None
