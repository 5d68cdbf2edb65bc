"""Edit a draft: change cells of a row, skip it, or include it again.

Only affected rows are rechecked: the row itself, and the first rows with its former and new names. The edit is computed
on a reading thread and stored if the draft has not changed meanwhile.

Not here: computing verdicts (`draft_rows.py`).
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tripline.domain.access import Actor
from tripline.domain.fields import TooLong
from tripline.domain.import_drafts import CELL_MAX, Draft, DraftId, RowState
from tripline.domain.refusals import BadParameter, NotFound
from tripline.services.fleet import companies
from tripline.services.imports import draft_blocks, draft_rows, drafts
from tripline.services.imports.draft_blocks import DraftNames, Place, Rows, Verdicts
from tripline.services.imports.draft_rows import Examined
from tripline.services.imports.kinds import ImportKind
from tripline.services.imports.registration import ATTEMPTS, Contended
from tripline.store.fleet import import_blocks
from tripline.store.fleet import import_drafts as rows
from tripline.store.fleet.import_blocks import Block
from tripline.store.transactions import ReadTx, Store, WriteTx


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


class _Outcome(msgspec.Struct, frozen=True):
    draft: Draft
    """The draft as read."""
    before: Sequence[Block]
    after: Sequence[Block]


async def edit(
    store: Store, *, actor: Actor, draft_id: DraftId, edit: Edit, now_ms: int, look: Look | None = None
) -> Draft:
    """Edit a row and return the draft.

    Raises `NotFound`, `NotNow`, `BadParameter`, the refusals of `look`, and `Contended` if the draft keeps changing.
    """
    for _ in range(ATTEMPTS):
        outcome = await store.read(lambda tx: _worked_out(tx, actor, draft_id, edit, now_ms, look))
        kept = await store.write(lambda tx, outcome=outcome: _kept(tx, actor, outcome, now_ms))  # type: ignore[misc]
        if kept is not None:
            return kept
    raise Contended()


def _kept(tx: WriteTx, actor: Actor, outcome: _Outcome, now_ms: int) -> Draft | None:
    """Store the edit; None: the draft has changed since it was read."""
    draft = drafts.mine(tx, actor=actor, draft_id=outcome.draft.id, now_ms=now_ms)
    if draft.version != outcome.draft.version:
        return None
    changed = draft_blocks.counted(draft, outcome.before, outcome.after)
    import_blocks.judge(tx, draft.id, outcome.after)
    rows.change(tx, replace(changed, note=None))
    return changed


def _worked_out(tx: ReadTx, actor: Actor, draft_id: DraftId, edit: Edit, now_ms: int, look: Look | None) -> _Outcome:
    draft = drafts.mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    draft.require_checked()
    editor = _Editor(tx, actor, draft)
    return editor.outcome(edit, look)


class _Editor:
    """The blocks that an edit touches."""

    def __init__(self, tx: ReadTx, actor: Actor, draft: Draft) -> None:
        self._tx = tx
        self._draft = draft
        self._kind: ImportKind = drafts.kind_of(draft)
        self._service_type = companies.own(tx, actor=actor).service_type
        self._names = DraftNames(tx, draft.id, self._kind)
        self._blocks: dict[int, Block] = {}
        self._rows: dict[int, Rows] = {}
        self._verdicts: dict[int, Verdicts] = {}

    def outcome(self, edit: Edit, look: Look | None) -> _Outcome:
        """Compute the result of the edit."""
        no, at = place = self._find(edit.number)
        if look is not None:
            look(self._rows[no].cells[at])
        self._write(place, edit)
        for each in self._touched(place, edit):
            self._judge(each)
        after = [
            draft_blocks.judged(
                draft_blocks.with_rows(block, self._rows[no]), self._verdicts[no], self._names.of_block(no)
            )
            for no, block in self._blocks.items()
        ]
        return _Outcome(self._draft, list(self._blocks.values()), after)

    def _find(self, number: int) -> Place:
        block = import_blocks.with_row(self._tx, self._draft.id, number)
        if block is not None:
            self._open(block)
            numbers = self._rows[block.no].numbers
            if number in numbers:
                return block.no, numbers.index(number)
        raise NotFound("row", row=number)

    def _open(self, block: Block) -> None:
        self._blocks[block.no] = block
        self._rows[block.no] = draft_blocks.rows_of(block)
        verdicts = draft_blocks.verdicts_of(block)
        assert verdicts is not None, "a draft that is checked has verdicts on all its rows"
        self._verdicts[block.no] = verdicts

    def _write(self, place: Place, edit: Edit) -> None:
        """Write the new texts into the row."""
        no, at = place
        cells = self._rows[no].cells[at]
        columns = len(self._draft.header)
        for column, text in edit.cells.items():
            if not 0 <= column < max(columns, len(cells)):
                raise BadParameter("column", column=column + 1)
            if len(text) > CELL_MAX:
                raise TooLong("characters", field=self._draft.header[column], most=CELL_MAX)
            cells.extend([""] * (column + 1 - len(cells)))
            cells[column] = text
        while len(cells) > columns and not cells[-1].strip():
            cells.pop()

    def _touched(self, place: Place, edit: Edit) -> list[Place]:
        """Give the row at this place its new names; return the rows whose verdict may change."""
        no, at = place
        was_skipped = self._verdicts[no].states[at] == RowState.SKIPPED
        is_skipped = was_skipped if edit.skip is None else edit.skip
        before = self._names.at(place)
        after = [0] * len(before) if is_skipped else draft_rows.hashed(self._examined(place), self._kind)
        firsts = [self._names.first(key, name) for key, name in enumerate(after)]
        self._names.put(place, after)
        firsts += [self._names.first(key, name) for key, name in enumerate(before)]
        if is_skipped:
            draft_rows.say(self._verdicts[no], at, RowState.SKIPPED, [])
        else:
            self._verdicts[no].states[at] = int(RowState.BAD)
        return list({each for each in (*firsts, place) if each is not None and (each != place or not is_skipped)})

    def _judge(self, place: Place) -> None:
        no, at = place
        if no not in self._blocks:
            (block,) = import_blocks.read(self._tx, self._draft.id, first=no, count=1)
            self._open(block)
        row = self._examined(place)
        names = self._names.at(place)
        repeated = [self._names.first(key, name) != place for key, name in enumerate(names)]
        taken = draft_rows.taken(self._tx, self._service_type, self._kind, [row])
        draft_rows.judge(self._verdicts[no], at, row, self._kind, taken, repeated)

    def _examined(self, place: Place) -> Examined:
        no, at = place
        return draft_rows.examined(self._rows[no].cells[at], self._draft.columns, self._kind)
