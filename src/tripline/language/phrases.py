"""Phrases: texts with their values, translated when they are read.

Deciding code returns phrases, so that a command, a page and a program can each present them.
"""

from collections.abc import Iterable

import msgspec

from tripline.domain.refusals import Value
from tripline.language import catalogue
from tripline.language.catalogue import DEFAULT, Language


class Phrase(msgspec.Struct, frozen=True):
    """A text with its values."""

    name: str
    values: dict[str, "Value | Phrase"]
    """Values of the placeholders, phrases in the same language."""
    joint: str
    """Separator after the previous phrase."""


def phrase(name: str, /, *, joint: str = "; ", **values: Value | Phrase) -> Phrase:
    """The text with this name."""
    return Phrase(name, values, joint)


def verbatim(text: str) -> Phrase:
    """A text of a program or database in its own words."""
    return phrase("verbatim", text=text)


def said(phrases: Iterable[Phrase], language: Language = DEFAULT) -> str:
    """The phrases as one text."""
    spoken = ""
    for each in phrases:
        values = {
            name: said((value,), language) if isinstance(value, Phrase) else value
            for name, value in each.values.items()
        }
        spoken += (_joint(each.joint, spoken, language) if spoken else "") + catalogue.text(
            each.name, language, **values
        )
    return spoken


def _joint(joint: str, spoken: str, language: Language) -> str:
    """The text between two phrases. Where English joins clauses, Korean begins a new sentence."""
    if language is not Language.KOREAN or joint not in ("; ", ", "):
        return joint
    return " " if spoken.endswith(".") else joint.replace(";", ".")
