"""Words of a draft: what its columns are called, what a row holds, and what is wrong with it.

Not here: the pages that show them (`drafts.py`, `rows.py`).
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from tripline.domain.import_drafts import Draft, RowState
from tripline.domain.refusals import Refusal
from tripline.language import catalogue, headings
from tripline.portal.frame.visitors import Visitor
from tripline.services.imports.draft_pages import RowView

UNTOLD: Final = "credentialsId"
"""The column of access tokens."""
CELL: Final = "cell-"
"""Begins the name of a field that holds a cell of a row; the place of its column follows."""


def sentence(visitor: Visitor, refusal: Refusal) -> str:
    """What to tell the visitor of a refusal, with the column by the name that files give it."""
    label = None if refusal.field is None else heading(visitor, refusal.field)
    return catalogue.sentence(refusal, visitor.language, label=label)


def heading(visitor: Visitor, column: str) -> str:
    """What the visitor calls a column."""
    return headings.shown(column, visitor.language)


def shown_columns(visitor: Visitor, found: Draft) -> list[tuple[int, str, str]]:
    """The columns that are used: place in the file, field, and what the visitor calls it."""
    return [(at, name, heading(visitor, name)) for at, name in enumerate(found.columns) if name is not None]


def row_texts(found: Draft, cells: Sequence[str]) -> dict[str, str]:
    """What the form of a row is filled with: the columns that are used, and cells beyond those of the file."""
    used = [at for at, name in enumerate(found.columns) if name is not None]
    places = (*used, *range(len(found.header), len(cells)))
    return {f"{CELL}{at}": cells[at] if at < len(cells) else "" for at in places}


def troubles(visitor: Visitor, row: RowView) -> dict[str | None, str]:
    """The faults of a row, a sentence for each column. The key None is for the row as a whole.

    Korean sentences begin with the column's name. It already stands above the cell, so it is left out.
    """
    told: dict[str | None, str] = {}
    for refusal in row.refusals:
        above = "" if refusal.field is None else f"{heading(visitor, refusal.field)}: "
        told[refusal.field] = sentence(visitor, refusal).removeprefix(above)
    return told


def leads(found: Draft, row: RowView) -> dict[str, tuple[str, str]]:
    """Where a duplicate's name stands already, by column: an address, and what it leads to (key of a text).

    Access tokens are no part of an address.
    """
    there = {}
    for refusal in row.refusals:
        if row.state is not RowState.DUPLICATE or refusal.field in (None, UNTOLD):
            continue
        if "row" in refusal.values:
            there[str(refusal.field)] = (f"/import/{found.id}/rows/{refusal.values['row']}", "portal.import.first_row")
        else:
            name = row.cells[found.columns.index(refusal.field)]
            there[str(refusal.field)] = (f"/search?{urlencode({'q': name})}", "portal.import.registered_one")
    return there
