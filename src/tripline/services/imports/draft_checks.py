"""Check all rows of a draft: block by block, on a thread.

Not here: computing verdicts (`draft_rows.py`), scheduling checks (`draft_worker.py`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tripline import cooperative
from tripline.domain.import_drafts import Draft, RowState
from tripline.later import Later
from tripline.services.imports import draft_blocks, draft_rows, drafts
from tripline.services.imports.draft_blocks import Verdicts
from tripline.services.imports.draft_rows import Examined, Taken
from tripline.services.imports.kinds import ImportKind
from tripline.store.fleet.import_blocks import Block
from tripline.store.transactions import ReadTx

if TYPE_CHECKING:
    import numpy as np
else:
    np = Later("numpy")


class Check:
    """The check of a draft; pass every block in order."""

    def __init__(self, draft: Draft, service_type: str) -> None:
        self._draft = draft
        self._service_type = service_type
        self._kind: ImportKind = drafts.kind_of(draft)
        self._seen: list[set[int]] = [set() for _ in self._kind.keys]

    def examined(self, block: Block) -> list[Examined | None]:
        """Examine each row by itself, None for skipped rows; takes a while."""
        before = draft_blocks.verdicts_of(block)
        found: list[Examined | None] = []
        for at, cells in enumerate(cooperative.each(draft_blocks.rows_of(block).cells)):
            is_skipped = before is not None and before.states[at] == RowState.SKIPPED
            found.append(None if is_skipped else draft_rows.examined(cells, self._draft.columns, self._kind))
        return found

    def taken(self, tx: ReadTx, rows: Sequence[Examined | None]) -> Taken:
        """Registered names among those in the rows."""
        return draft_rows.taken(tx, self._service_type, self._kind, [row for row in rows if row is not None])

    def judged(self, block: Block, rows: Sequence[Examined | None], taken: Taken) -> Block:
        """Return the block with its verdicts."""
        verdicts = Verdicts([int(RowState.SKIPPED)] * len(rows), {})
        none = [0] * len(self._kind.keys)
        hashes = [none if row is None else draft_rows.hashed(row, self._kind) for row in cooperative.each(rows)]
        for at, (row, names) in enumerate(cooperative.each(zip(rows, hashes, strict=True))):
            if row is None:
                continue
            repeated = [name in seen for name, seen in zip(names, self._seen, strict=True)]
            draft_rows.judge(verdicts, at, row, self._kind, taken, repeated)
            for name, seen in zip(names, self._seen, strict=True):
                if name:
                    seen.add(name)
        return draft_blocks.judged(block, verdicts, np.array(hashes, np.uint64).T)
