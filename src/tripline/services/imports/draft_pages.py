"""Pages of a draft's rows, filtered by verdict, each row with the problems of its cells.

A page begins at a row number, and reads just the blocks it needs. A search scans the packed texts of all blocks, and
unpacks only the blocks with a match.

Not here: computing verdicts (`draft_rows.py`).
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

import msgspec

from tripline import cooperative
from tripline.domain import import_drafts
from tripline.domain.access import Actor
from tripline.domain.import_drafts import Draft, DraftId, RowState
from tripline.domain.refusals import BadParameter, NotFound, Refusal
from tripline.services.imports import draft_blocks, draft_rows, drafts
from tripline.services.imports.draft_blocks import DraftNames
from tripline.store.fleet import import_blocks
from tripline.store.fleet import import_drafts as rows_of_drafts
from tripline.store.fleet.import_blocks import Block, Sum
from tripline.store.transactions import ReadTx

MOST: Final = 200
"""Rows of a page."""
SEARCH: Final = "q"
"""The query parameter with the search text."""
SEARCH_MAX: Final = 255
"""Characters of a search."""
SEARCHED: Final = 128 * 2**20
"""Bytes of text that a page of a search may scan: twice the largest file by default."""
UNPACKED: Final = 400
"""Most matching blocks to unpack: 200,000 rows, the largest file by default."""
_AT_ONCE: Final = 25
"""Blocks read at once by a search."""
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
    """A search in a draft reads more text than a page of it may."""

    code = "import.search_too_long"


class RowPage(msgspec.Struct, frozen=True):
    """Some rows of a draft, in order."""

    draft: Draft
    rows: Sequence[RowView]
    before: int | None
    """Row number before which the previous page ends."""
    after: int | None
    """Row number after which the next page begins."""


class _Sought(msgspec.Struct, frozen=True):
    """A parsed search."""

    needle: bytes
    number: int | None
    """Also match the row with this number."""
    columns: Sequence[int]
    """Positions of the columns in use: other cells are not shown."""

    def is_in(self, number: int, cells: Sequence[str]) -> bool:
        """True if the row has the number, or one of its shown cells contains the text."""
        if number == self.number:
            return True
        # Joined, which takes a tenth of the time: the separator cannot occur in a search text.
        return self.needle in draft_blocks.compared(
            _BETWEEN.join([cells[at] for at in self.columns if at < len(cells)])
        )


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
    backwards = before is not None
    wanted = min(limit, MOST) + 1
    found: list[RowView] = []
    sought = _sought(draft, search)
    for row in _rows(tx, draft, state, sought, start=before if backwards else after, backwards=backwards):
        found.append(row)
        if len(found) == wanted:
            break
    more = len(found) == wanted
    shown = found[: wanted - 1]
    if backwards:
        shown.reverse()
    earlier = more if backwards else after is not None
    later = before is not None if backwards else more
    return RowPage(
        draft,
        _with_row_numbers(tx, draft, shown),
        shown[0].number if shown and earlier else None,
        shown[-1].number if shown and later else None,
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
    for block in import_blocks.read(tx, draft.id, first=0, count=1):
        for cells in draft_blocks.rows_of(block).cells:
            found = [value or text.strip() for value, text in zip_longest(found, cells, fillvalue="")][: len(found)]
            if all(found):
                break
    return found


class Names:
    """Names of a draft, reloaded only after a change."""

    def __init__(self) -> None:
        self._read: tuple[int, DraftNames] | None = None

    def of(self, tx: ReadTx, draft: Draft) -> DraftNames:
        """Return the current names."""
        version = rows_of_drafts.version_of(tx, draft.id)
        if self._read is None or self._read[0] != version:
            self._read = version, DraftNames(tx, draft.id, drafts.kind_of(draft))
        return self._read[1]


def every(
    tx: ReadTx, draft: Draft, block: Block, states: Sequence[RowState], names: Names | None = None
) -> list[RowView]:
    """Rows of a block with one of these verdicts; pass `names` when reading several blocks."""
    return _with_row_numbers(tx, draft, [row for row in _views(block) if row.state in states], names)


def _sought(draft: Draft, search: str) -> _Sought | None:
    text = search.replace(_BETWEEN, "").strip()[:SEARCH_MAX]
    if not text:
        return None
    is_number = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
    columns = [at for at, name in enumerate(draft.columns) if name is not None]
    return _Sought(draft_blocks.compared(text), int(text) if is_number else None, columns)


def _rows(
    tx: ReadTx, draft: Draft, state: RowState | None, sought: _Sought | None, *, start: int | None, backwards: bool
) -> Iterator[RowView]:
    """Rows after (or before, going back) the start."""
    sums = import_blocks.sums(tx, draft.id)
    wanted = [
        each
        for each in sums
        if (state is None or getattr(each, draft_blocks.COUNTED[state]) > 0)
        and (start is None or not _is_past(each, sums, start, backwards))
    ]
    if backwards:
        wanted.reverse()
    for block in _blocks(tx, draft, wanted) if sought is None else _hits(tx, draft, wanted, sums, sought):
        views = _views(block, state, sought)
        for view in reversed(views) if backwards else views:
            if start is None or (view.number < start if backwards else view.number > start):
                yield view


def _blocks(tx: ReadTx, draft: Draft, wanted: Sequence[Sum]) -> Iterator[Block]:
    for each in wanted:
        yield from import_blocks.read(tx, draft.id, first=each.no, count=1)


def _hits(tx: ReadTx, draft: Draft, wanted: Sequence[Sum], sums: Sequence[Sum], sought: _Sought) -> Iterator[Block]:
    """Blocks that may contain the text, in this order. Raises `SearchTooLong`."""
    searched = unpacked = 0
    for at in range(0, len(wanted), _AT_ONCE):
        some = wanted[at : at + _AT_ONCE]
        texts = import_blocks.texts(tx, draft.id, [each.no for each in some])
        hits = []
        for each in cooperative.each(some):
            text = draft_blocks.text_of(texts[each.no])
            searched += len(text)
            if sought.needle in text or _has_number(each, sums, sought.number):
                hits.append(each)
        unpacked += len(hits)
        if searched > SEARCHED or unpacked > UNPACKED:
            raise SearchTooLong(field=SEARCH, mib=SEARCHED >> 20, rows=UNPACKED * draft_blocks.ROWS)
        yield from _blocks(tx, draft, hits)


def _has_number(block: Sum, sums: Sequence[Sum], number: int | None) -> bool:
    """True if the row with this number can be in the block."""
    if number is None or number < block.first_row:
        return False
    return block.no + 1 == len(sums) or number < sums[block.no + 1].first_row


def _is_past(block: Sum, sums: Sequence[Sum], start: int, backwards: bool) -> bool:
    """True if no row of the block can be on the page."""
    if backwards:
        return block.first_row >= start
    return block.no + 1 < len(sums) and sums[block.no + 1].first_row <= start + 1


def _views(block: Block, state: RowState | None = None, sought: _Sought | None = None) -> list[RowView]:
    rows, verdicts = draft_blocks.rows_of(block), draft_blocks.verdicts_of(block)
    if verdicts is None:
        return []
    return [
        RowView(
            number, cells, RowState(now), [import_drafts.refusal_of(each) for each in verdicts.troubles.get(at, ())]
        )
        for at, (number, cells, now) in enumerate(
            cooperative.each(zip(rows.numbers, rows.cells, verdicts.states, strict=True))
        )
        if (state is None or now == state) and (sought is None or sought.is_in(number, cells))
    ]


def _with_row_numbers(tx: ReadTx, draft: Draft, views: list[RowView], names: Names | None = None) -> list[RowView]:
    """Add to each duplicate the number of the first row with the same name."""
    if not any(view.state is RowState.DUPLICATE for view in views):
        return views
    finder = _Finder(tx, draft, (names or Names()).of(tx, draft))
    return [finder.completed(view) if view.state is RowState.DUPLICATE else view for view in cooperative.each(views)]


class _Finder:
    """Finds the first row with a name."""

    def __init__(self, tx: ReadTx, draft: Draft, names: DraftNames) -> None:
        self._tx = tx
        self._draft = draft
        self._kind = drafts.kind_of(draft)
        self._names = names
        self._numbers: dict[int, list[int]] = {}

    def completed(self, view: RowView) -> RowView:
        refusals = [self._numbered(view, each) for each in view.refusals]
        return RowView(view.number, view.cells, view.state, refusals)

    def _numbered(self, view: RowView, refusal: Refusal) -> Refusal:
        if not draft_rows.is_repetition(import_drafts.trouble_of(refusal)):
            return refusal
        row = draft_rows.examined(view.cells, self._draft.columns, self._kind)
        names = draft_rows.hashed(row, self._kind)
        for at, key in enumerate(self._kind.keys):
            place = self._names.first(at, names[at])
            if key.column == refusal.field and place is not None:
                return type(refusal)(refusal.case, field=refusal.field, row=self._number(*place))
        return refusal

    def _number(self, no: int, at: int) -> int:
        if no not in self._numbers:
            (block,) = import_blocks.read(self._tx, self._draft.id, first=no, count=1)
            self._numbers[no] = draft_blocks.rows_of(block).numbers
        return self._numbers[no][at]
