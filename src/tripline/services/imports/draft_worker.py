"""Work on drafts: check all rows, and register the good ones.

A process leases a draft for some seconds and renews the lease as it proceeds. If it dies, another process, or the same
one after a restart, begins the work again: an interrupted check has stored nothing final, and registering is one
transaction that also completes the draft. So good rows are registered once, all or none, whenever a process is killed;
and a draft cancelled before that transaction ends registers none of them.

Not here: registering a file in one request (`registration.py`).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from tripline import cooperative, observe
from tripline.domain import access
from tripline.domain.access import Actor, Scope
from tripline.domain.companies import Company
from tripline.domain.history import TooManyChanges
from tripline.domain.ids import TimeIds
from tripline.domain.import_drafts import Draft, DraftEvent, Note, RowState, State
from tripline.domain.refusals import Forbidden, Refusal
from tripline.domain.shares import Rota
from tripline.later import Later
from tripline.observe import logger
from tripline.ports.clocks import Clock
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals
from tripline.services.fleet import companies, history
from tripline.services.imports import draft_blocks, draft_rows, drafts
from tripline.services.imports.draft_blocks import Verdicts
from tripline.services.imports.draft_rows import Examined, Taken
from tripline.services.imports.kinds import ImportKind
from tripline.services.nodes import Node
from tripline.services.poll_loop import PollLoop
from tripline.store import bulk
from tripline.store.accounts import accounts
from tripline.store.fleet import import_blocks
from tripline.store.fleet import import_drafts as rows
from tripline.store.fleet.import_blocks import Block
from tripline.store.transactions import ReadTx, Store, WriteTx

if TYPE_CHECKING:
    import numpy as np
else:
    np = Later("numpy")

LOOK_S: Final = 5.0
HELD_MS: Final = 20_000
"""Lease of a draft without renewal."""
REGISTERING_MS: Final = 300_000
"""The lease during the transaction that registers the rows, which cannot renew it."""
SHORT_ROWS: Final = 2_500
"""Most rows of a short draft, which is checked in a few tenths of a second."""
GONE_AT_ONCE: Final = 50
"""Blocks of expired drafts that one transaction deletes: about half a MiB."""
AT_ONCE: Final = 4
"""Blocks processed between two renewals of the lease."""
_EVERYTHING: Final = Scope.everything("import drafts")

log = logger("imports")


class _Gone(Exception):  # noqa: N818  never leaves this module
    """The draft was cancelled, deleted, or taken over by another process."""


class _Taken(Exception):  # noqa: N818  rolls the transaction back; never leaves this module
    """A name was registered after the check."""


class _Lane:
    """Drafts of one range of rows; the worker takes one of them at a time."""

    def __init__(self, loop: PollLoop, *, least_rows: int = 0, most_rows: int | None = None) -> None:
        self.loop = loop
        self.waiting = partial(rows.waiting, least_rows=least_rows, most_rows=most_rows)
        self.rota = Rota()


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


class DraftWorker:
    """Works on one long draft at a time, and on one short one beside it; operators take turns."""

    def __init__(self, *, store: Store, ids: TimeIds, signals: Signals, clock: Clock, node: Node) -> None:
        self._store = store
        self._ids = ids
        self._clock = clock
        self._node = node
        short, long = (PollLoop(signals, observe.SIGNAL_IMPORT_DUE, look_s=LOOK_S) for _ in range(2))
        self._lanes = (_Lane(short, most_rows=SHORT_ROWS), _Lane(long, least_rows=SHORT_ROWS + 1))

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for lane in self._lanes:
                tasks.create_task(lane.loop.run(partial(self._work, lane), log=log, failed="imports.failed"))

    async def work(self) -> int:
        """Delete some expired drafts, and work on one waiting draft; 0: nothing to do.

        Raises `Outage`.
        """
        return await self._work(self._lanes[0]) or await self._work(self._lanes[1])

    async def _work(self, lane: _Lane) -> int:
        """Like `work`, for the drafts of one lane."""
        holder = self._node.id
        now_ms = self._clock()
        gone, draft = await self._store.write(lambda tx: self._next(tx, lane, holder, now_ms))
        if draft is None:
            return gone
        work: Callable[[Draft], Awaitable[None]] = self._check if draft.state is State.CHECKING else self._commit
        try:
            await work(draft)
        except _Gone:
            pass
        except TooManyChanges:
            await self._end(draft, DraftEvent.FAIL, Note.FULL)
        except Refusal:
            await self._end(draft, DraftEvent.FAIL, Note.FORBIDDEN)
        except Outage:
            raise
        except Exception:
            log.exception("imports.failed")
            await self._end(draft, DraftEvent.FAIL, Note.FAILED)
        return 1

    @staticmethod
    def _next(tx: WriteTx, lane: _Lane, holder: str, now_ms: int) -> tuple[int, Draft | None]:
        """Delete blocks of expired drafts and claim the next draft; return the number of deleted blocks and the
        draft."""
        gone = rows.purge(tx, now_ms=now_ms, limit=GONE_AT_ONCE)
        there = lane.waiting(tx, holder=holder, now_ms=now_ms)
        if not there:
            return gone, None
        following = lane.rota.next(there, lambda each: (each.operator, each.rows))
        return gone, rows.claim(tx, following.id, holder=holder, until_ms=now_ms + HELD_MS)

    async def _check(self, draft: Draft) -> None:
        """Give every row its verdict."""
        company = await self._store.read(lambda tx: self._owner(tx, draft)[1])
        check = Check(draft, company.service_type)
        counted = replace(draft, good=0, bad=0, duplicate=0, skipped=0)
        for first in range(0, draft.blocks, AT_ONCE):
            judged = await self._judged(draft, check, first)
            counted = draft_blocks.counted(counted, [], judged)
            done = sum(getattr(counted, name) for name in draft_blocks.COUNTED.values())
            await self._store.write(lambda tx, judged=judged, done=done: self._go_on(tx, draft, judged, done))  # type: ignore[misc]
        await self._store.write(lambda tx: self._checked(tx, draft, counted))

    async def _judged(self, draft: Draft, check: Check, first: int) -> list[Block]:
        blocks = await self._store.read(lambda tx: import_blocks.read(tx, draft.id, first=first, count=AT_ONCE))
        examined = [await asyncio.to_thread(check.examined, block) for block in blocks]

        def look(tx: ReadTx) -> list[Taken]:
            return [check.taken(tx, each) for each in examined]

        taken = await self._store.read(look)
        return await asyncio.to_thread(_judged, check, blocks, examined, taken)

    def _checked(self, tx: WriteTx, draft: Draft, counted: Draft) -> None:
        mine = self._still(tx, draft)
        counts = {name: getattr(counted, name) for name in draft_blocks.COUNTED.values()}
        rows.change(tx, replace(drafts.ended(mine, DraftEvent.FINISH_CHECK), **counts))

    async def _commit(self, draft: Draft) -> None:
        """Register every good row, in one transaction."""
        actor, company = await self._store.read(lambda tx: self._owner(tx, draft))
        kind = drafts.kind_of(draft)
        registrations: list[Any] = []
        for first in range(0, draft.blocks, AT_ONCE):
            registrations += await self._registrations(draft, kind, first)
            done = len(registrations)
            await self._store.write(lambda tx, done=done: self._go_on(tx, draft, [], done))  # type: ignore[misc]
        parts = kind.prepared(registrations, actor=actor, company=company, ids=self._ids, now_ms=self._clock())
        # One transaction may outlast a lease, and cannot renew it.
        await self._store.write(lambda tx: self._go_on(tx, draft, [], len(registrations), held_ms=REGISTERING_MS))
        try:
            async with bulk.staged(self._store, parts) as insert:
                await self._store.write(lambda tx: self._register(tx, draft, insert, len(registrations)))
        except _Taken:
            await self._end(draft, DraftEvent.CHECK, Note.TAKEN)

    async def _registrations(self, draft: Draft, kind: ImportKind, first: int) -> list[Any]:
        """Registrations of the good rows in some blocks."""
        blocks = await self._store.read(lambda tx: import_blocks.read(tx, draft.id, first=first, count=AT_ONCE))
        return await asyncio.to_thread(_registrations, draft, kind, blocks)

    def _register(self, tx: WriteTx, draft: Draft, insert: Callable[[WriteTx], bool], count: int) -> None:
        """Register all rows. Raises `_Taken`, `_Gone` and `Refusal`, which roll everything back."""
        mine = self._still(tx, draft)
        actor, company = self._owner(tx, draft)
        if not insert(tx):
            raise _Taken
        event, now_ms = drafts.kind_of(draft).event, self._clock()
        history.note_import(tx, actor, event, company=company, count=count, no=None, ids=self._ids, now_ms=now_ms)
        # Last, so that a concurrent cancellation does not wait: it conflicts with this update and is retried.
        rows.change(tx, replace(drafts.ended(mine, DraftEvent.REGISTER), created=count))

    def _owner(self, tx: ReadTx, draft: Draft) -> tuple[Actor, Company]:
        """The account and company that register the rows. Raises `Refusal` if the account lost the permission."""
        actor = accounts.actor(tx, draft.account_id)
        if actor is None or actor.company_id != draft.company_id:
            raise Forbidden("reach", thing=access.Thing.DRAFT)
        access.scope_of(actor, drafts.kind_of(draft).action)
        return actor, companies.own(tx, actor=actor)

    def _go_on(self, tx: WriteTx, draft: Draft, judged: Sequence[Block], done: int, *, held_ms: int = HELD_MS) -> None:
        """Store verdicts and progress, and renew the lease. Raises `_Gone`."""
        mine = self._still(tx, draft)
        import_blocks.judge(tx, draft.id, judged)
        rows.change(tx, replace(mine, done=done, held_until_ms=self._clock() + held_ms))

    def _still(self, tx: WriteTx, draft: Draft) -> Draft:
        """Reload the draft, if this process still has it. Raises `_Gone`."""
        found = rows.find(tx, _EVERYTHING, draft.id, now_ms=self._clock())
        if found is None or (found[0].state, found[0].holder) != (draft.state, draft.holder):
            raise _Gone
        return found[0]

    async def _end(self, draft: Draft, event: DraftEvent, note: Note) -> None:
        """End work that registered nothing."""

        def work(tx: WriteTx) -> None:
            rows.change(tx, replace(drafts.ended(self._still(tx, draft), event), note=note))

        with contextlib.suppress(_Gone):
            await self._store.write(work)


def _judged(
    check: Check, blocks: Sequence[Block], examined: Sequence[Sequence[Examined | None]], taken: Sequence[Taken]
) -> list[Block]:
    return [check.judged(*each) for each in zip(blocks, examined, taken, strict=True)]


def _registrations(draft: Draft, kind: ImportKind, blocks: Sequence[Block]) -> list[Any]:
    found = []
    for block in blocks:
        verdicts, cells = draft_blocks.verdicts_of(block), draft_blocks.rows_of(block).cells
        assert verdicts is not None, "only a draft that is checked is committed"
        for at, state in enumerate(cooperative.each(verdicts.states)):
            if state == RowState.GOOD:
                named = {
                    column: cell for column, cell in zip(draft.columns, cells[at], strict=False) if column and cell
                }
                found.append(kind.sheet.record(kind.registration, named))
    return found
