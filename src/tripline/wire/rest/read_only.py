"""Fields that a record has and its request has not: a body may repeat them and cannot set them.

A known field never vanishes in silence: it is kept, or is what the record shows anyway, or is refused by name. A field
that no record of the operation has is ignored.

Not here: reading the fields of a request (`bodies.py`).
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from tripline.domain import fields, ids

T = TypeVar("T", bound=msgspec.Struct)

_MOVING: Final = frozenset({"latestTripId", "lastTripMsgType"})
"""They move while vehicles drive: what a form read some minutes ago is no wish to change them."""
_WRITERS: Final = dict.fromkeys(("mdn", "nwStatus"), fields.Writer.CARRIER)


def registered(body: Mapping[str, Any], request: type[msgspec.Struct], record: T, *others: type[msgspec.Struct]) -> T:
    """The record that a registration made, when the body says nothing else of the fields that only the record has.

    `others`: records that the operation answers in other cases. Raises `fields.ReadOnly`.
    """
    shown = msgspec.to_builtins(record)
    for name in _read_only(request, type(record), *others):
        sent = _plain(body.get(name))
        if sent is not None and not _same(sent, _plain(shown.get(name))):
            raise fields.read_only(name, writer=_WRITERS.get(name, fields.Writer.PLATFORM))
    return record


def not_registered(body: Mapping[str, Any], request: type[msgspec.Struct], kind: type[msgspec.Struct]) -> None:
    """As `registered`, of a record that the sender is not shown. Raises `fields.ReadOnly`."""
    for name in _read_only(request, kind):
        if _plain(body.get(name)) is not None:
            raise fields.read_only(name)


def changed(body: Mapping[str, Any], request: type[msgspec.Struct], record: T) -> T:
    """The record, when the body of a change says of the fields that only the record has what the record shows.

    Raises `fields.ReadOnly`.
    """
    shown = msgspec.to_builtins(record)
    for name in _read_only(request, type(record)):
        if name in body and name not in _MOVING and not _same(_plain(body[name]), _plain(shown.get(name))):
            raise fields.read_only(name, writer=_WRITERS.get(name, fields.Writer.PLATFORM))
    return record


def _read_only(request: type[msgspec.Struct], *records: type[msgspec.Struct]) -> list[str]:
    """Names of the fields that the records have and the request has not."""
    written = {field.encode_name for field in msgspec.structs.fields(request)}
    names = dict.fromkeys(field.encode_name for record in records for field in msgspec.structs.fields(record))
    return [name for name in names if name not in written]


def _plain(value: Any) -> Any:
    """A value as it is compared: an Id object or bare UUID in one form, None for what stands for nothing."""
    if isinstance(value, dict) and value.keys() == {"id"}:
        value = value["id"]
    if value in ("", ids.PLACEHOLDER):
        return None
    return (ids.canonical(value) or value) if isinstance(value, str) else value


def _same(sent: Any, shown: Any) -> bool:
    return isinstance(sent, bool) is isinstance(shown, bool) and bool(sent == shown)
