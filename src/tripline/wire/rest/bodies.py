"""Reads the JSON object of a request into a struct, whole or in part; and small helpers for records.

Unknown fields of a request are ignored; a field of the wrong JSON type is refused by name.
"""

import functools
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET

from tripline.domain.refusals import BadParameter, Word

T = TypeVar("T", bound=msgspec.Struct)

_NEVER_TEXT: Final = frozenset({"mileage", "displacement", "activationRequired", "rpcNotifyPort"})
_PLACE: Final = re.compile(r"(.*?) - at `\$\.(\w+)", re.DOTALL)
_TYPES: Final = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")


class JsonType(Word, Enum):
    """JSON types by their general names, independent of the sender's language."""

    STR = "text"
    INT = "a whole number"
    FLOAT = "a number"
    BOOL = "true or false"
    OBJECT = "an object"
    ARRAY = "an array"


def read(body: dict[str, Any], request: type[T]) -> T:
    """The request in a JSON object. Raises `BadParameter` with the name of a field that has the wrong type.

    An empty text in place of a number or flag, which forms send for a blank input, counts as not sent.
    """
    sent = {name: value for name, value in body.items() if value != "" or name not in _NEVER_TEXT}
    try:
        return msgspec.convert(sent, request)
    except msgspec.ValidationError as error:
        found = _PLACE.match(str(error))
        assert found is not None  # every error of a struct's field has a place
        raise _mistyped(found[2], found[1]) from error


def read_partial(body: dict[str, Any], request: type[msgspec.Struct]) -> dict[str, Any]:
    """The fields named in the body of a partial update, by the struct's own (Python) names; otherwise as `read`.

    A null is a value: it clears the field.
    """
    sent = read(body, request)
    return {name: getattr(sent, name) for name, encoded in _encoded(request).items() if encoded in body}


def one_name(sent: Mapping[str, Any], request: type[msgspec.Struct], others: Mapping[str, str]) -> dict[str, Any]:
    """The fields that were sent (of `read_partial`, or of a whole struct) with those under a second name moved to the
    first; `others`: second name to first, as the struct has them. Raises `BadParameter` when both were sent and differ.
    """
    fields = dict(sent)
    encoded = _encoded(request)
    for other, name in others.items():
        value = fields.pop(other, UNSET)
        if value is UNSET:
            continue
        known = fields.get(name)
        if None not in (value, known) and value != known:
            raise BadParameter("same_field", one=encoded[other], other=encoded[name])
        fields[name] = known if value is None else value
    return fields


@functools.cache
def _encoded(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Field name -> JSON key. Kept: msgspec resolves every annotation for it anew, which takes half a millisecond."""
    return {field.name: field.encode_name for field in msgspec.structs.fields(struct)}


def _mistyped(name: str, trouble: str) -> BadParameter:
    """The refusal with the expected and the actual type; other errors have the decoder's own words."""
    found = _TYPES.fullmatch(trouble)
    if found is None:
        return BadParameter("type_trouble", field=name, trouble=trouble)
    # Null is not an intended type.
    expected = tuple(_known_type(each) for each in found[1].split(" | ") if each != "null")
    return BadParameter("type", field=name, expected=expected, got=_known_type(found[2]))


def _known_type(name: str) -> str:
    known = JsonType.__members__.get(name.upper())
    return name if known is None else known


def number(value: float) -> float:
    """The number in its usual form: 2018, not 2018.0."""
    return int(value) if value == int(value) else value
