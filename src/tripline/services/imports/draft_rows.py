"""The verdict on rows of a draft: each cell follows the rules of a single registration, and names must be unique.

A row that breaks a rule is bad, and every such cell is reported. Among the other rows that are not skipped, the first
with a name is good; later ones with the same name are duplicates, and so is a row whose name is registered. The
first row is looked up when rows are shown, since every edit may change it.
"""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tripline.domain import import_drafts
from tripline.domain.import_drafts import DraftId, RowState, Trouble
from tripline.domain.refusals import BadParameter, Refusal
from tripline.services.imports.kinds import ImportKind
from tripline.store.fleet import import_rows
from tripline.store.fleet.import_rows import Names, Row
from tripline.store.transactions import ReadTx, Store
from tripline.wire import csv_files

ROWS: Final = 500
"""Most rows in one transaction: a few milliseconds of the writer's time."""
Columns = Sequence[str | None]
"""The matched field of each column of a file."""
_CASE: Final = "repeated"


class Examined(msgspec.Struct, frozen=True):
    """A row by itself: its registration and names, or the problems of its cells."""

    registration: Any
    troubles: Sequence[Trouble] = ()
    names: Names = ()


async def portions(store: Store, draft_id: DraftId, states: Sequence[RowState] = ()) -> AsyncIterator[list[Row]]:
    """Every row of a draft, or those with one of these verdicts, some hundred at a time."""
    after: int | None = 0
    while after is not None:
        rows = await store.read(
            lambda tx, after=after: import_rows.read(tx, draft_id, limit=ROWS, start=after, states=states)  # type: ignore[misc]
        )
        yield rows
        after = rows[-1].number if len(rows) == ROWS else None


def examined(cells: Sequence[str], columns: Columns, kind: ImportKind) -> Examined:
    """Examine the row by the rules of a single registration. Each bad cell is reported once."""
    troubles: list[Trouble] = []
    if csv_files.has_surplus(cells, columns):
        troubles.append(import_drafts.trouble_of(BadParameter("cells")))
    try:
        registration = registered(cells, columns, kind)
    except BadParameter as refusal:
        troubles += [import_drafts.trouble_of(each) for each in (refusal, *refusal.others)]
    if troubles:
        return Examined(None, troubles, [None] * len(kind.keys))
    return Examined(registration, names=[_hash(key.name(registration)) for key in kind.keys])


def registered(cells: Sequence[str], columns: Columns, kind: ImportKind) -> Any:
    """The registration in the row. Raises `BadParameter`."""
    return kind.sheet.record(kind.registration, csv_files.named(cells, columns))


Taken = Mapping[str, set[str]]
"""Registered names in normalised form, by the column of their key."""


def taken(tx: ReadTx, service_type: str, kind: ImportKind, registrations: Sequence[Any]) -> Taken:
    """Find which names in these registrations are registered already."""
    return {key.column: key.taken(tx, service_type, [key.name(each) for each in registrations]) for key in kind.keys}


def clash(registration: Any, kind: ImportKind, taken: Taken) -> Refusal | None:
    """The refusal of a registration, one of whose names is registered."""
    clashes = (key.refusal(key.of(registration)) for key in kind.keys if key.name(registration) in taken[key.column])
    return next(clashes, None)


def judged(row: Row, examined: Examined | None, kind: ImportKind, taken: Taken, repeated: Sequence[bool]) -> Row:
    """The row with its verdict; skipped if it was not examined. `repeated`: for each name, true if an earlier row has
    it."""
    if examined is None:
        return Row(row.number, row.cells, RowState.SKIPPED)
    troubles, state = examined.troubles, RowState.BAD
    if examined.registration is not None:
        troubles = _clashes(examined.registration, kind, taken, repeated)
        state = RowState.DUPLICATE if troubles else RowState.GOOD
    return Row(row.number, row.cells, state, troubles, examined.names)


def refusals(row: Row, kind: ImportKind) -> list[Refusal]:
    """Problems of the row; `field` is our name of a column, None for the whole row."""
    return [import_drafts.refusal_of(_numbered(each, row, kind)) for each in row.troubles]


def _clashes(registration: Any, kind: ImportKind, taken: Taken, repeated: Sequence[bool]) -> list[Trouble]:
    """The first name that another row or a registered record has."""
    for key, is_repeated in zip(kind.keys, repeated, strict=True):
        if is_repeated:
            return [Trouble(BadParameter.code, _CASE, key.column, {})]
    refusal = clash(registration, kind, taken)
    return [] if refusal is None else [import_drafts.trouble_of(refusal)]


def _numbered(trouble: Trouble, row: Row, kind: ImportKind) -> Trouble:
    """The trouble, with the number of the earlier row if it is a name of that."""
    if trouble.code != BadParameter.code or trouble.case != _CASE:
        return trouble
    firsts = {key.column: first for key, first in zip(kind.keys, row.firsts, strict=False)}
    first = firsts.get(str(trouble.field))
    return trouble if first is None else msgspec.structs.replace(trouble, values={"row": first})


def _hash(name: str) -> int:
    """Hash a name; among 200,000 names the probability of any collision is one in a thousand million."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
