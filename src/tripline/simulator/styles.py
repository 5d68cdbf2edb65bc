"""Driving styles: speed, use of the pedals, share of harsh manoeuvres. Each style is a row of numbers.

The harsh rates are at least 1.3 times the criteria for cars at one sample a second, the others at most 0.7 times
(spec/scoring 3), so that scores separate the styles.
"""

from typing import Final

import msgspec

Span = tuple[float, float]
"""From, to."""


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """One way to drive. Rates are km/h per second."""

    pace: Span
    """Cruising speed as a share of the road's limit."""
    accelerate: Span
    brake: Span
    corner_kmh: Span
    """Speed in a turn."""
    harsh: float
    """Share of manoeuvres that are harsh."""
    harsh_accelerate: Span = (13.0, 17.0)
    harsh_brake: Span = (20.0, 26.0)


STYLES: Final = {
    "calm": Style(
        pace=(0.88, 0.98), accelerate=(2.5, 4.0), brake=(3.0, 6.0), corner_kmh=(12.0, 20.0), harsh=0.002
    ),
    "ordinary": Style(
        pace=(0.95, 1.06), accelerate=(3.0, 4.2), brake=(4.0, 7.0), corner_kmh=(15.0, 25.0), harsh=0.04
    ),
    "aggressive": Style(
        pace=(1.08, 1.22), accelerate=(3.8, 4.2), brake=(5.0, 7.0), corner_kmh=(20.0, 35.0), harsh=0.3
    ),
}  # fmt: skip
"""Name -> style, the calmest first."""
