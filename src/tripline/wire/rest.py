"""The shapes REST answers are made of: ids, pages, errors (interface specification, Conventions; client-surface 3, 5).

Not here: the records of each family (`rest_*.py`), how a page is cut (`api/pages.py`).
"""

from typing import Any, Final

import msgspec

from tripline.domain import ids


class Id(msgspec.Struct, frozen=True, gc=False):
    """An entity's identifier as it appears in records: an object around the UUID."""

    id: str


UNSET: Final = Id(ids.PLACEHOLDER)
"""What an Id field carries when nothing is set."""


def id_or_unset(value: str | None) -> Id:
    """The Id object of a stored id; the placeholder for none."""
    return UNSET if value is None else Id(value)


class Page(msgspec.Struct, rename="camel"):
    """One page of records."""

    data: list[Any]
    next_page_link: "TimeLink | TextLink | None"
    has_next: bool


class TimeLink(msgspec.Struct, frozen=True, rename="camel", tag=False):
    """How to fetch the next page of a list ordered by time."""

    limit: int
    start_time: int | None
    end_time: int | None
    asc_order: bool
    id_offset: str


class TextLink(msgspec.Struct, frozen=True, rename="camel", tag=False):
    """How to fetch the next page of a list ordered by a name."""

    limit: int
    text_search: str | None
    text_search_bound: str | None
    text_offset: str
    id_offset: str


class Health(msgspec.Struct, frozen=True):
    """Whether the program lives, or is ready."""

    status: str


class Count(msgspec.Struct, frozen=True):
    """How many there are."""

    count: int


class ErrorBody(msgspec.Struct, frozen=True, rename="camel"):
    """Every answer that is not a success; `status` repeats the HTTP status, `timestamp` is epoch ms."""

    status: int
    message: str
    error_code: int
    timestamp: int
