"""Rows of import drafts' blocks: packed rows of a file, with their verdicts.

No function takes a scope: the caller checked access to the draft (`import_drafts.find`), or works for its owner.

Not here: packing rows (`services/imports/draft_blocks.py`).
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import bindparam, insert, select, update

from tripline.domain.import_drafts import DraftId
from tripline.store.tables import import_block
from tripline.store.transactions import ReadTx, WriteTx

_BLOCK: Final = import_block.c


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Some hundred rows of a draft, packed."""

    no: int
    first_row: int
    good: int = 0
    bad: int = 0
    duplicate: int = 0
    skipped: int = 0
    cells: bytes
    verdicts: bytes | None = None
    names: bytes | None = None


class Sum(msgspec.Struct, frozen=True):
    """How many rows of each verdict a block has."""

    no: int
    first_row: int
    good: int
    bad: int
    duplicate: int
    skipped: int


_COLUMNS: Final = [_BLOCK[name] for name in Block.__struct_fields__]
_SUMS: Final = [_BLOCK[name] for name in Sum.__struct_fields__]
_JUDGED: Final = ("good", "bad", "duplicate", "skipped", "cells", "verdicts", "names")
_JUDGE: Final = (
    update(import_block)
    .where(_BLOCK.draft_id == bindparam("of_draft"), _BLOCK.no == bindparam("number"))
    .values({name: bindparam(f"new_{name}") for name in _JUDGED})
)


def insert_new(tx: WriteTx, draft_id: DraftId, blocks: Sequence[Block]) -> None:
    """Keep new blocks."""
    tx.run(insert(import_block), [{"draft_id": draft_id, **msgspec.structs.asdict(block)} for block in blocks])


def read(tx: ReadTx, draft_id: DraftId, *, first: int, count: int) -> list[Block]:
    """So many blocks from this number on."""
    chosen = select(*_COLUMNS).where(_BLOCK.draft_id == draft_id, _BLOCK.no >= first, _BLOCK.no < first + count)
    return [_block(row) for row in tx.all(chosen.order_by(_BLOCK.no))]


def texts(tx: ReadTx, draft_id: DraftId, numbers: Sequence[int]) -> dict[int, bytes]:
    """The packed rows of the blocks with these numbers."""
    chosen = select(_BLOCK.no, _BLOCK.cells).where(_BLOCK.draft_id == draft_id, _BLOCK.no.in_(numbers))
    return {row.no: bytes(row.cells) for row in tx.all(chosen)}


def with_row(tx: ReadTx, draft_id: DraftId, row_number: int) -> Block | None:
    """The block that has the row, if there is such a row."""
    chosen = select(*_COLUMNS).where(_BLOCK.draft_id == draft_id, _BLOCK.first_row <= row_number)
    found = tx.all(chosen.order_by(_BLOCK.no.desc()).limit(1))
    return _block(found[0]) if found else None


def sums(tx: ReadTx, draft_id: DraftId) -> list[Sum]:
    """How many rows of each verdict each block has, in their order."""
    rows = tx.all(select(*_SUMS).where(_BLOCK.draft_id == draft_id).order_by(_BLOCK.no))
    return [Sum(**row._mapping) for row in rows]


def names(tx: ReadTx, draft_id: DraftId) -> list[bytes]:
    """The names of each block of a draft whose rows are all checked, in their order."""
    rows = tx.all(select(_BLOCK.names).where(_BLOCK.draft_id == draft_id).order_by(_BLOCK.no))
    return [bytes(row.names) for row in rows]


def judge(tx: WriteTx, draft_id: DraftId, blocks: Sequence[Block]) -> None:
    """Store the current cells and verdicts of these blocks."""
    for block in blocks:
        values = {f"new_{name}": getattr(block, name) for name in _JUDGED}
        tx.run(_JUDGE, {"of_draft": draft_id, "number": block.no, **values})


def _block(row: Any) -> Block:
    values = dict(row._mapping)
    for name in ("cells", "verdicts", "names"):
        if values[name] is not None:
            values[name] = bytes(values[name])
    return Block(**values)
