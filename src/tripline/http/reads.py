"""Runs reads: short ones on the event loop, long ones on a reader thread, where they block no other request.

Handlers of lists check in the order of spec/rest 3.3 inside one transaction: token and role, path ids, ownership,
query. So errors in the query of a foreign list are not revealed, and permission and rows come from one view.
"""

import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from litestar.types import ASGIApp
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from tripline.domain.access import Actor
from tripline.domain.refusals import Refusal
from tripline.http import answers, authentication, pages, permission
from tripline.http.context import Call, context_of
from tripline.store.accounts.accounts import Known
from tripline.store.erasure import erasures
from tripline.store.lists import Span, Window
from tripline.store.transactions import Hot, ReadTx
from tripline.wire.rest.base import Page

_LONG: Final = re.compile(rb"(?:^|&)(?:limit=[^&]{3}|textSearch=)")
"""A query, as it came, that may take long; looked at in bytes, for taking it apart costs as much as finding a row."""

PAGE_BYTES: Final = 8 * 2**20
"""Payload with which a page ends although it is shorter than asked: a device may send 256 KiB at a time, and a page of
a thousand of these would cost a gigabyte."""
PAGE_S: Final = 1.0
"""Time of a thread after which such a page ends as well; it has some rows by then."""
SHORT_BYTES: Final = 2**18
"""Payload of a page that is made on the event loop."""
AT_ONCE: Final = 32
"""Rows that are read before they are weighed."""
_HEAVY: Final = "tripline.heavy"

T = TypeVar("T")
R = TypeVar("R")


class Item(Protocol):
    """A record with an id."""

    @property
    def id(self) -> str:
        """The id."""


I = TypeVar("I", bound=Item)  # noqa: E741


class _HeavyError(Exception):
    """Too much for the event loop."""


class _Weighed(NamedTuple, Generic[R]):
    """The rows of a page that is light enough for the event loop."""

    rows: list[R]
    cut: bool
    """True if more rows follow, which would make the page too heavy."""


class Whole(NamedTuple):
    """A page as one statement."""

    statement: Hot
    values: tuple[Any, ...]
    by: str | UnsetType = UNSET
    """The order of the page, if the link to the next one must repeat it."""


async def one(request: Call, work: Callable[[ReadTx, Actor], Any]) -> ASGIApp:
    """The record that the work finds by key for the caller."""
    store = context_of(request).store
    return answers.ok(await store.read_short(lambda tx: work(tx, permission.permitted_in(tx, request))))


async def many(request: Call, work: Callable[[ReadTx, Actor], Any]) -> ASGIApp:
    """The answer that the work reads for the caller from many rows."""
    return answers.ok(await context_of(request).store.read(lambda tx: work(tx, permission.permitted_in(tx, request))))


async def answer(request: Call, work: Callable[[ReadTx, Actor], Any], *, laborious: bool = False) -> ASGIApp:
    """The page that the work makes for the caller; as `page`."""
    found = await page(request, lambda tx: work(tx, permission.permitted_in(tx, request)), laborious=laborious)
    return answers.ok(found)


async def page(request: Call, work: Callable[[ReadTx], T], *, laborious: bool = False) -> T:
    """The page that the work makes on one consistent view; `laborious`: however few its rows, they cost much."""
    store = context_of(request).store
    if laborious:
        request.scope[_HEAVY] = True  # type: ignore[typeddict-unknown-key]
    elif _is_short(request):
        try:
            return await store.read_short(work)
        except _HeavyError:
            request.scope[_HEAVY] = True  # type: ignore[typeddict-unknown-key]
    return await store.read(work)


async def of_person(request: Call, work: Callable[[ReadTx], T]) -> T:
    """Read a person's driving data.

    While deleted vehicles wait to be erased, that runs on a reader thread too: the newest trips of the person may all
    belong to such a vehicle, and skipping a hundred thousand of them takes a third of a second.
    """

    def guarded(tx: ReadTx) -> T:
        if _is_short(request) and erasures.any_pending(tx):
            raise _HeavyError
        return work(tx)

    return await page(request, guarded)


def by_name(
    request: Call, rows: Callable[[Window], Sequence[I]], *, record: Callable[[I], Any], name: Callable[[I], str]
) -> Page:
    """The page of a list ordered by a name that the query asks for. Raises `BadParameter`, `UnknownOffset`."""
    asked = pages.text_page(request)
    found = rows(replace(asked, limit=asked.limit + 1))
    return pages.text_answer(asked, found, record=record, name_and_id=lambda item: (name(item), item.id))


def by_time(
    request: Call,
    rows: Callable[[Span], Sequence[R]],
    *,
    record: Callable[[R], Any],
    id_of: Callable[[R], str],
    weight: Callable[[R], int] | None = None,
    by: str | UnsetType = UNSET,
) -> Page:
    """The page of a list ordered by time that the query asks for. Raises `BadParameter`, `UnknownOffset`.

    With the `weight` of a row, its bytes, the page ends early when it becomes a burden. `by` is for the link.
    """
    asked = pages.time_page(request)
    span = replace(asked, limit=asked.limit + 1)
    if weight is None:
        return pages.time_answer(asked, rows(span), record=record, id_of=id_of, by=by)
    found = _weighed(request, rows, span, weight=weight, id_of=id_of)
    return pages.time_answer(asked, found.rows, record=record, id_of=id_of, cut=found.cut)


async def by_time_at_once(
    request: Call,
    whole: Callable[[Known, Span], Whole],
    *,
    record: Callable[[tuple[Any, ...]], Any],
    id_of: Callable[[tuple[Any, ...]], str],
) -> Page | None:
    """As `by_time`, in one statement that returns rows only if all checks pass.

    None: it found no rows, or a check needs more. The caller then makes the checks one by one, in the documented order.
    """
    known = authentication.known_actor(request)
    if known is None or not _is_short(request):
        return None
    try:
        asked = pages.time_page(request)
        wanted = whole(known, replace(asked, limit=asked.limit + 1))
    except Refusal:
        return None
    rows = await context_of(request).store.ask(wanted.statement, *wanted.values)
    if not rows:
        return None
    authentication.count(request, known.actor)
    return pages.time_answer(asked, rows, record=record, id_of=id_of, by=wanted.by)


def _weighed(
    request: Call,
    rows: Callable[[Span], Sequence[R]],
    span: Span,
    *,
    weight: Callable[[R], int],
    id_of: Callable[[R], str],
) -> _Weighed[R]:
    """The rows of the span whose total weight and reading time are within bounds, at least one if there is any.

    Raises `_HeavyError` for rows that are too heavy for the event loop.
    """
    on_loop = _is_short(request)
    until = time.monotonic() + PAGE_S
    found: list[R] = []
    total = 0
    while len(found) < span.limit:
        wanted = min(AT_ONCE, span.limit - len(found))
        some = rows(replace(span, limit=wanted, after=id_of(found[-1]) if found else span.after))
        for row in some:
            total += weight(row)
            if on_loop and total > SHORT_BYTES:
                raise _HeavyError
            if found and total > PAGE_BYTES:
                return _Weighed(found, cut=True)
            found.append(row)
        if len(some) < wanted:
            break
        if time.monotonic() > until and len(found) < span.limit:
            # The last row read may also be the last of the list: leave it to the next page, so that `cut` is true.
            return _Weighed(found[:-1], cut=True)
    return _Weighed(found, cut=False)


def _is_short(request: Call) -> bool:
    """True below 100 rows of little weight, found by an index: about the time of a thread hop. The parameters'
    values are checked later."""
    return _HEAVY not in request.scope and _LONG.search(request.scope["query_string"]) is None
