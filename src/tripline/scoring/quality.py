"""The quality of a trip's samples, stored with the trip even if it has no score, and the certainty of harsh events at
their period, as measured on synthetic drives (`docs/scoring.md`, 8).

Free of numpy, so that its readers need not load the kernel. Not here: that measurement (`make evaluate`), or the share
of real events that are missed: at slow sampling that differs much between classes and kinds.
"""

import itertools
from enum import IntEnum, StrEnum
from typing import Final

import msgspec

MEASURED: Final = {1_000: 0.99, 2_000: 0.96, 3_000: 0.95, 4_000: 0.87}
"""Period, ms -> the share of events found by speed that are real: all kinds and classes together, for a receiver that
smooths over half a second. Rounded down."""
LONGEST_MS: Final = 4_500
"""Longest period that was measured."""


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
    harsh_known: bool = True
    """False where neither speeds nor positions show harsh driving: the score has no harsh event."""
    maps: tuple[str, ...] = ()
    """Maps that gave its roads, each as `area:map`; `area:lost` for an unreadable one."""


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


def certainty(found: Quality) -> float | None:
    """The share of the trip's harsh events that are real, 0 to 1; None: not measured."""
    return at_period(found.period_ms) if found.harsh_known else None


def at_period(period_ms: int) -> float | None:
    """The certainty at this mean interval between samples, 0 to 1, interpolated; None: not measured."""
    if not 0 < period_ms <= LONGEST_MS:
        return None
    for (before_ms, before), (after_ms, after) in itertools.pairwise(MEASURED.items()):
        if period_ms <= after_ms:
            return before + max(period_ms - before_ms, 0) / (after_ms - before_ms) * (after - before)
    return MEASURED[max(MEASURED)]
