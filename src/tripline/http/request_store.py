"""The store as handlers of requests see it: no account crowds out the reads and changes of others.

Reads have threads of their own (`Crew.PEOPLE`); one account uses at most half of them at a time. Changes of an
account go one after the other on SQLite; on PostgreSQL they leave one thread to others. Look-ups on the event loop take
less than a turn, and need none.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, TypeVar

from tripline.http.turns import Turns
from tripline.store.transactions import Crew, ReadTx, Store, WriteTx

T = TypeVar("T")


def _nobody() -> str:
    """The holder of work that no request asks for."""
    return ""


HOLDER: Final[ContextVar[Callable[[], str]]] = ContextVar("holder", default=_nobody)
"""Returns the account, or address, that the work of this task belongs to. Set for each request by `middleware.py`."""


class RequestStore(Store):
    """A store for requests."""

    def __init__(self, store: Store, *, readers: int = 2, writers: int = 4) -> None:
        """`readers`, `writers`: as the store was given them."""
        super().__init__(store.of(Crew.PEOPLE).database, Crew.PEOPLE)
        if store.shared:
            self._reads = Turns(2 * readers, of_holder=readers)
            self._writes = Turns(writers, of_holder=max(writers - 1, 1))
        else:
            self._reads = Turns(readers, of_holder=max(readers // 2, 1))
            # A second one waits while the only writer works, so that it need not wait for the event loop.
            self._writes = Turns(2, of_holder=1)

    async def write(self, work: Callable[[WriteTx], T], *, locked: bool = False) -> T:
        """Run the work in one durable transaction, in its account's turn. Raises `TooMuchAtOnce`."""
        async with self._writes.place(HOLDER.get()()):
            return await super().write(work, locked=locked)

    async def read(self, work: Callable[[ReadTx], T], *, consistent: bool = True) -> T:
        """Run the work on one consistent view, off the event loop, in its account's turn. Raises `TooMuchAtOnce`, and
        `ReadTooLong`."""
        async with self._reads.place(HOLDER.get()()):
            return await super().read(work, consistent=consistent)

    async def read_short(self, work: Callable[[ReadTx], T], *, consistent: bool = True) -> T:
        """Run a look-up by key. On a shared store it takes a thread, so it waits for its turn as `read` does."""
        if self.shared:
            return await self.read(work, consistent=consistent)
        return await super().read_short(work, consistent=consistent)
