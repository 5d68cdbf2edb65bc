"""The shapes of REST answers: ids, pages, errors (spec/interface, Conventions; spec/rest 3, 5)."""

import functools
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeAlias, TypeVar, get_args, get_type_hints

import msgspec

from tripline.domain import ids
from tripline.wire.described import about

T = TypeVar("T", bound=msgspec.Struct)
CAME_WHOLE: Final = "tripline.came_whole"
"""Extension in the ASGI scope of a request whose body arrived together with its head, without waiting."""
KEPT_ELSEWHERE: Final = "tripline.kept_elsewhere"
"""Extension of the other requests: a handler that does not hold the body in memory calls its `tell`."""


class Id(msgspec.Struct, frozen=True, gc=False):
    """An entity's identifier in records: an object around the UUID."""

    id: Annotated[
        str,
        about(
            "UUID of the object; `13814000-1dd2-11b2-8080-808080808080` when nothing is set",
            "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11",
        ),
    ]


UNSET: Final = Id(ids.PLACEHOLDER)
"""The value of an unset Id field."""


def id_or_unset(value: str | None) -> Id:
    """The Id object of a stored id; the placeholder for None."""
    return UNSET if value is None else Id(value)


def record_of(record: type[T], thing: object, **others: Any) -> T:
    """The record with the values that the thing has under the same names, and the `others`.

    Ids become Id objects; `created_time` and `end_ts` come from `created_ms` and `end_ms`. Where a field is never null,
    None becomes the placeholder of an Id or leaves the key out of the answer.
    """
    for name, attribute, is_id, otherwise in _sources(record):
        if name not in others:
            value = getattr(thing, attribute)
            others[name] = otherwise if value is None else Id(value) if is_id else value
    return record(**others)


@functools.cache
def _sources(record: type[msgspec.Struct]) -> list[tuple[str, str, bool, Any]]:
    """For each field: its name, the attribute that it comes from, true for an Id, and the value in place of None."""
    found = []
    hints = get_type_hints(record)
    for name in record.__struct_fields__:
        kinds = get_args(hints[name]) if isinstance(hints[name], UnionType) else (hints[name],)
        stem, _, unit = name.rpartition("_")
        nothing = None if NoneType in kinds else UNSET if Id in kinds else msgspec.UNSET
        found.append((name, f"{stem}_ms" if unit in ("time", "ts") else name, Id in kinds, nothing))
    return found


class Page(msgspec.Struct, rename="camel"):
    """One page of records."""

    data: list[Any]
    next_page_link: "TimeLink | TextLink | None"
    has_next: bool


IdOffset: TypeAlias = Annotated[
    str,
    about("id of the last item of this page; the next page begins after it", "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"),
]


class TimeLink(msgspec.Struct, frozen=True, rename="camel", tag=False):
    """Query of the next page of a list ordered by time."""

    limit: Annotated[int, about("items on a page", 20)]
    start_time: Annotated[
        int | None, about("as asked for: from this time on, epoch ms; null: from the beginning", 1735689600000)
    ]
    end_time: Annotated[int | None, about("as asked for: up to this time, epoch ms; null: up to now", None)]
    asc_order: Annotated[bool, about("as asked for: true: oldest first", False)]
    id_offset: IdOffset
    by: Annotated[
        str | msgspec.UnsetType, about("as asked for: `event`; only in analytics pages that go by it", "event")
    ] = msgspec.UNSET


class TextLink(msgspec.Struct, frozen=True, rename="camel", tag=False):
    """Query of the next page of a list ordered by a name."""

    limit: Annotated[int, about("items on a page", 20)]
    text_search: Annotated[str | None, about("as asked for: beginning of the name; null: every name", "12")]
    text_search_bound: Annotated[
        str | None, about("names of the list are below this text; null: every name", "12\uffff")
    ]
    text_offset: Annotated[str, about("name of the last item of this page", "12가3456")]
    id_offset: IdOffset


class HealthCheck(msgspec.Struct, frozen=True):
    """One requirement of a ready server."""

    name: Annotated[str, about("listeners, store, schema, disk, certificate or bus", "disk")]
    ok: Annotated[bool, about("whether it is well", False)]
    text: Annotated[
        str,
        about(
            "what was found and, when it is not well, what to do",
            "12 MiB are free in /srv/tripline, less than store.reserve_mib (512); make room.",
        ),
    ]


class Health(msgspec.Struct, frozen=True):
    """The process answers."""

    status: Annotated[str, about("always live", "live")]


class Readiness(msgspec.Struct, frozen=True):
    """The readiness of the process."""

    status: Annotated[str, about("ready, starting, stopping or failing", "ready", "failing")]
    checks: Annotated[
        list[HealthCheck],
        about(
            "each thing that a ready server needs",
            [{"name": "listeners", "ok": True, "text": "Every listener is open."}],
        ),
    ]


class Count(msgspec.Struct, frozen=True):
    """A number of objects."""

    count: Annotated[int, about("how many there are", 12)]


class ErrorBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of every answer other than a success; `status` repeats the HTTP status, `timestamp` is epoch ms."""

    status: Annotated[int, about("HTTP status, repeated", 400)]
    message: Annotated[
        str, about("what went wrong and what to mend, for people", "Parameter 'mileage' can't be empty!")
    ]
    error_code: Annotated[
        int,
        about(
            "2 general, 10 authentication, 11 token expired, 20 permission denied, 30 invalid arguments,"
            " 31 bad request parameters, 32 not found",
            31,
        ),
    ]
    timestamp: Annotated[int, about("time of the error, epoch ms", 1760000000000)]
