"""Work on drafts: check all rows, and register the good ones.

A draft names the process that works on it. Once that is gone (`services/nodes.py`), another process, or the same one
after a restart, begins the work again: an interrupted check has stored nothing final, and registering is one
transaction that also completes the draft. So good rows are registered once, all or none, whenever a process is killed;
and a draft cancelled before that transaction ends registers none of them.
"""

import asyncio
import collections
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

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
from tripline.observe import logger
from tripline.ports.clocks import Clock
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals
from tripline.services.fleet import companies, history
from tripline.services.imports import draft_rows, drafts
from tripline.services.imports.draft_rows import Examined, Taken
from tripline.services.imports.kinds import ImportKind
from tripline.services.nodes import Node
from tripline.services.poll_loop import PollLoop
from tripline.store import bulk
from tripline.store.accounts import accounts
from tripline.store.fleet import import_drafts, import_rows
from tripline.store.fleet.import_rows import Row
from tripline.store.transactions import ReadTx, Store, WriteTx

LOOK_S: Final = 5.0
SHORT_ROWS: Final = 2_500
"""Most rows of a short draft, which is checked in a few tenths of a second."""
_EVERYTHING: Final = Scope.everything("import drafts")

log = logger("imports")


class _Gone(Exception):  # noqa: N818  never leaves this module
    """The draft was cancelled, deleted, or taken over by another process."""


class _Taken(Exception):  # noqa: N818  rolls the transaction back; never leaves this module
    """A name was registered after the check."""


class _Lane(NamedTuple):
    """Short or long drafts; the worker takes one of them at a time."""

    loop: PollLoop
    rota: Rota
    are_short: bool


class Check:
    """The check of a draft; pass all rows in order."""

    def __init__(self, draft: Draft, service_type: str) -> None:
        self._draft = draft
        self._service_type = service_type
        self._kind: ImportKind = drafts.kind_of(draft)
        self._seen: list[set[int | None]] = [set() for _ in self._kind.keys]

    def examined(self, rows: Sequence[Row]) -> list[Examined | None]:
        """Examine each row by itself, None for skipped rows; takes a while."""
        return [
            None if row.state is RowState.SKIPPED else draft_rows.examined(row.cells, self._draft.columns, self._kind)
            for row in cooperative.each(rows)
        ]

    def taken(self, tx: ReadTx, rows: Sequence[Examined | None]) -> Taken:
        good = [row.registration for row in rows if row is not None and row.registration is not None]
        return draft_rows.taken(tx, self._service_type, self._kind, good)

    def judged(self, rows: Sequence[Row], examined: Sequence[Examined | None], taken: Taken) -> list[Row]:
        judged = []
        for row, each in cooperative.each(zip(rows, examined, strict=True)):
            names = () if each is None else each.names
            repeated = [name is not None and name in seen for name, seen in zip(names, self._seen, strict=False)]
            judged.append(draft_rows.judged(row, each, self._kind, taken, repeated))
            for name, seen in zip(names, self._seen, strict=False):
                seen.add(name)
        return judged


class DraftWorker:
    """Works on one long draft at a time, and on one short one beside it; operators take turns."""

    def __init__(self, *, store: Store, ids: TimeIds, signals: Signals, clock: Clock, node: Node) -> None:
        self._store = store
        self._ids = ids
        self._clock = clock
        self._node = node
        self._lanes = [
            _Lane(PollLoop(signals, observe.SIGNAL_IMPORT_DUE, look_s=LOOK_S), Rota(), are_short)
            for are_short in (True, False)
        ]

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for lane in self._lanes:
                tasks.create_task(lane.loop.run(partial(self._work, lane), log=log, failed="imports.failed"))

    async def work(self) -> int:
        """Delete some expired drafts, and work on one waiting draft; 0: nothing to do. Raises `Outage`."""
        return await self._work(self._lanes[0]) or await self._work(self._lanes[1])

    async def _work(self, lane: _Lane) -> int:
        """Like `work`, for the drafts of one lane."""
        gone, draft = await self._store.write(lambda tx: self._next(tx, lane, self._clock()))
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

    def _next(self, tx: WriteTx, lane: _Lane, now_ms: int) -> tuple[int, Draft | None]:
        """Delete rows of expired drafts and claim the next draft; return the number of deleted rows and the draft."""
        gone = import_drafts.purge(tx, now_ms=now_ms, limit=draft_rows.ROWS)
        waiting = import_drafts.waiting(tx, node_id=self._node.id, now_ms=now_ms)
        there = [each for each in waiting if (each[0].rows <= SHORT_ROWS) is lane.are_short]
        if not there:
            return gone, None
        draft, _ = lane.rota.next(there, lambda each: (each[1], each[0].rows))
        claimed = replace(draft, holder=self._node.id)
        import_drafts.change(tx, claimed)
        return gone, claimed

    async def _check(self, draft: Draft) -> None:
        company = await self._store.read(lambda tx: self._owner(tx, draft)[1])
        check = Check(draft, company.service_type)
        counts: collections.Counter[RowState] = collections.Counter()
        async for rows in draft_rows.portions(self._store, draft.id):
            judged = await self._judged(check, rows)
            counts.update(row.state for row in judged)
            done = counts.total()
            await self._store.write(lambda tx, judged=judged, done=done: self._go_on(tx, draft, judged, done))  # type: ignore[misc]
        await self._store.write(lambda tx: self._checked(tx, draft, counts))

    async def _judged(self, check: Check, rows: Sequence[Row]) -> list[Row]:
        examined = await asyncio.to_thread(check.examined, rows)
        taken = await self._store.read(lambda tx: check.taken(tx, examined))
        return await asyncio.to_thread(check.judged, rows, examined, taken)

    def _checked(self, tx: WriteTx, draft: Draft, counts: Mapping[RowState, int]) -> None:
        checked = drafts.ended(self._still(tx, draft), DraftEvent.FINISH_CHECK)
        import_drafts.change(tx, replace(checked, good=0, bad=0, duplicate=0, skipped=0).counting(counts))

    async def _commit(self, draft: Draft) -> None:
        """Register every good row, in one transaction."""
        actor, company = await self._store.read(lambda tx: self._owner(tx, draft))
        kind = drafts.kind_of(draft)
        registrations: list[Any] = []
        async for rows in draft_rows.portions(self._store, draft.id, [RowState.GOOD]):
            registrations += await asyncio.to_thread(_registrations, draft, kind, rows)
            done = len(registrations)
            await self._store.write(lambda tx, done=done: self._go_on(tx, draft, [], done))  # type: ignore[misc]
        parts = kind.prepared(registrations, actor=actor, company=company, ids=self._ids, now_ms=self._clock())
        try:
            async with bulk.staged(self._store, parts) as insert:
                await self._store.write(lambda tx: self._register(tx, draft, insert, len(registrations)))
        except _Taken:
            await self._end(draft, DraftEvent.CHECK, Note.TAKEN)

    def _register(self, tx: WriteTx, draft: Draft, insert: Callable[[WriteTx], bool], count: int) -> None:
        """Register all rows. Raises `_Taken`, `_Gone` and `Refusal`, which roll everything back."""
        mine = self._still(tx, draft)
        actor, company = self._owner(tx, draft)
        if not insert(tx):
            raise _Taken
        event, now_ms = drafts.kind_of(draft).event, self._clock()
        history.note_import(tx, actor, event, company=company, count=count, no=None, ids=self._ids, now_ms=now_ms)
        # Last, so that a concurrent cancellation does not wait: it conflicts with this update and is retried.
        import_drafts.change(tx, replace(drafts.ended(mine, DraftEvent.REGISTER), created=count))

    def _owner(self, tx: ReadTx, draft: Draft) -> tuple[Actor, Company]:
        """The account and company that register the rows. Raises `Refusal` if the account lost the permission."""
        actor = accounts.actor(tx, draft.account_id)
        if actor is None or actor.company_id != draft.company_id:
            raise Forbidden("reach", thing=access.Thing.DRAFT)
        access.scope_of(actor, drafts.kind_of(draft).action)
        return actor, companies.own(tx, actor=actor)

    def _go_on(self, tx: WriteTx, draft: Draft, judged: Sequence[Row], done: int) -> None:
        """Store verdicts and progress. Raises `_Gone`."""
        mine = self._still(tx, draft)
        import_rows.write(tx, draft.id, judged)
        import_drafts.change(tx, replace(mine, done=done))

    def _still(self, tx: WriteTx, draft: Draft) -> Draft:
        """Reload the draft, if this process still has it. Raises `_Gone`."""
        found = import_drafts.find(tx, _EVERYTHING, draft.id, now_ms=self._clock())
        if found is None or found[0].holder != draft.holder:
            raise _Gone
        return found[0]

    async def _end(self, draft: Draft, event: DraftEvent, note: Note) -> None:
        """End work that registered nothing."""

        def work(tx: WriteTx) -> None:
            import_drafts.change(tx, replace(drafts.ended(self._still(tx, draft), event), note=note))

        with contextlib.suppress(_Gone):
            await self._store.write(work)


def _registrations(draft: Draft, kind: ImportKind, rows: Sequence[Row]) -> list[Any]:
    return [draft_rows.registered(row.cells, draft.columns, kind) for row in cooperative.each(rows)]
