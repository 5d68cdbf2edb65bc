"""Forms of records: their initial texts, and the check for changes that another user saved meanwhile."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

import msgspec
from litestar.response import Response

from tripline.domain.refusals import Conflict, Refusal
from tripline.http.context import Call, context_of
from tripline.portal.frame import digests, forms, words
from tripline.portal.frame.digests import Clash
from tripline.portal.frame.forms import Form
from tripline.portal.frame.visitors import Visitor
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.csv_registrations import Sheet

FLAGS: Final = ("false", "true")
R = TypeVar("R")
T = TypeVar("T")


class ChangedMeanwhile(Conflict):
    """Another user changed the record after the form was filled."""

    code = "form.changed_meanwhile"


class FormValues(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of an edit form."""

    texts: Mapping[str, str]
    digest: str
    changes: tuple[tuple[str, str, str], ...] = ()
    """Fields that another user changed meanwhile: label, stored text, text typed here."""


def shown(texts: Mapping[str, str]) -> FormValues:
    """The form of a record with these texts."""
    return FormValues(texts=texts, digest=digests.of(texts))


def typed(form: Form, fields: Mapping[str, Any]) -> dict[str, str]:
    """The submitted values of these fields; a box that is not ticked is false."""
    return {name: FLAGS[form.flag(name)] if read_as is bool else form.text(name) for name, read_as in fields.items()}


def refilled(form: Form, fields: Mapping[str, Any]) -> FormValues:
    """The form as submitted, to be shown again."""
    return FormValues(texts=typed(form, fields), digest=form.text("digest"))


def python_name(name: str) -> str:
    """The domain's name of a field: `pic_name` of `picName`."""
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def columns(sheet: Sheet) -> dict[str, Any]:
    """The type of each field, by published name, required fields first."""
    ordered = dict.fromkeys((*sheet.required, *sheet.columns))
    return {name: sheet.columns[name][1] for name in ordered}


def published(sheet: Sheet, record: msgspec.Struct, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The fields that the record has of its registration (`kind`), by published name, in the order of the form."""
    fields = {name: sheet.columns[name][0] for name in columns(sheet)}
    return {name: getattr(record, field) for name, field in fields.items() if field in kind.__struct_fields__}


def values(sheet: Sheet, texts: Mapping[str, str], rules: Callable[..., Any]) -> dict[str, Any]:
    """Validate the submitted texts and return them by Python name; an empty text becomes None.

    Raises a single `BadParameter` with all invalid fields, the first one leading.
    """
    empty = {sheet.columns[name][0]: None for name in texts}

    def passed(**said: Any) -> dict[str, Any]:
        named = empty | said
        rules(**named)
        return named

    return sheet.record(passed, {name: text for name, text in texts.items() if text})


async def saved(
    request: Call,
    visitor: Visitor,
    said: Mapping[str, str],
    before: R,
    *,
    find: Callable[[ReadTx], R],
    texts: Callable[[R], Mapping[str, str]],
    apply: Callable[[WriteTx, R], T],
    show: Callable[[R, FormValues, Refusal], Response[bytes]],
) -> T | Response[bytes]:
    """Change a record as the submitted form says; return what `apply` returns, or the form again: with the refusal of
    the change, or with the changes that another user saved meanwhile.

    `said` are the submitted texts, `before` is the record before the transaction.
    """
    digest = cast(Form, forms.sent(request)).text("digest")

    def work(tx: WriteTx) -> tuple[T | None, R, Clash | None]:
        now = find(tx)
        clash = digests.clash(digest, now=texts(now), typed=said)
        return (apply(tx, now) if clash is None else None), now, clash

    try:
        changed, now, clash = await context_of(request).store.write(work)
    except Refusal as refusal:
        return show(before, FormValues(texts=said, digest=digest), forms.of_form(refusal))
    if clash is not None:
        return show(now, _told(visitor, clash, texts(now)), ChangedMeanwhile())
    return cast(T, changed)


def _told(visitor: Visitor, found: Clash, now: Mapping[str, str]) -> FormValues:
    """The form again, with the typed values, the changes of the other user, and the digest of the current record."""
    changes = tuple(
        (words.label(visitor, each.name), read(visitor, each.name, each.now), read(visitor, each.name, each.typed))
        for each in found.changed
    )
    return FormValues(texts=found.texts, digest=digests.of(now), changes=changes)


def read(visitor: Visitor, name: str, text: str) -> str:
    """A field's text, formatted for reading."""
    if text in FLAGS and name == "activationRequired":
        return words.value(visitor, name, text == FLAGS[1]) or ""
    return words.value(visitor, name, text) or ""
