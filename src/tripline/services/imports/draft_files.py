"""Files to download: the rows of a draft that cannot be registered, each with its reasons; and sample files.

The corrected file can be uploaded unchanged: it has the columns of the first one, except columns added by an earlier
download, and two more that imports ignore. An apostrophe marks each formula; the next upload removes it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

import msgspec

from tripline import cooperative
from tripline.domain.import_drafts import Draft, RowState
from tripline.domain.refusals import BadParameter, Refusal
from tripline.language import headings
from tripline.language.catalogue import Language
from tripline.services.imports import draft_rows, drafts
from tripline.services.imports.kinds import ImportKind
from tripline.store.fleet.import_rows import Row
from tripline.store.transactions import Store
from tripline.wire import csv_files

DOWNLOADED: Final = 50_000
"""Most rows of a file of bad rows; their reasons take some seconds."""
NOT_REGISTERED: Final = (RowState.BAD, RowState.DUPLICATE)

Turn = Callable[[], AbstractAsyncContextManager[None]]
"""Waits for a turn at writing some rows, and holds it."""
Say = Callable[[Refusal], str]
"""The sentence of a refusal."""


class TooManyBadRows(BadParameter):
    """A draft has more bad and duplicate rows than one file takes."""

    code = "import.too_many_bad_rows"


class Words(msgspec.Struct, frozen=True):
    """The words of the file in its reader's language."""

    row: str
    """Heading of the row numbers."""
    reason: str
    say: Say


async def bad_rows(store: Store, draft: Draft, words: Words, turn: Turn) -> AsyncIterator[bytes]:
    """The file, some hundred rows per turn: every bad and duplicate row with its reasons. Call `require_few` first."""
    own = [
        at for at, heading in enumerate(draft.header) if draft.columns[at] or heading not in (words.row, words.reason)
    ]
    yield csv_files.written([[*(draft.header[at] for at in own), words.row, words.reason]])
    async for rows in draft_rows.portions(store, draft.id, NOT_REGISTERED):
        async with turn():
            written = await asyncio.to_thread(_written, draft, rows, own, words)
        yield written


def sample(kind: ImportKind, language: Language) -> bytes:
    """A file to start from, with every column under the heading of this language and some rows."""
    return kind.sheet.sample_file([headings.shown(column, language) for column in kind.sheet.columns])


def require_few(draft: Draft) -> None:
    """Require verdicts on all rows of a draft, and bad ones that fit in one file. Raises `NotNow`, `TooManyBadRows`."""
    draft.require_verdicts()
    rows = draft.bad + draft.duplicate
    if rows > DOWNLOADED:
        raise TooManyBadRows(rows=rows, most=DOWNLOADED)


def _written(draft: Draft, rows: Sequence[Row], own: Sequence[int], words: Words) -> bytes:
    kind = drafts.kind_of(draft)
    return csv_files.written_on(_line(draft, row, kind, own, words) for row in cooperative.each(rows))


def _line(draft: Draft, row: Row, kind: ImportKind, own: Sequence[int], words: Words) -> list[str]:
    """The row's cells in its own columns, its number and reasons, and the cells beyond the header."""
    cells = [*row.cells, *[""] * (len(draft.header) - len(row.cells))]
    reasons = " ".join(words.say(refusal) for refusal in draft_rows.refusals(row, kind))
    return [*(cells[at] for at in own), str(row.number), reasons, *cells[len(draft.header) :]]
