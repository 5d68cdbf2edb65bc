"""The quality of a trip's samples, stored with the trip even if it has no score.

Free of numpy, so that its readers need not load the kernel. Not here: the certainty of harsh events at such a quality
(`certainty.py`).
"""

from enum import IntEnum, StrEnum
from typing import Final

import msgspec


class LimitSource(IntEnum):
    """The source of the limit at a sample."""

    TAGGED = 0
    """The road's own limit."""
    IMPLIED = 1
    """Implied by its zone or place."""
    ROAD_CLASS = 2
    """The default of its road class."""
    DEFAULT = 3
    """The policy's default, for an unknown road."""
    NONE = 4
    """No limit."""


class HarshSource(IntEnum):
    """The source of a trip's harsh events."""

    SPEEDS = 0
    """The device's speeds."""
    POSITIONS = 1
    """Exact positions."""
    DEVICE = 2
    """The device itself reports them (`em`)."""
    UNKNOWN = 3
    """There are no speeds, and positions are too noisy: the score has no harsh event."""
    SPARSE = 4
    """The same, for positions too far apart in time."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Shares of a trip's distance, 0 to 1, with a limit from each `LimitSource`; together 1."""

    tagged: float = 0.0
    implied: float = 0.0
    road_class: float = 0.0
    default: float = 1.0
    none: float = 0.0

    @property
    def known(self) -> float:
        """The share with a limit from the map, without the defaults of road classes and the policy."""
        return self.tagged + self.implied


BY_DEFAULT: Final = Limits()
"""Shares of a trip that no map covers; as the default value they are omitted when written."""


class Quality(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The quality of one trip's samples."""

    samples: int
    """Samples that take part: with their own time and position, one an instant."""
    period_ms: int
    """Mean interval between them, without gaps; 0 with fewer than two."""
    dropped: int = 0
    """Samples of the trip that take no part."""
    gaps: int = 0
    speed_ratio: float | None = None
    """Distance by speed for each metre by positions; None: too short to measure, or no speeds."""
    distance: str = "own"
    """`own`; `stated` by the trip message; or `doubted`: our own, since the stated one is too far from it."""
    repairs: dict[str, int] = {}
    """Name of a repair (`findings.REPAIRS`) -> number of times; only repairs that occurred."""
    limits: Limits = BY_DEFAULT
    harsh_source: HarshSource = HarshSource.SPEEDS
    speed_step: float = 0.0
    """Step of the device's speeds, km/h (`speeds.steps_kmh`); 0: unknown."""
    column: int = 0
    """`rules.Column` of the vehicle."""
    maps: tuple[str, ...] = ()
    """Maps that gave its roads, each as `area:map`; `area:lost` for an unreadable one."""

    @property
    def harsh_known(self) -> bool:
        """False where the score has no harsh event because nothing shows harsh driving."""
        return self.harsh_source not in (HarshSource.UNKNOWN, HarshSource.SPARSE)


def written(quality: Quality) -> bytes:
    """Encode as JSON."""
    return msgspec.json.encode(quality)


def read(body: bytes) -> Quality:
    """Decode a quality that `written` encoded. Raises `msgspec.DecodeError`."""
    return msgspec.json.decode(body, type=Quality)


class Unit(StrEnum):
    """The likely unit of speeds that do not fit their path."""

    MPH = "mph"
    KNOTS = "knots"
    METRES_PER_SECOND = "metres_per_second"
    TENTHS = "tenths"
    """Tenths of a km/h."""
    CENTIMETRES_PER_SECOND = "centimetres_per_second"
    MILLIMETRES_PER_SECOND = "millimetres_per_second"
    NOTHING = "nothing"
    """The speed is about 0 at any real speed."""


_RATIOS: Final = {
    Unit.MPH: 1 / 1.609344,
    Unit.KNOTS: 1 / 1.852,
    Unit.METRES_PER_SECOND: 1 / 3.6,
    Unit.TENTHS: 10.0,
    Unit.CENTIMETRES_PER_SECOND: 100 / 3.6,
    Unit.MILLIMETRES_PER_SECOND: 1_000 / 3.6,
    Unit.NOTHING: 0.0,
}
_NEAR: Final = 0.05
"""Of ratios above 1 the relative difference."""


def likely(ratio: float) -> Unit | None:
    """The unit that gives this ratio; None: no known unit."""
    unit = min(_RATIOS, key=lambda each: abs(_RATIOS[each] - ratio))
    return unit if abs(_RATIOS[unit] - ratio) <= _NEAR * max(_RATIOS[unit], 1) else None
