"""The verdict on rows of a draft: each cell follows the rules of a single registration, and names must be unique.

A row that breaks a rule is bad, and every such cell is reported. Among the other rows that are not skipped, the first
with a name is good; later ones with the same name are duplicates, and so is a row whose name is registered. The
first row is looked up when rows are shown, since every edit may change it.

Not here: choosing rows to check (`draft_worker.py`, `draft_edits.py`).
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
"""The matched field of each column of a file."""
_CASE: Final = "repeated"


class Examined(msgspec.Struct, frozen=True):
    """A row by itself: its registration, or the problems of its cells."""

    registration: Any
    troubles: list[Trouble]


def examined(cells: Sequence[str], columns: Columns, kind: ImportKind) -> Examined:
    """Examine the row by the rules of a single registration. Each bad cell is reported once."""
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
    """Hashes of the row's names; 0 if it claims none."""
    if examined.registration is None:
        return [0] * len(kind.keys)
    return [_hash(key.name(examined.registration)) for key in kind.keys]


Taken = Mapping[str, set[str]]
"""Registered names in normalised form, by the column of their key."""


def taken(tx: ReadTx, service_type: str, kind: ImportKind, rows: Sequence[Examined]) -> Taken:
    """Registered names among those of these rows."""
    good = [row.registration for row in rows if row.registration is not None]
    return {key.column: key.taken(tx, service_type, [key.name(each) for each in good]) for key in kind.keys}


def judge(verdicts: Verdicts, at: int, row: Examined, kind: ImportKind, taken: Taken, repeated: Sequence[bool]) -> None:
    """Set the verdict on a row that is not skipped; `repeated`: for each name, true if an earlier row has it."""
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
    """Set this verdict on the row at this position."""
    verdicts.states[at] = int(state)
    if troubles:
        verdicts.troubles[at] = troubles
    else:
        verdicts.troubles.pop(at, None)


def is_repetition(trouble: Trouble) -> bool:
    """True if the trouble is a name of an earlier row, whose number has to be looked up."""
    return trouble.code == BadParameter.code and trouble.case == _CASE


def _hash(name: str) -> int:
    """Hash a name; among 200,000 names the probability of any collision is one in a thousand million."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) or 1
