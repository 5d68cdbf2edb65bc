"""The verdict on rows of a draft: the rules of a single registration for each cell, and names for the row.

A row that breaks a rule is bad, and every cell that does is named. Of rows that are not, and that are not left out, the
first has its names; later ones with the same name are duplicates, and so is a row whose name is registered. Which row
is the first is found when rows are shown: it changes with every row that is mended.

Not here: which rows are looked at (`draft_checks.py`, `draft_edits.py`).
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from tripline.domain import import_drafts
from tripline.domain.import_drafts import RowState, Trouble
from tripline.domain.refusals import BadParameter
from tripline.services.imports.draft_blocks import Verdicts
from tripline.services.imports.kinds import ImportKind
from tripline.store.transactions import ReadTx

Columns = Sequence[str | None]
"""For each column of a file the field that it is matched with."""
_CASE: Final = "repeated"


class Examined(msgspec.Struct, frozen=True):
    """A row by itself: what it would register, or what is wrong with its cells."""

    registration: Any
    troubles: list[Trouble]


def examined(cells: Sequence[str], columns: Columns, kind: ImportKind) -> Examined:
    """The row by the rules of a single registration. Each cell that breaks one is named once."""
    named = {column: cell for column, cell in zip(columns, cells, strict=False) if column is not None and cell}
    troubles: list[Trouble] = []
    if any(cell.strip() for cell in cells[len(columns) :]):
        troubles.append(import_drafts.trouble_of(BadParameter("cells")))
    registration = None
    try:
        registration = kind.sheet.record(kind.registration, named)
    except BadParameter as refusal:
        troubles += [import_drafts.trouble_of(each) for each in (refusal, *refusal.others)]
    return Examined(None if troubles else registration, troubles)


def hashed(examined: Examined, kind: ImportKind) -> list[int]:
    """What each of the row's names hashes to; 0 for a row that has none to claim."""
    if examined.registration is None:
        return [0] * len(kind.keys)
    return [_hash(key.name(examined.registration)) for key in kind.keys]


Taken = Mapping[str, set[str]]
"""For each key, by its column, names that are registered, as they are compared."""


def taken(tx: ReadTx, service_type: str, kind: ImportKind, rows: Sequence[Examined]) -> Taken:
    """Which of the names of these rows are registered."""
    good = [row.registration for row in rows if row.registration is not None]
    return {key.column: key.taken(tx, service_type, [key.name(each) for each in good]) for key in kind.keys}


def judge(verdicts: Verdicts, at: int, row: Examined, kind: ImportKind, taken: Taken, repeated: Sequence[bool]) -> None:
    """Write the verdict on the row at this place, which is not left out; `repeated`: which of its names others have."""
    if row.registration is None:
        say(verdicts, at, RowState.BAD, row.troubles)
        return
    for key, is_repeated in zip(kind.keys, repeated, strict=True):
        if is_repeated:
            say(verdicts, at, RowState.DUPLICATE, [Trouble(BadParameter.code, _CASE, key.column, {})])
            return
    for key in kind.keys:
        if key.name(row.registration) in taken[key.column]:
            refusal = key.refusal(key.of(row.registration))
            say(verdicts, at, RowState.DUPLICATE, [import_drafts.trouble_of(refusal)])
            return
    say(verdicts, at, RowState.GOOD, [])


def say(verdicts: Verdicts, at: int, state: RowState, troubles: list[Trouble]) -> None:
    """Write this verdict on the row at this place."""
    verdicts.states[at] = int(state)
    if troubles:
        verdicts.troubles[at] = troubles
    else:
        verdicts.troubles.pop(at, None)


def is_repetition(trouble: Trouble) -> bool:
    """Whether the trouble is a name of an earlier row, whose number is still to be found."""
    return trouble.code == BadParameter.code and trouble.case == _CASE


def _hash(name: str) -> int:
    """Of two different names in 200,000 the chance to hash to the same is one in a thousand million."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) or 1
