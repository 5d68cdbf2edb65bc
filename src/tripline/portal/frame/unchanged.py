"""Vehicles that a bulk action left unchanged, with the reasons; numbers only of vehicles that the visitor may see."""

from collections.abc import Sequence

from tripline.language import catalogue
from tripline.portal.frame.visitors import Visitor
from tripline.services.fleet.bulk_vehicles import Impossible


def in_words(visitor: Visitor, impossible: Sequence[Impossible]) -> list[tuple[Impossible, str]]:
    """The vehicles, each with the reason in the visitor's language."""
    label = visitor.say("portal.delegation.vehicle")
    return [(each, catalogue.sentence(each.refusal, visitor.language, label=label)) for each in impossible]
