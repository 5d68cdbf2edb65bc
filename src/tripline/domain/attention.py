"""Scores that need attention, and why."""

import msgspec

from tripline.domain.disputes import Dispute
from tripline.domain.ids import VehicleId
from tripline.domain.trends import Subject


class Falling(msgspec.Struct, frozen=True, kw_only=True):
    """A score that fell."""

    kind: Subject
    id: str
    name: str | None
    before: float
    before_known: float
    """`Sums.limit_known` of this score."""
    now: float
    now_known: float


class Harsh(msgspec.Struct, frozen=True, kw_only=True):
    """Harsh events for each 100 km far above those of the group."""

    kind: Subject
    id: str
    name: str | None
    rate: float
    group: float
    """All who drove lately, together."""


class Unscored(msgspec.Struct, frozen=True, kw_only=True):
    """A vehicle of whose newest trips none has a score."""

    vehicle_id: VehicleId
    name: str | None
    trips: int
    """Number of its unusable trips."""
    reason: str
    """The most frequent one."""


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    """The lists, the most urgent entries first."""

    falling: list[Falling]
    harsh: list[Harsh]
    waiting: list[Dispute]
    """The oldest first."""
    unscored: list[Unscored]
