"""Forms of records: the texts that they are filled with, and saving one that somebody else may have saved meanwhile.

Not here: how a form is read (`forms.py`), the digest (`digests.py`), which fields a noun has (its module).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from tripline.domain.refusals import Kind, Refusal
from tripline.portal.frame import digests, words
from tripline.portal.frame.digests import Clash
from tripline.portal.frame.forms import Form
from tripline.portal.frame.visitors import Visitor
from tripline.wire.csv_registrations import Sheet

FLAGS: Final = ("false", "true")
T = TypeVar("T")


class ChangedMeanwhile(Refusal):
    """Somebody else saved the record after the form was filled from it."""

    code = "form.changed_meanwhile"
    kind = Kind.CONFLICT


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit form is filled with."""

    texts: Mapping[str, str]
    digest: str
    changes: tuple[tuple[str, str, str], ...] = ()
    """What somebody else saved meanwhile: what the field is called, their text, the one typed here."""


def shown(texts: Mapping[str, str]) -> Shown:
    """The form of a record with these texts."""
    return Shown(texts=texts, digest=digests.of(texts))


def typed(form: Form, fields: Mapping[str, Any]) -> dict[str, str]:
    """What the form says of these fields; a box that is not ticked says false."""
    return {name: FLAGS[form.flag(name)] if read_as is bool else form.text(name) for name, read_as in fields.items()}


def refilled(form: Form, fields: Mapping[str, Any]) -> Shown:
    """The form as it was sent, to be shown again."""
    return Shown(texts=typed(form, fields), digest=form.text("digest"))


def columns(sheet: Sheet) -> dict[str, Any]:
    """What the text of each field is read as, by published names; the fields that have to be given come first."""
    ordered = dict.fromkeys((*sheet.required, *sheet.columns))
    return {name: sheet.columns[name][1] for name in ordered}


def values(sheet: Sheet, texts: Mapping[str, str], rules: Callable[..., Any]) -> dict[str, Any]:
    """What a form says, by the names in Python, when the rules let it pass; an empty text is no value.

    Raises the `BadParameter` of the first field that breaks one, with those of the others.
    """
    empty = {sheet.columns[name][0]: None for name in texts}

    def passed(**said: Any) -> dict[str, Any]:
        named = empty | said
        rules(**named)
        return named

    return sheet.record(passed, {name: text for name, text in texts.items() if text})


def clash(form: Form, now: Mapping[str, str], said: Mapping[str, str]) -> Clash | None:
    """What somebody else saved since the form was filled; None: nothing."""
    return digests.clash(form.text("digest"), now=now, typed=said)


def told(visitor: Visitor, found: Clash, now: Mapping[str, str]) -> Shown:
    """The form again: with what was typed, what somebody else saved, and the digest of the record as it is."""
    changes = tuple(
        (words.label(visitor, each.name), read(visitor, each.name, each.now), read(visitor, each.name, each.typed))
        for each in found.changed
    )
    return Shown(texts=found.texts, digest=digests.of(now), changes=changes)


def read(visitor: Visitor, name: str, text: str) -> str:
    """A field's text as people read it."""
    if text in FLAGS and name == "activationRequired":
        return words.value(visitor, name, text == FLAGS[1]) or ""
    return words.value(visitor, name, text) or ""
