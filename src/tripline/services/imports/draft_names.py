"""The names in a whole draft: find the first row with a name.

Eight bytes for each name of each row, so that all names of 200,000 rows are searched in a few milliseconds.

Not here: judging repeated names (`draft_rows.py`).
"""

from typing import TYPE_CHECKING

from tripline.domain.import_drafts import DraftId
from tripline.later import Later
from tripline.services.imports import draft_blocks
from tripline.services.imports.kinds import ImportKind
from tripline.store.fleet import import_blocks
from tripline.store.transactions import ReadTx

if TYPE_CHECKING:
    import numpy as np
else:
    np = Later("numpy")

Place = tuple[int, int]
"""A row: its block number and its position there."""


class DraftNames:
    """The names of every row of a checked draft, in order."""

    def __init__(self, tx: ReadTx, draft_id: DraftId, kind: ImportKind) -> None:
        blocks: list[draft_blocks.Names] = [
            draft_blocks.names_of(packed, len(kind.keys)) for packed in import_blocks.names(tx, draft_id)
        ]
        self._starts = np.concatenate(([0], np.cumsum([len(names[0]) for names in blocks]))).astype(int)
        self._all = np.concatenate(blocks, axis=1) if blocks else np.zeros((len(kind.keys), 0), np.uint64)

    def at(self, place: Place) -> list[int]:
        """Hashes of the row's names."""
        return [int(name) for name in self._all[:, self._index(place)]]

    def put(self, place: Place, names: list[int]) -> None:
        """Replace the row's names."""
        self._all[:, self._index(place)] = np.array(names, np.uint64)

    def of_block(self, no: int) -> draft_blocks.Names:
        """The names of the block's rows."""
        return self._all[:, self._starts[no] : self._starts[no + 1]]

    def first(self, key: int, name: int) -> Place | None:
        """Return the first row with the name; None for 0 and for an unused name."""
        if not name:
            return None
        has = self._all[key] == np.uint64(name)
        index = int(has.argmax()) if has.size else 0
        return self._place(index) if has.size and has[index] else None

    def _index(self, place: Place) -> int:
        no, at = place
        return int(self._starts[no]) + at

    def _place(self, index: int) -> Place:
        no = int(np.searchsorted(self._starts, index, side="right")) - 1
        return no, index - int(self._starts[no])
