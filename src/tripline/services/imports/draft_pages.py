"""Pages of a draft's rows, filtered by verdict, each row with the problems of its cells.

A page begins at a row number. The store selects rows with the text of a search in any cell; those that match only in
hidden columns are passed over here.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Final

import msgspec

from tripline import cooperative
from tripline.domain.access import Actor
from tripline.domain.import_drafts import Draft, DraftId, RowState
from tripline.domain.refusals import BadParameter, NotFound, Refusal
from tripline.services.imports import draft_rows, drafts
from tripline.services.imports.kinds import ImportKind
from tripline.store.fleet import import_rows
from tripline.store.fleet.import_rows import Row, Search
from tripline.store.transactions import ReadTx

MOST: Final = 200
"""Rows of a page."""
SEARCH: Final = "q"
"""The query parameter with the search text."""
SEARCH_MAX: Final = 255
"""Characters of a search."""
SEARCHED: Final = 200_000
"""Rows that a page of a search may read: the largest file by default."""
_LONGEST_NUMBER: Final = 9
_BETWEEN: Final = "\0"


class RowView(msgspec.Struct, frozen=True):
    """A row."""

    number: int
    cells: Sequence[str]
    """As many as the file has columns, plus non-empty ones beyond them."""
    state: RowState
    refusals: Sequence[Refusal]
    """Problems of the row; `field` is our name of a column, None for the whole row."""


class SearchTooLong(BadParameter):
    """A search in a draft reads more rows than a page of it may."""

    code = "import.search_too_long"


class RowPage(msgspec.Struct, frozen=True):
    """Some rows of a draft, in order."""

    draft: Draft
    rows: Sequence[RowView]
    before: int | None
    """Row number before which the previous page ends."""
    after: int | None
    """Row number after which the next page begins."""


def page(
    tx: ReadTx,
    *,
    actor: Actor,
    draft_id: DraftId,
    state: RowState | None,
    limit: int,
    now_ms: int,
    after: int | None = None,
    before: int | None = None,
    search: str = "",
) -> RowPage:
    """Rows with this verdict (None: every row), after or before a row; a search restricts them to rows with this number
    or with the text in a cell, ignoring the case of A to Z. Raises `NotNow` if the draft was never checked."""
    draft = drafts.mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    draft.require_verdicts()
    backwards, wanted = before is not None, min(limit, MOST) + 1
    start = before or after or 0
    found = list(islice(_rows(tx, draft, state, search, wanted=wanted, start=start, backwards=backwards), wanted))
    more = len(found) == wanted
    kind = drafts.kind_of(draft)
    shown = [view(row, kind) for row in found[: wanted - 1]]
    if backwards:
        shown.reverse()
    earlier = more if backwards else after is not None
    later = backwards or more
    return RowPage(
        draft, shown, shown[0].number if shown and earlier else None, shown[-1].number if shown and later else None
    )


def one(tx: ReadTx, *, actor: Actor, draft_id: DraftId, number: int, now_ms: int) -> RowView:
    """Return the row with this number. Raises `NotFound`, `NotNow`."""
    found = page(tx, actor=actor, draft_id=draft_id, state=None, limit=1, now_ms=now_ms, after=number - 1)
    if not found.rows or found.rows[0].number != number:
        raise NotFound("row", row=number)
    return found.rows[0]


def first_values(tx: ReadTx, draft: Draft) -> list[str]:
    """Sample values from the first rows, one per column of the file; empty if they have none."""
    found = [""] * len(draft.header)
    for row in import_rows.read(tx, draft.id, limit=draft_rows.ROWS):
        found = [value or text.strip() for value, text in zip_longest(found, row.cells, fillvalue="")][: len(found)]
        if all(found):
            break
    return found


def view(row: Row, kind: ImportKind) -> RowView:
    """The row as it is shown."""
    return RowView(row.number, row.cells, row.state, draft_rows.refusals(row, kind))


def _rows(
    tx: ReadTx, draft: Draft, state: RowState | None, search: str, *, wanted: int, start: int, backwards: bool
) -> Iterator[Row]:
    """Rows after (or before, going back) the start. Raises `SearchTooLong`."""
    sought, searched = _sought(search), 0
    limit, states = wanted if sought is None else draft_rows.ROWS, () if state is None else (state,)
    while True:
        rows = import_rows.read(
            tx, draft.id, start=start, backwards=backwards, limit=limit, states=states, search=sought
        )
        yield from (row for row in cooperative.each(rows) if sought is None or _is_shown(draft, row, sought))
        searched += len(rows)
        if sought is not None and searched > SEARCHED:
            raise SearchTooLong(field=SEARCH, rows=SEARCHED)
        if len(rows) < limit:
            return
        start = rows[-1].number


def _sought(search: str) -> Search | None:
    text = search.replace(_BETWEEN, "").strip()[:SEARCH_MAX]
    if not text:
        return None
    is_number = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
    return Search(text, int(text) if is_number else None)


def _is_shown(draft: Draft, row: Row, sought: Search) -> bool:
    """True if the row has the number, or one of its shown cells contains the text: columns out of use are hidden."""
    if row.number == sought.number:
        return True
    # Joined, which takes a tenth of the time: the separator cannot occur in a search text.
    shown = _BETWEEN.join([cell for cell, name in zip(row.cells, draft.columns, strict=False) if name is not None])
    return _compared(sought.text) in _compared(shown)


def _compared(text: str) -> bytes:
    return text.encode().lower()
