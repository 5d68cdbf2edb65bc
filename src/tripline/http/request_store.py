"""The store as handlers of requests see it: no account crowds out the reads and changes of others.

Reads have threads of their own (`Crew.PEOPLE`); one account uses at most half of them at a time. Changes of an
account go one after the other on SQLite; on PostgreSQL they leave one thread to others. Look-ups on the event loop take
less than a turn, and need none.

Not here: whose turn it is (`turns.py`), which account asks (`authentication.holder_of`).
"""

import contextlib
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from tripline.http.turns import Turns
from tripline.store.transactions import Crew, Hot, ReadTx, Store, WriteTx

T = TypeVar("T")


def _nobody() -> str:
    """The holder of work that no request asks for."""
    return ""


HOLDER: Final[ContextVar[Callable[[], str]]] = ContextVar("holder", default=_nobody)
"""Returns the account, or address, that the work of this task belongs to. Set for each request by `middleware.py`."""


class RequestStore:
    """A store for requests. Implements `Store`."""

    def __init__(self, store: Store, *, readers: int = 2, writers: int = 4) -> None:
        """`readers`, `writers`: as the store was given them."""
        self._store = store.of(Crew.PEOPLE)
        if store.shared:
            self._reads = Turns(2 * readers, of_holder=readers)
            self._writes = Turns(writers, of_holder=max(writers - 1, 1))
        else:
            self._reads = Turns(readers, of_holder=max(readers // 2, 1))
            # A second one waits while the only writer works, so that it need not wait for the event loop.
            self._writes = Turns(2, of_holder=1)
        self.troubles = store.troubles

    async def write(self, work: Callable[[WriteTx], T], *, locked: bool = False) -> T:
        """Run the work in one durable transaction, in its account's turn. Raises `TooMuchAtOnce`."""
        async with self._writes.place(HOLDER.get()()):
            return await self._store.write(work, locked=locked)

    async def read(self, work: Callable[[ReadTx], T], *, consistent: bool = True) -> T:
        """Run the work on one consistent view, off the event loop, in its account's turn. Raises `TooMuchAtOnce`, and
        `ReadTooLong`."""
        async with self._reads.place(HOLDER.get()()):
            return await self._store.read(work, consistent=consistent)

    async def read_short(self, work: Callable[[ReadTx], T], *, consistent: bool = True) -> T:
        """Run a look-up by key. On a shared store it takes a thread, so it waits for its turn as `read` does."""
        if self._store.shared:
            return await self.read(work, consistent=consistent)
        return await self._store.read_short(work, consistent=consistent)

    async def ask(self, statement: Hot, *values: Any) -> list[tuple[Any, ...]]:
        """Every row of one look-up by key, on the event loop."""
        return await self._store.ask(statement, *values)

    async def prove(self) -> None:
        """See whether the database can be used. Raises `ports.outages.Outage`."""
        await self._store.prove()

    @property
    def shared(self) -> bool:
        """Processes on other machines may use the database."""
        return self._store.shared

    @property
    def foreign_commits(self) -> int:
        """How often another process was seen to commit."""
        return self._store.foreign_commits

    def alone(self) -> contextlib.AbstractAsyncContextManager[None]:
        """On a database of our own: no other process commits inside."""
        return self._store.alone()

    def of(self, crew: Crew) -> Store:
        """The same database through the threads of this crew."""
        return self._store.of(crew)

    async def close(self) -> None:
        """Close the database, for every crew."""
        await self._store.close()
