"""Turn a file into a draft: rows are read on a thread and stored a few blocks at a time.

Only a few blocks are in memory, however large the file is. If the process dies meanwhile, the draft is unusable and
deleted after an hour.

Not here: receiving a file (`http/uploads.py`), reading its format (`wire/csv_files.py`).
"""

import asyncio
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import IO, Final

from msgspec.structs import replace

from tripline import cooperative
from tripline.domain import access
from tripline.domain.access import Actor
from tripline.domain.ids import TimeIds
from tripline.domain.import_drafts import (
    ARRIVING_MS,
    KEPT_MS,
    NAME_MAX,
    OF_ACCOUNT,
    OF_COMPANY,
    OF_OPERATOR,
    Draft,
    DraftEvent,
    DraftId,
    TooManyDrafts,
)
from tripline.domain.refusals import NotFound, Refusal
from tripline.language import headings
from tripline.ports.clocks import Clock
from tripline.services.imports import draft_blocks, drafts
from tripline.services.imports.kinds import ImportKind
from tripline.services.imports.registration import TooManyRows
from tripline.store.fleet import import_blocks
from tripline.store.fleet import import_drafts as rows
from tripline.store.fleet.import_blocks import Block
from tripline.store.transactions import Store, WriteTx
from tripline.wire import csv_files

AT_ONCE: Final = 4
"""Blocks stored in one transaction: a few milliseconds of the writer's time."""


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
    new = _new(actor, kind, name, table.header, DraftId(ids.next(now_ms=clock())), clock())
    await store.write(lambda tx: _admit(tx, new))
    try:
        arrived = await _keep(store, new, table.lines, most_rows)
    except Refusal:
        await store.write(lambda tx: rows.change(tx, replace(new, expires_ms=0)))
        raise
    return await store.write(lambda tx: _arrived(tx, actor, arrived, clock())), table.encoding


def _opened(file: IO[bytes], kind: ImportKind, encoding: csv_files.Encoding | None) -> csv_files.Table:
    return csv_files.read_table(file, column_of=partial(headings.column_of, kind.sheet.columns), encoding=encoding)


def _new(actor: Actor, kind: ImportKind, name: str, header: list[str], draft_id: DraftId, now_ms: int) -> Draft:
    return Draft(
        id=draft_id,
        account_id=actor.user_id,
        company_id=access.company_of(actor),
        kind=kind.noun,
        name=name[:NAME_MAX],
        created_ms=now_ms,
        expires_ms=now_ms + ARRIVING_MS,
        header=tuple(header),
        columns=headings.matched(kind.sheet.columns, header),
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
    counted = _Counted(cooperative.each(lines), most_rows)
    packed = draft_blocks.packed_rows(counted, len(draft.header), first=0)
    blocks = 0
    while some := await asyncio.to_thread(_some, packed):
        await store.write(lambda tx, some=some: import_blocks.insert_new(tx, draft.id, some))  # type: ignore[misc]
        blocks += len(some)
    if not counted.rows:
        raise csv_files.BadFile("no_rows")
    return replace(draft, rows=counted.rows, blocks=blocks)


def _some(packed: Iterator[Block]) -> list[Block]:
    return list(islice(packed, AT_ONCE))


class _Counted:
    """Counts the lines. Raises `TooManyRows` above the limit."""

    def __init__(self, lines: Iterator[csv_files.Line], most: int) -> None:
        self._lines = lines
        self._most = most
        self.rows = 0

    def __iter__(self) -> "_Counted":
        return self

    def __next__(self) -> csv_files.Line:
        line = next(self._lines)
        self.rows += 1
        if self.rows > self._most:
            raise TooManyRows(most=self._most)
        return line


def _arrived(tx: WriteTx, actor: Actor, draft: Draft, now_ms: int) -> Draft:
    """Finish the received draft. Raises `NotFound` if it was deleted meanwhile."""
    if rows.find(tx, access.scope_of(actor, drafts.ANY_KIND), draft.id, now_ms=now_ms) is None:
        raise NotFound("id", thing=access.Thing.DRAFT)
    whole = replace(draft, state=draft.after(DraftEvent.ARRIVE), expires_ms=draft.created_ms + KEPT_MS)
    if not drafts.missing_of(draft.kind, draft.columns):
        whole = drafts.checking(whole)
    rows.change(tx, whole)
    return whole
