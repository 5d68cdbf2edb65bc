"""Drives whose roads are known: what a matcher gives to whoever scores.

Not here: matchers (`ports.maps.RoadMatcher`, `adapters/roads_osm.py`).
"""

from collections.abc import Sequence
from typing import NamedTuple

from tripline.scoring.drives import Drives


class Road(NamedTuple):
    """A road that events and explanations name."""

    link: str
    rank: int
    name: str
    """Number and name; empty where it has neither."""


class Located(NamedTuple):
    """Drives with limits and roads."""

    drives: Drives
    roads: Sequence[Road]
    """By the numbers of `Drives.road`."""
    maps: Sequence[tuple[str, ...]]
    """Of each trip: those that told a road of it, each as `area:map`."""
