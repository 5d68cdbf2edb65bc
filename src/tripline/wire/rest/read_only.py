"""Fields that a record has and its request lacks: a body may repeat them but cannot set them.

A known field is never ignored silently: it is stored, or matches the record, or is refused by name. A field that no
record of the operation has is ignored.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from tripline.domain import fields, ids

T = TypeVar("T", bound=msgspec.Struct)

_MOVING: Final = frozenset({"latestTripId", "lastTripMsgType"})
"""They change while vehicles drive, so an older value from a form is not an attempt to change them."""
_WRITERS: Final = dict.fromkeys(("mdn", "nwStatus"), fields.Writer.CARRIER)


def registered(body: Mapping[str, Any], request: type[msgspec.Struct], record: T, *others: type[msgspec.Struct]) -> T:
    """The record of a registration, unless the body contradicts its read-only fields.

    `others`: records that the operation answers in other cases. Raises `fields.ReadOnly`.
    """
    shown = msgspec.to_builtins(record)
    for name in _read_only(request, type(record), *others):
        sent = _plain(body.get(name))
        if sent is not None and not _same(sent, _plain(shown.get(name))):
            raise fields.read_only(name, writer=_WRITERS.get(name, fields.Writer.PLATFORM))
    return record


def not_registered(body: Mapping[str, Any], request: type[msgspec.Struct], kind: type[msgspec.Struct]) -> None:
    """As `registered`, for a record that is not shown to the sender. Raises `fields.ReadOnly`."""
    for name in _read_only(request, kind):
        if _plain(body.get(name)) is not None:
            raise fields.read_only(name)


def changed(body: Mapping[str, Any], request: type[msgspec.Struct], record: T) -> T:
    """The record of a change, unless the body contradicts its read-only fields.

    Raises `fields.ReadOnly`.
    """
    shown = msgspec.to_builtins(record)
    for name in _read_only(request, type(record)):
        if name in body and name not in _MOVING and not _same(_plain(body[name]), _plain(shown.get(name))):
            raise fields.read_only(name, writer=_WRITERS.get(name, fields.Writer.PLATFORM))
    return record


def _read_only(request: type[msgspec.Struct], *records: type[msgspec.Struct]) -> list[str]:
    """Names of the fields that the records have and the request lacks."""
    written = {field.encode_name for field in msgspec.structs.fields(request)}
    names = dict.fromkeys(field.encode_name for record in records for field in msgspec.structs.fields(record))
    return [name for name in names if name not in written]


def _plain(value: Any) -> Any:
    """A value for comparison: an Id object or bare UUID in one form, None for an empty text or the placeholder."""
    if isinstance(value, dict) and value.keys() == {"id"}:
        value = value["id"]
    if value in ("", ids.PLACEHOLDER):
        return None
    return (ids.canonical(value) or value) if isinstance(value, str) else value


def _same(sent: Any, shown: Any) -> bool:
    return isinstance(sent, bool) is isinstance(shown, bool) and bool(sent == shown)
