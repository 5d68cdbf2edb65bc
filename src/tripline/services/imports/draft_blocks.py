"""Blocks of drafts: some hundred rows packed into one row of the store, with their verdicts.

A hundred thousand rows of 80 bytes take 200 blocks of about 10 KB, each read and unpacked in a millisecond.

`DraftNames` finds the first row with a name: eight bytes for each name of each row, so that all names of 200,000 rows
are searched in a few milliseconds.

Not here: computing verdicts (`draft_rows.py`).
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import msgspec

from tripline.domain.import_drafts import CELL_MAX, Draft, DraftId, RowState, Trouble
from tripline.later import Later
from tripline.services.imports.kinds import ImportKind
from tripline.store.fleet import import_blocks
from tripline.store.fleet.import_blocks import Block
from tripline.store.transactions import ReadTx
from tripline.wire import csv_files

if TYPE_CHECKING:
    import numpy as np
else:
    np = Later("numpy")

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = Later("numpy")

ROWS: Final = 500
TEXT: Final = 262_144
"""Characters after which the next block begins, so blocks of long rows have fewer rows."""
_QUICKLY: Final = 1
COUNTED: Final = {
    RowState.GOOD: "good",
    RowState.BAD: "bad",
    RowState.DUPLICATE: "duplicate",
    RowState.SKIPPED: "skipped",
}

Names: TypeAlias = "NDArray[np.uint64]"
"""Hashes of names: one line per kind of name, one column per row; 0 if the row claims no name."""
P = TypeVar("P")


class Rows(msgspec.Struct, array_like=True):
    """Rows of a file; numbers as a spreadsheet shows them."""

    numbers: list[int]
    cells: list[list[str]]


class Verdicts(msgspec.Struct, array_like=True):
    """Verdicts on the rows of a block."""

    states: list[int]
    """`RowState` of each row."""
    troubles: dict[int, list[Trouble]]
    """By position in the block."""


def packed_rows(lines: Iterator[csv_files.Line], columns: int, *, first: int) -> Iterator[Block]:
    """Pack rows into blocks, numbered from `first` on. Raises `BadFile`, also for a cell that is too long."""
    no = first
    gathered, size = Rows([], []), 0
    for line in lines:
        gathered.numbers.append(line.number)
        gathered.cells.append(_cells(line, columns))
        size += sum(map(len, line.cells))
        if len(gathered.numbers) == ROWS or size >= TEXT:
            yield _block(no, gathered)
            no, gathered, size = no + 1, Rows([], []), 0
    if gathered.numbers:
        yield _block(no, gathered)


def rows_of(block: Block) -> Rows:
    """Unpack the rows of a block."""
    return _unpacked(block.cells, Rows)


def compared(text: str) -> bytes:
    """Normalise text for searching."""
    return text.encode("utf-8", "surrogatepass").lower()


def text_of(packed: bytes) -> bytes:
    """A block's text, for a search with a `compared` text."""
    # Texts are plain UTF-8 inside: unpacking the rows would take ten times as long.
    return zlib.decompress(packed).lower()


def verdicts_of(block: Block) -> Verdicts | None:
    """Unpack the verdicts; None: the rows were not checked yet."""
    return None if block.verdicts is None else _unpacked(block.verdicts, Verdicts)


def names_of(packed: bytes, keys: int) -> Names:
    """Unpack the names of a block's rows."""
    return np.frombuffer(packed, np.uint64).reshape(keys, -1)


def with_rows(block: Block, rows: Rows) -> Block:
    """Return the block with other rows."""
    return msgspec.structs.replace(block, cells=_packed(rows))


def judged(block: Block, verdicts: Verdicts, names: Names) -> Block:
    """Return the block with these verdicts and names."""
    counts = {name: verdicts.states.count(state) for state, name in COUNTED.items()}
    return msgspec.structs.replace(block, verdicts=_packed(verdicts), names=names.tobytes(), **counts)


def counted(draft: Draft, before: Sequence[Block], after: Sequence[Block]) -> Draft:
    """Return the draft with the counts of its changed blocks."""
    changes: Mapping[str, int] = {
        name: sum(getattr(block, name) for block in after) - sum(getattr(block, name) for block in before)
        for name in COUNTED.values()
    }
    return msgspec.structs.replace(
        draft, version=draft.version + 1, **{name: getattr(draft, name) + change for name, change in changes.items()}
    )


def _cells(line: csv_files.Line, columns: int) -> list[str]:
    """The row's cells, without empty cells beyond the header."""
    cells = line.cells
    while len(cells) > columns and not cells[-1].strip():
        cells.pop()
    for cell in cells:
        if len(cell) > CELL_MAX:
            raise csv_files.BadFile("cell_long", row=line.number, most=CELL_MAX)
    return cells


def _block(no: int, rows: Rows) -> Block:
    return Block(no=no, first_row=rows.numbers[0], cells=_packed(rows))


def _packed(content: msgspec.Struct) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(content), _QUICKLY)


def _unpacked(packed: bytes, kind: type[P]) -> P:
    return msgspec.msgpack.decode(zlib.decompress(packed), type=kind)


Place = tuple[int, int]
"""A row: its block number and its position there."""


class DraftNames:
    """The names of every row of a checked draft, in order."""

    def __init__(self, tx: ReadTx, draft_id: DraftId, kind: ImportKind) -> None:
        blocks: list[Names] = [names_of(packed, len(kind.keys)) for packed in import_blocks.names(tx, draft_id)]
        self._starts = np.concatenate(([0], np.cumsum([len(names[0]) for names in blocks]))).astype(int)
        self._all = np.concatenate(blocks, axis=1) if blocks else np.zeros((len(kind.keys), 0), np.uint64)

    def at(self, place: Place) -> list[int]:
        """Hashes of the row's names."""
        return [int(name) for name in self._all[:, self._index(place)]]

    def put(self, place: Place, names: list[int]) -> None:
        """Replace the row's names."""
        self._all[:, self._index(place)] = np.array(names, np.uint64)

    def of_block(self, no: int) -> Names:
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
