"""Drafts of imports: receiving a file, and the operations of their owners.

Rows are read on a thread and stored some hundred at a time, so only these are in memory, however large the file is. If
the process dies meanwhile, the draft is unusable and deleted after an hour.

The code that opened the transaction sends `notifications.IMPORT_DUE` after committing a draft that needs work.

Not here: uploads (`http/uploads.py`), the format of a file (`wire/csv_files.py`), rows and cells (`draft_pages.py`,
`draft_edits.py`), the work on a draft (`draft_worker.py`).
"""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import IO, Final

from msgspec.structs import replace

from tripline import cooperative
from tripline.domain import access
from tripline.domain.access import Action, Actor, Scope
from tripline.domain.ids import TimeIds
from tripline.domain.import_drafts import (
    ARRIVING_MS,
    CELL_MAX,
    KEPT_MS,
    NAME_MAX,
    OF_ACCOUNT,
    OF_COMPANY,
    OF_OPERATOR,
    BadMatch,
    Draft,
    DraftEvent,
    DraftId,
    Note,
    NothingGood,
    State,
    TooManyDrafts,
)
from tripline.domain.refusals import NotFound, Refusal
from tripline.language import headings
from tripline.ports.clocks import Clock
from tripline.services.imports import draft_rows
from tripline.services.imports.kinds import KINDS, ImportKind
from tripline.services.imports.registration import TooManyRows
from tripline.store.fleet import import_drafts as rows
from tripline.store.fleet import import_rows
from tripline.store.fleet.import_rows import Row
from tripline.store.transactions import ReadTx, Store, WriteTx
from tripline.wire import csv_files

ANY_KIND: Final = Action.VEHICLE_CREATE
"""Permitted to every account that may import anything."""


def mine(tx: ReadTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """Return the actor's draft. Raises `NotFound`, also if it has expired, or `Forbidden`."""
    draft = access.admitted(rows.find(tx, _scope(actor), draft_id, now_ms=now_ms), access.Thing.DRAFT)
    access.scope_of(actor, kind_of(draft).action)
    return draft


def listed(tx: ReadTx, *, actor: Actor, now_ms: int) -> list[Draft]:
    """The actor's drafts, newest first."""
    return rows.listed(tx, _scope(actor), now_ms=now_ms)


def state_of(tx: ReadTx, draft_id: DraftId) -> State | None:
    """State of a draft, after its owner was admitted; None: it was deleted."""
    return rows.state_of(tx, draft_id)


def kind_of(draft: Draft) -> ImportKind:
    """The kind of things that the draft registers."""
    return KINDS[draft.kind]


def match(tx: WriteTx, *, actor: Actor, draft_id: DraftId, columns: Sequence[str | None], now_ms: int) -> Draft:
    """Match each column of the file with a field or None, and begin checking all rows; return the draft. Raises
    `BadMatch`, `NotNow`."""
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    matched = with_columns(draft, columns)
    rows.change(tx, matched)
    return matched


def with_columns(draft: Draft, columns: Sequence[str | None]) -> Draft:
    """Return the draft with its columns matched, to be checked. Raises `BadMatch`, `NotNow`."""
    sheet = kind_of(draft).sheet
    if len(columns) != len(draft.header) or any(column not in sheet.columns for column in columns if column):
        raise BadMatch("columns")
    used = [column for column in columns if column]
    twice = sorted({column for column in used if used.count(column) > 1})
    if twice:
        raise BadMatch("twice", field=twice[0])
    missing = missing_of(draft.kind, columns)
    if missing:
        raise BadMatch("missing", field=missing[0])
    return checking(replace(draft, columns=tuple(columns)))


def missing_of(kind: str, columns: Sequence[str | None]) -> list[str]:
    """Required fields without a matched column."""
    return [name for name in KINDS[kind].sheet.required if name not in columns]


def check(tx: WriteTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """Check all rows again, because other registrations may have been added meanwhile. Raises `NotNow`."""
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    draft.require_checked()
    again = checking(draft)
    rows.change(tx, again)
    return again


def checking(draft: Draft) -> Draft:
    """Return the draft waiting for a check of all its rows. Raises `NotNow`."""
    return _waiting(draft, DraftEvent.CHECK)


def commit(tx: WriteTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """Register the draft's good rows in the background: all at once, or none. Raises `NotNow`, `NothingGood`."""
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    committing = _waiting(draft, DraftEvent.COMMIT)
    if not draft.good:
        raise NothingGood()
    rows.change(tx, committing)
    return committing


def cancel(tx: WriteTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """Cancel the work on the draft, so that it registers nothing. Raises `NotNow` if it is too late."""
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    cancelled = replace(ended(draft, DraftEvent.CANCEL), note=Note.CANCELLED)
    rows.change(tx, cancelled)
    return cancelled


def ended(draft: Draft, event: DraftEvent) -> Draft:
    """Return the draft after its work ended with this event. Raises `NotNow`."""
    return replace(draft, state=draft.after(event), version=draft.version + 1, holder="", done=0)


def throw_away(tx: WriteTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """Delete the draft at once, in any state; its rows are deleted later."""
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    gone = replace(draft, expires_ms=0, holder="")
    rows.change(tx, gone)
    return gone


def _waiting(draft: Draft, event: DraftEvent) -> Draft:
    return replace(ended(draft, event), note=None)


def _scope(actor: Actor) -> Scope:
    return access.scope_of(actor, ANY_KIND)


TEXT: Final = 262_144
"""Characters in one transaction: fewer rows if they are long."""


async def receive(
    store: Store,
    file: IO[bytes],
    *,
    actor: Actor,
    kind: ImportKind,
    name: str,
    encoding: csv_files.Encoding | None = None,
    most_rows: int,
    ids: TimeIds,
    clock: Clock,
) -> tuple[Draft, csv_files.Encoding]:
    """Read a file, from its beginning, into a new draft; return the draft and the file's encoding.

    If every required column has a known heading, the draft is checked at once; otherwise its owner matches the columns
    first.

    Raises `Forbidden`, `csv_files.BadFile`, `TooManyRows` and `TooManyDrafts`, and leaves no draft.
    """
    access.scope_of(actor, kind.action)
    table = await asyncio.to_thread(_opened, file, kind, encoding)
    new = _new(actor, kind, name, table, DraftId(ids.next(now_ms=clock())), clock())
    await store.write(lambda tx: _admit(tx, new))
    try:
        arrived = await _keep(store, new, table.lines, most_rows)
    except Refusal:
        await store.write(lambda tx: rows.change(tx, replace(new, expires_ms=0)))
        raise
    return await store.write(lambda tx: _arrived(tx, actor, arrived, clock())), table.encoding


def _opened(file: IO[bytes], kind: ImportKind, encoding: csv_files.Encoding | None) -> csv_files.Table:
    return csv_files.read(
        file, column_of=partial(headings.column_of, kind.sheet.columns), encoding=encoding, for_matching=True
    )


def _new(actor: Actor, kind: ImportKind, name: str, table: csv_files.Table, draft_id: DraftId, now_ms: int) -> Draft:
    return Draft(
        id=draft_id,
        account_id=actor.user_id,
        company_id=access.company_of(actor),
        kind=kind.noun,
        name=name[:NAME_MAX],
        created_ms=now_ms,
        expires_ms=now_ms + ARRIVING_MS,
        header=tuple(table.header),
        columns=table.columns,
    )


def _admit(tx: WriteTx, new: Draft) -> None:
    """Store the draft unless there are too many. Raises `TooManyDrafts`."""
    there = rows.numbers(tx, new)
    if there.of_account >= OF_ACCOUNT:
        raise TooManyDrafts("account", most=OF_ACCOUNT)
    if there.of_company >= OF_COMPANY:
        raise TooManyDrafts("company", most=OF_COMPANY)
    if there.of_operator >= OF_OPERATOR:
        raise TooManyDrafts("operator", most=OF_OPERATOR)
    rows.insert_new(tx, new)


async def _keep(store: Store, draft: Draft, lines: Iterator[csv_files.Line], most_rows: int) -> Draft:
    """Store every row; return the draft with their number."""
    rows = _rows(lines, len(draft.header), most_rows)
    count = 0
    while some := await asyncio.to_thread(_some, rows):
        await store.write(lambda tx, some=some: import_rows.write(tx, draft.id, some))  # type: ignore[misc]
        count += len(some)
    if not count:
        raise csv_files.BadFile("no_rows")
    return replace(draft, rows=count)


def _rows(lines: Iterator[csv_files.Line], columns: int, most_rows: int) -> Iterator[Row]:
    """The rows of the file, without empty cells beyond the header. Raises `BadFile`, `TooManyRows`."""
    for count, line in enumerate(cooperative.each(lines), start=1):
        if count > most_rows:
            raise TooManyRows(most=most_rows)
        cells = line.cells
        while len(cells) > columns and not cells[-1].strip():
            cells.pop()
        if any(len(cell) > CELL_MAX for cell in cells):
            raise csv_files.BadFile("cell_long", row=line.number, most=CELL_MAX)
        yield Row(line.number, cells)


def _some(rows: Iterator[Row]) -> list[Row]:
    some, size = [], 0
    for row in rows:
        some.append(row)
        size += sum(map(len, row.cells))
        if len(some) == draft_rows.ROWS or size >= TEXT:
            break
    return some


def _arrived(tx: WriteTx, actor: Actor, draft: Draft, now_ms: int) -> Draft:
    """Finish the received draft. Raises `NotFound` if it was deleted meanwhile."""
    if rows.find(tx, access.scope_of(actor, ANY_KIND), draft.id, now_ms=now_ms) is None:
        raise NotFound("id", thing=access.Thing.DRAFT)
    whole = replace(draft, state=draft.after(DraftEvent.ARRIVE), expires_ms=draft.created_ms + KEPT_MS)
    if not missing_of(draft.kind, draft.columns):
        whole = checking(whole)
    rows.change(tx, whole)
    return whole
