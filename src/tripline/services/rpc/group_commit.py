"""Group commit: small writes of many requests share one durable transaction, since one commit costs as much as fifty.

The first writer commits for all waiting ones; writes that arrive meanwhile form the next batch. No writer waits for
others to arrive. Cancelling one writer affects no other: its pending work is dropped, and a commit under way completes.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from tripline.domain.refusals import Refusal
from tripline.ports.outages import Outage
from tripline.store.transactions import Store, WriteTx

T = TypeVar("T")

MOST: Final = 256
"""Writes in one transaction: it delays the commit of device messages."""


class _Entry(msgspec.Struct, eq=False):
    work: Callable[[WriteTx], Any]
    done: bool = False
    result: Any = None
    error: BaseException | None = None


class Gathering:
    """Runs writes in shared transactions. A write that refuses must not have written anything before.

    `locked` writes take their own locks (`Store.write`).
    """

    def __init__(self, store: Store, *, locked: bool = False) -> None:
        self._store = store
        self._locked = locked
        self._waiting: list[_Entry] = []
        self._passing = asyncio.Lock()

    async def write(self, work: Callable[[WriteTx], T]) -> T:
        """Return the result of the write, once it is committed. Raises its errors, and `Outage`."""
        entry = _Entry(work)
        self._waiting.append(entry)
        try:
            async with self._passing:
                # The previous leader may have committed this write with its own.
                if not entry.done:
                    await self._pass(entry)
        except asyncio.CancelledError:
            if entry in self._waiting:
                self._waiting.remove(entry)  # otherwise the next leader would run it
            raise
        if entry.error is not None:
            raise entry.error
        result: T = entry.result
        return result

    async def _pass(self, first: _Entry) -> None:
        """Commit waiting writes until the first one is done."""
        # Others precede it only if more wait than fit; then it leads again at once.
        while not first.done:
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            ended = asyncio.Event()
            try:
                # A commit under way cannot be undone, and others wait for it. A cancelled leader waits for its end:
                # otherwise the next one would lead while this one still writes.
                await asyncio.shield(self._commit(batch, ended))
            except asyncio.CancelledError:
                await ended.wait()
                raise

    async def _commit(self, batch: list[_Entry], ended: asyncio.Event) -> None:
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
            # The shared transaction was rolled back: results from it are void.
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
        # Caught inside the transaction, so that one refusal does not undo the other writes.
        except Refusal as refusal:
            entry.error = refusal
