"""Rows of import drafts: the cells of a row of the file, and its verdict.

A row's names are stored as hashes, so that the first row with a name is one probe of an index.

No function takes a scope: the caller checked access to the draft (`import_drafts.find`), or works for its owner.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, case, func, or_, select

from tripline.domain.import_drafts import DraftId, RowState, Trouble
from tripline.store.bulk import Bulk
from tripline.store.tables import import_row
from tripline.store.transactions import ReadTx, WriteTx

_ROW: Final = import_row.c
_NAMES: Final = ("name", "second_name")
_BULK: Final = Bulk(import_row, "draft_id", "number", "cells", "state", "troubles", *_NAMES, replaces=True)
Names = Sequence[int | None]
"""Hashes of the row's names, in the order of `ImportKind.keys`; None if the row claims none."""


class Row(msgspec.Struct, frozen=True):
    """A row of a draft."""

    number: int
    """As a spreadsheet shows it."""
    cells: list[str]
    """As many as the file has columns, plus non-empty ones beyond them."""
    state: RowState = RowState.UNCHECKED
    troubles: Sequence[Trouble] = ()
    names: Names = (None, None)
    firsts: Names = (None, None)
    """Of a duplicate, read only: for each name the number of the first row that claims it."""


class Search(msgspec.Struct, frozen=True):
    """Selects rows with this number, or with the text in any cell, ignoring letter case."""

    text: str
    number: int | None


def write(tx: WriteTx, draft_id: DraftId, rows: Sequence[Row]) -> None:
    """Add rows, or replace those with the same numbers."""
    values: list[Any] = []
    for row in rows:
        troubles = msgspec.json.encode(row.troubles).decode() if row.troubles else None
        names = [*row.names, None][: len(_NAMES)]
        values += (draft_id, row.number, msgspec.json.encode(row.cells).decode(), int(row.state), troubles, *names)
    _BULK.insert(tx, values)


def read(
    tx: ReadTx,
    draft_id: DraftId,
    *,
    limit: int,
    start: int = 0,
    backwards: bool = False,
    states: Sequence[RowState] = (),
    search: Search | None = None,
) -> list[Row]:
    """The next rows after a row number, or back from it, nearest first; with `states`, only those verdicts."""
    end = _ROW.number < start if backwards else _ROW.number > start
    chosen = _READ.where(_ROW.draft_id == draft_id, end)
    if states:
        chosen = chosen.where(_ROW.state.in_([int(state) for state in states]))
    if search is not None:
        text = msgspec.json.encode(search.text).decode()[1:-1]
        chosen = chosen.where(or_(_ROW.number == search.number, _ROW.cells.icontains(text, autoescape=True)))
    order = _ROW.number.desc() if backwards else _ROW.number
    return [_row(row) for row in tx.all(chosen.order_by(order).limit(limit))]


def firsts(tx: ReadTx, draft_id: DraftId, names: Names) -> list[int | None]:
    """For each name the number of the first row that claims it."""
    found = []
    for column, name in zip(_NAMES, names, strict=False):
        first = select(func.min(_ROW.number)).where(_ROW.draft_id == draft_id, _ROW[column] == name)
        found.append(None if name is None else tx.all(first)[0][0])
    return found


def _first(name: str) -> ColumnElement[int | None]:
    """For a duplicate, the number of the first row with the same name."""
    other = import_row.alias()
    same = select(func.min(other.c.number)).where(other.c.draft_id == _ROW.draft_id, other.c[name] == _ROW[name])
    is_duplicate = _ROW.state == int(RowState.DUPLICATE)
    return case((is_duplicate, same.correlate(import_row).scalar_subquery())).label(f"first_{name}")


_READ: Final = select(import_row, *(_first(name) for name in _NAMES))


def _row(row: Any) -> Row:
    return Row(
        row.number,
        msgspec.json.decode(row.cells),
        RowState(row.state),
        () if row.troubles is None else msgspec.json.decode(row.troubles, type=list[Trouble]),
        (row.name, row.second_name),
        (row.first_name, row.first_second_name),
    )
