"""The quality of a trip's samples, kept with the trip whether it has a score or not.

Free of numpy, so that whoever shows it need not load the kernel.
"""

from enum import IntEnum, StrEnum
from typing import Final

import msgspec


class LimitSource(IntEnum):
    """How the limit at a sample is known."""

    TAGGED = 0
    """The road's own."""
    IMPLIED = 1
    """By its zone or place."""
    ROAD_CLASS = 2
    """The default of its class."""
    DEFAULT = 3
    """That of the policy, as no road is known."""
    NONE = 4
    """There is none."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Of a trip's distance the shares, 0 to 1, whose limit is known by each `LimitSource`; together 1."""

    tagged: float = 0.0
    implied: float = 0.0
    road_class: float = 0.0
    default: float = 1.0
    none: float = 0.0

    @property
    def known(self) -> float:
        """The share whose limit the map tells: neither the default of a class nor that of the policy is known."""
        return self.tagged + self.implied


BY_DEFAULT: Final = Limits()
"""Those of a trip of which no map tells anything: as the default itself they are left out of what is written."""


class Quality(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The quality of one trip's samples."""

    samples: int
    """That take part: with a time and a position of their own, one an instant."""
    period_ms: int
    """Mean interval between them, gaps apart; 0 with fewer than two."""
    dropped: int = 0
    """Samples of the trip that take no part."""
    gaps: int = 0
    speed_ratio: float | None = None
    """Distance by speed for each metre by positions; None: too short to tell, or no speeds."""
    distance: str = "own"
    """`own`, `stated` by the trip message, or `doubted`: stated, but too far from our own, which is taken."""
    repairs: dict[str, int] = {}
    """Name of a repair (`findings.REPAIRS`) -> how often, where it was needed."""
    limits: Limits = BY_DEFAULT
    maps: tuple[str, ...] = ()
    """Those that told a road of it, each as `area:map`; `area:lost` of one that could not be read."""


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
