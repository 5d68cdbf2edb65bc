"""Small writes of many requests, gathered into one durable transaction: a commit costs the same for one and for fifty.

Whoever comes first writes for all that wait; what comes meanwhile is written together by the next. Nobody waits for
company. One who is cancelled takes nobody along: what was not begun for him is not done, what was begun is ended.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

from tripline.domain.refusals import Refusal
from tripline.ports.outages import Outage
from tripline.store.transactions import Store, WriteTx

T = TypeVar("T")

MOST: Final = 256
"""Works in one transaction: it delays the commit of what devices send."""


class _Entry:
    """One work and what came of it."""

    __slots__ = ("done", "error", "result", "work")

    def __init__(self, work: Callable[[WriteTx], Any]) -> None:
        self.work = work
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class Gathering:
    """Runs works in transactions that they share. A work that refuses must not have written anything before.

    `locked` works take the locks that they need themselves (`Store.write`).
    """

    def __init__(self, store: Store, *, locked: bool = False) -> None:
        self._store = store
        self._locked = locked
        self._waiting: list[_Entry] = []
        self._passing = asyncio.Lock()

    async def write(self, work: Callable[[WriteTx], T]) -> T:
        """What the work returns, once it is committed. Raises what the work raises, and `Outage`."""
        entry = _Entry(work)
        self._waiting.append(entry)
        try:
            async with self._passing:
                # Whoever led before may have written this one with his own.
                if not entry.done:
                    await self._pass(entry)
        except asyncio.CancelledError:
            if entry in self._waiting:
                self._waiting.remove(entry)  # the next one would do it, whenever that comes
            raise
        if entry.error is not None:
            raise entry.error
        result: T = entry.result
        return result

    async def _pass(self, first: _Entry) -> None:
        """Commit what waits: at least the first."""
        # Others are written before it only when more wait than fit, and then it leads again in a moment.
        while not first.done:
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            ended = asyncio.Event()
            try:
                # A commit under way cannot be called back, and others wait for it. Who is cancelled here waits for its
                # end: else the next one would lead while this one still writes.
                await asyncio.shield(self._commit(batch, ended))
            except asyncio.CancelledError:
                await ended.wait()
                raise

    async def _commit(self, batch: list[_Entry], ended: asyncio.Event) -> None:
        """Write the batch; what came of each stands in its entry."""
        try:
            await self._store.write(lambda tx: _run(tx, batch), locked=self._locked)
        except Outage as outage:
            for entry in batch:
                entry.error = outage
        except Exception:  # noqa: BLE001  not known whose fault it is: each for itself
            await self._one_by_one(batch)
        except BaseException:
            for entry in batch:
                entry.error = Outage("The program is stopping.")
            raise
        finally:
            for entry in batch:
                entry.done = True
            ended.set()

    async def _one_by_one(self, batch: list[_Entry]) -> None:
        for entry in batch:
            # The transaction that all shared was rolled back: what a work got out of it is void.
            entry.result = entry.error = None
            try:
                entry.result = await self._store.write(entry.work, locked=self._locked)
            except Exception as error:  # noqa: BLE001  raised where the work was given
                entry.error = error


def _run(tx: WriteTx, batch: list[_Entry]) -> None:
    for entry in batch:
        entry.error = None
        try:
            entry.result = entry.work(tx)
        # Caught inside the transaction, so that one refusal does not undo the work of all others.
        except Refusal as refusal:
            entry.error = refusal
