"""Vehicles that a bulk action left unchanged, with the reasons; numbers only of vehicles that the visitor may see."""

from collections.abc import Sequence

import msgspec

from tripline.domain.ids import VehicleId
from tripline.language import catalogue
from tripline.portal.frame.visitors import Visitor
from tripline.services.fleet.bulk_vehicles import Impossible


class Left(msgspec.Struct, frozen=True):
    """A vehicle left unchanged, and the reason."""

    vehicle_id: VehicleId
    vehicle_no: str | None
    """None if the visitor may not see it."""
    sentence: str


def in_words(visitor: Visitor, impossible: Sequence[Impossible]) -> list[Left]:
    """Describe each vehicle in the visitor's language."""
    label = visitor.say("portal.delegation.vehicle")
    return [
        Left(each.vehicle_id, each.vehicle_no, catalogue.sentence(each.refusal, visitor.language, label=label))
        for each in impossible
    ]
