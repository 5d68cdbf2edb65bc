"""Edit a draft: change cells of a row, skip it, or include it again.

Only affected rows are rechecked: the row itself, and the first rows with its former and new names.
"""

import collections
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tripline.domain.access import Actor
from tripline.domain.fields import TooLong
from tripline.domain.import_drafts import CELL_MAX, Draft, DraftId, RowState
from tripline.domain.refusals import BadParameter, NotFound
from tripline.services.fleet import companies
from tripline.services.imports import draft_rows, drafts
from tripline.store.fleet import import_drafts, import_rows
from tripline.store.fleet.import_rows import Row
from tripline.store.transactions import WriteTx


class Edit(msgspec.Struct, frozen=True):
    """Changes to a row."""

    number: int
    """Row number as a spreadsheet shows it."""
    cells: Mapping[int, str] = {}
    """New texts, by position of the column in the file."""
    skip: bool | None = None
    """Skip or include the row; None: unchanged."""


Look = Callable[[Sequence[str]], None]
"""Validate a row before it is edited; raise the refusal."""


def edit(
    tx: WriteTx, *, actor: Actor, draft_id: DraftId, edit: Edit, now_ms: int, look: Look = lambda _: None
) -> Draft:
    """Edit a row and return the draft. Raises `NotFound`, `NotNow`, `BadParameter`, and the refusals of `look`."""
    draft = drafts.mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    draft.require_checked()
    row = _row(tx, draft, edit.number)
    look(row.cells)
    cells = _cells(draft, row, edit)
    kind = drafts.kind_of(draft)
    is_skipped = row.state is RowState.SKIPPED if edit.skip is None else edit.skip
    names = [None] * len(kind.keys) if is_skipped else draft_rows.examined(cells, draft.columns, kind).names
    affected = import_rows.firsts(tx, draft.id, names)
    edited = Row(row.number, cells, RowState.SKIPPED, (), names)
    import_rows.write(tx, draft.id, [edited])
    affected += import_rows.firsts(tx, draft.id, row.names)
    others = {each for each in affected if each is not None and each != row.number}
    before = [row, *(_row(tx, draft, each) for each in others)]
    after = _rejudged(tx, actor, draft, before[1:] if is_skipped else [edited, *before[1:]])
    import_rows.write(tx, draft.id, after)
    if is_skipped:
        after.append(edited)
    changes = collections.Counter(each.state for each in after)
    changes.subtract(each.state for each in before)
    changed = replace(draft.counting(changes), version=draft.version + 1, note=None)
    import_drafts.change(tx, changed)
    return changed


def _row(tx: WriteTx, draft: Draft, number: int) -> Row:
    """The row with this number. Raises `NotFound`."""
    for row in import_rows.read(tx, draft.id, limit=1, start=number - 1):
        if row.number == number:
            return row
    raise NotFound("row", row=number)


def _cells(draft: Draft, row: Row, edit: Edit) -> list[str]:
    """The row's cells with the new texts. Raises `BadParameter`, `TooLong`."""
    cells = [*row.cells]
    columns = len(draft.header)
    for column, text in edit.cells.items():
        if not 0 <= column < max(columns, len(cells)):
            raise BadParameter("column", column=column + 1)
        if len(text) > CELL_MAX:
            named = draft.header[column] if column < columns else str(column + 1)
            raise TooLong("characters", field=named, most=CELL_MAX)
        cells.extend([""] * (column + 1 - len(cells)))
        cells[column] = text
    while len(cells) > columns and not cells[-1].strip():
        cells.pop()
    return cells


def _rejudged(tx: WriteTx, actor: Actor, draft: Draft, rows: Sequence[Row]) -> list[Row]:
    """The rows with their verdicts, beside the rows in the store."""
    kind, service_type = drafts.kind_of(draft), companies.own(tx, actor=actor).service_type
    found = [draft_rows.examined(row.cells, draft.columns, kind) for row in rows]
    taken = draft_rows.taken(tx, service_type, kind, [each.registration for each in found if each.registration])
    judged = []
    for row, examined in zip(rows, found, strict=True):
        firsts = import_rows.firsts(tx, draft.id, examined.names)
        repeated = [first not in (None, row.number) for first in firsts]
        judged.append(draft_rows.judged(row, examined, kind, taken, repeated))
    return judged
