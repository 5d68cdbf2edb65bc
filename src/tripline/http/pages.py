"""Pages: the parameters of a list request, and the answer with its link to the next page (spec/rest 5).

The store is asked for one row more than the page shows (`reads.py`), which shows that more follow. Unknown query
parameters are ignored.
"""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal, TypeVar
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from tripline.domain import fields, instants
from tripline.domain.refusals import BadParameter
from tripline.http import parameters
from tripline.http.context import Call
from tripline.http.operations import PageOf, Value
from tripline.http.parameters import Query
from tripline.store.lists import Span, Window
from tripline.wire.rest.base import Page, TextLink, TimeLink

R = TypeVar("R")

LIMIT_MAX: Final = 1_000
SECONDS_BELOW: Final = 10**11
"""A time below this is in seconds (H11): as ms it would be before 1973-03-03."""
LIMIT: Final = Value(
    "limit", Annotated[int, Meta(ge=1)], "items on a page; more than 1000 count as 1000", 20, required=True
)
ID_OFFSET: Final = Value(
    "idOffset", UUID, "id of the last item of the page before", "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"
)
TIME_PAGE: Final = (
    LIMIT,
    ID_OFFSET,
    Value("startTime", float, "from this time on; ms, below 10^11 seconds", 1735689600000),
    Value("endTime", float, "up to this time; ms, below 10^11 seconds", 1735776000000),
    Value("ascOrder", bool, "true: oldest first; else newest first", False),
)
BY_EVENT: Final = "event"
BY: Final = Value(
    "by",
    Literal["event"],
    "`event`: order, bounds and pages go by when it happened (GPS events: `eventTs`; scores: the start of the"
    " trip); else by when it was judged (`createdTime`)",
    BY_EVENT,
)
"""Query parameter of analytics pages, in addition to `TIME_PAGE`."""
TEXT_PAGE: Final = (
    LIMIT,
    ID_OFFSET,
    Value("textSearch", str, "beginning of the name, in any letter case", "12"),
    Value("textOffset", str, "name of the last item of the page before", "12가3456"),
)
OF_COMPANY: Final = Value(
    "companyId", UUID, "whose; the caller's company when absent", "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"
)
_NUMBER: Final = re.compile(r"-?[0-9]{1,100}(\.[0-9]{1,20})?")
"""A time is a number: clocks that count seconds give fractions."""
_DIGITS_MAX: Final = 100
"""Of an integer that is worth reading; "all of them" is sent as 2^63 - 1."""


def timed(record: type) -> PageOf:
    """An answer of pages that are ordered by time."""
    return PageOf(record=record, timed=True, query=TIME_PAGE)


def named(record: type) -> PageOf:
    """An answer of pages that are ordered by a name."""
    return PageOf(record=record, timed=False, query=TEXT_PAGE)


def time_page(request: Call) -> Span:
    """The rows on the page of a list ordered by time. Raises `BadParameter`."""
    query = request.query_params
    return Span(
        limit=limit_asked(query),
        start_ms=time_asked(query, "startTime"),
        end_ms=time_asked(query, "endTime"),
        ascending=bool(parameters.query_flag(query, "ascOrder")),
        after=parameters.query_id(query, "idOffset"),
    )


def by_event(request: Call) -> bool:
    """True if a page of analytics is ordered by the time of the event. Raises `BadParameter`."""
    asked = parameters.query_text(request.query_params, BY.name)
    return fields.one_of(BY.name, asked, (BY_EVENT,)) is not None


def text_page(request: Call) -> Window:
    """The rows on the page of a list ordered by a name. Raises `BadParameter`."""
    query = request.query_params
    return Window(
        limit=limit_asked(query),
        search=parameters.query_text(query, "textSearch"),
        text_offset=parameters.query_text(query, "textOffset"),
        id_offset=parameters.query_id(query, "idOffset"),
    )


def time_answer(
    page: Span,
    rows: Sequence[R],
    *,
    record: Callable[[R], Any],
    id_of: Callable[[R], str],
    cut: bool = False,
    by: str | UnsetType = UNSET,
) -> Page:
    """The answer with at most `page.limit` of the `page.limit + 1` rows that were read; `cut`: more rows
    follow, although these are fewer. `by`: the order of the page, if the link to the next one must repeat it."""
    shown = rows[: page.limit]
    link = None
    if cut or len(rows) > page.limit:
        link = TimeLink(page.limit, page.start_ms, page.end_ms, page.ascending, id_of(shown[-1]), by)
    return Page([record(row) for row in shown], link, link is not None)


def text_answer(
    page: Window, rows: Sequence[R], *, record: Callable[[R], Any], name_and_id: Callable[[R], tuple[str, str]]
) -> Page:
    """The answer with at most `page.limit` of the `page.limit + 1` rows that were read."""
    shown = rows[: page.limit]
    link = None
    if len(rows) > page.limit:
        last_name, last_id = name_and_id(shown[-1])
        bound = None if page.search is None else page.search + "\uffff"
        link = TextLink(page.limit, page.search, bound, last_name, last_id)
    return Page([record(row) for row in shown], link, link is not None)


def limit_asked(query: Query) -> int:
    """How many items the query asks for, at most `LIMIT_MAX`. Raises `BadParameter`."""
    text = parameters.query_text(query, "limit")
    if text is None:
        raise BadParameter.missing("limit")
    limit = _integer("limit", text)
    if limit < 1:
        raise BadParameter("at_least_1", field="limit")
    return min(limit, LIMIT_MAX)


def time_asked(query: Query, name: str) -> int | None:
    """The instant of this name in the query, epoch ms. Raises `BadParameter`."""
    text = parameters.query_text(query, name)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise BadParameter("time", field=name)
    value = float(text)
    at_ms = round(value * 1000 if value < SECONDS_BELOW else value)
    if not instants.FIRST_MS <= at_ms <= instants.LAST_MS:
        raise BadParameter("time", field=name)
    return at_ms


def _integer(name: str, text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS_MAX):
        raise BadParameter("integer", field=name)
    return int(text)
