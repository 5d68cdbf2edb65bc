"""The names in a whole draft: which row has a name first.

Eight bytes for each name of each row, so that all names of 200,000 rows are looked through in a few milliseconds.

Not here: what a repeated name means (`draft_rows.py`).
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
"""A row: the number of its block and its place there."""


class DraftNames:
    """The names of every row of a draft whose rows are all checked, in their order."""

    def __init__(self, tx: ReadTx, draft_id: DraftId, kind: ImportKind) -> None:
        blocks: list[draft_blocks.Names] = [
            draft_blocks.names_of(packed, len(kind.keys)) for packed in import_blocks.names(tx, draft_id)
        ]
        self._starts = np.concatenate(([0], np.cumsum([len(names[0]) for names in blocks]))).astype(int)
        self._all = np.concatenate(blocks, axis=1) if blocks else np.zeros((len(kind.keys), 0), np.uint64)

    def at(self, place: Place) -> list[int]:
        """What the row's names hash to."""
        return [int(name) for name in self._all[:, self._index(place)]]

    def put(self, place: Place, names: list[int]) -> None:
        """Give the row other names."""
        self._all[:, self._index(place)] = np.array(names, np.uint64)

    def of_block(self, no: int) -> draft_blocks.Names:
        """The names of the block's rows."""
        return self._all[:, self._starts[no] : self._starts[no + 1]]

    def first(self, key: int, name: int) -> Place | None:
        """The first row that has the name; None for 0 and for a name that no row has."""
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
