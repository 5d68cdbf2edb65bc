"""Words of a draft: names of columns, contents of a row, and its faults."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from tripline.domain.import_drafts import Draft, RowState
from tripline.domain.refusals import Refusal
from tripline.language import catalogue, headings
from tripline.portal.frame.visitors import Visitor
from tripline.services.imports.draft_pages import RowView

UNTOLD: Final = "credentialsId"
CELL: Final = "cell-"
"""Prefix of a cell's field name, before the column's index."""


def sentence(visitor: Visitor, refusal: Refusal) -> str:
    """The text of a refusal for the visitor; the column has its name in files."""
    label = None if refusal.field is None else heading(visitor, refusal.field)
    return catalogue.sentence(refusal, visitor.language, label=label)


def heading(visitor: Visitor, column: str) -> str:
    """A column's name in the visitor's language."""
    return headings.shown(column, visitor.language)


def shown_columns(visitor: Visitor, found: Draft) -> list[tuple[int, str, str]]:
    """The used columns: index in the file, field, and name in the visitor's language."""
    return [(at, name, heading(visitor, name)) for at, name in enumerate(found.columns) if name is not None]


def row_texts(found: Draft, cells: Sequence[str]) -> dict[str, str]:
    """The initial values of a row's form: the used columns, and cells beyond the file's columns."""
    used = [at for at, name in enumerate(found.columns) if name is not None]
    places = (*used, *range(len(found.header), len(cells)))
    return {f"{CELL}{at}": cells[at] if at < len(cells) else "" for at in places}


def troubles(visitor: Visitor, row: RowView) -> dict[str | None, str]:
    """The faults of a row by column, a sentence each. The key None is for the row as a whole.

    A Korean sentence begins with the column's name, which is removed: the page shows it above the cell.
    """
    told: dict[str | None, str] = {}
    for refusal in row.refusals:
        above = "" if refusal.field is None else f"{heading(visitor, refusal.field)}: "
        told[refusal.field] = sentence(visitor, refusal).removeprefix(above)
    return told


def leads(found: Draft, row: RowView) -> dict[str, tuple[str, str]]:
    """Link to the original of each duplicate cell, by column: an address and the key of its text.

    Access tokens are never put into an address.
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
