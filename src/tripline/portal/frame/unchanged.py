"""Vehicles that an action on many left as they are, in words: named as far as the visitor may see them, and why.

Not here: what is done with many (`lists/bulk_vehicles.py`, `delegation/bulk.py`).
"""

from collections.abc import Sequence

import msgspec

from tripline.domain.ids import VehicleId
from tripline.language import catalogue
from tripline.portal.frame.visitors import Visitor
from tripline.services.fleet.bulk_vehicles import Impossible


class Left(msgspec.Struct, frozen=True):
    """A vehicle that stays as it is, and why."""

    vehicle_id: VehicleId
    vehicle_no: str | None
    """None: the visitor cannot see it."""
    sentence: str


def in_words(visitor: Visitor, impossible: Sequence[Impossible]) -> list[Left]:
    """Each of the vehicles, in the visitor's language."""
    label = visitor.say("portal.delegation.vehicle")
    return [
        Left(each.vehicle_id, each.vehicle_no, catalogue.sentence(each.refusal, visitor.language, label=label))
        for each in impossible
    ]
