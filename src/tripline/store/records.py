"""Records of rows: databases keep truth values and enumerations as numbers and texts."""

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from typing import Any, TypeVar, get_args

import msgspec
from msgspec.structs import fields
from sqlalchemy import Row

R = TypeVar("R", bound=msgspec.Struct)


def maker(record: type[R]) -> Callable[[Sequence[Any]], R]:
    """Return a function that makes the record of a row whose first columns are its fields, in their order."""
    names = record.__struct_fields__
    kinds = _kinds(record)

    def make(row: Sequence[Any]) -> R:
        values = [*row[: len(names)]]
        for at, kind in kinds:
            if values[at] is not None:
                values[at] = kind(values[at])
        return record(**dict(zip(names, values, strict=True)))

    return make


def given(record: type[msgspec.Struct], row: Row[Any]) -> dict[str, Any]:
    """Return the values of those fields of a record that a row has under their names."""
    names = record.__struct_fields__
    found = {name: row._mapping[name] for name in names if name in row._mapping}
    for at, kind in _kinds(record):
        if found.get(names[at]) is not None:
            found[names[at]] = kind(found[names[at]])
    return found


@cache
def _kinds(record: type[msgspec.Struct]) -> list[tuple[int, Callable[[Any], Any]]]:
    """Return the places and types of the fields to convert."""
    return [(at, kind) for at, each in enumerate(fields(record)) if (kind := _kind_of(each.type))]


def _kind_of(annotation: Any) -> Callable[[Any], Any] | None:
    """Return the type of a field that databases keep as a number or text: bool or an enumeration, or either or None."""
    types = (each for each in (annotation, *get_args(annotation)) if isinstance(each, type))
    return next((each for each in types if each is bool or issubclass(each, Enum)), None)
