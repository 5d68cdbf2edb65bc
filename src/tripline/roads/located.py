"""Drives with the roads they were driven on: the answer of a road matcher to the scorer."""

from collections.abc import Sequence
from typing import NamedTuple

from tripline.scoring.drives import Drives


class Road(NamedTuple):
    """A road that events and explanations name."""

    link: str
    rank: int
    name: str
    """The number and name of the road; empty if it has neither."""


class Located(NamedTuple):
    """Drives with limits and roads."""

    drives: Drives
    roads: Sequence[Road]
    """The roads that `Drives.road` refers to by index."""
    maps: Sequence[tuple[str, ...]]
    """For each trip, the maps that gave its roads, each as `area:map`."""
