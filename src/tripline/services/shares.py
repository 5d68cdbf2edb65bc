"""Limits in the memory of one process, shared between operators, companies and accounts; and turns for work that runs
one at a time.

A full limit makes room for a newcomer: the longest-standing item of the largest holder gives way. The caller decides
how it ends, for example an upload with a refusal.

Not here: choosing the item that gives way (`domain/shares.py`), limits of addresses (`adapters/http/bounds.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from tripline.domain.access import Actor, Scope
from tripline.domain.ids import CompanyId
from tripline.domain.refusals import Refusal
from tripline.domain.shares import Held, Holder, Rota, Shares
from tripline.store.fleet import companies
from tripline.store.transactions import ReadTx

End = Callable[[], None]
"""Ends an item that gives way."""
_ANY = Scope.everything("which operator a company belongs to")


def holder(tx: ReadTx, actor: Actor, company_id: CompanyId | None = None) -> Holder:
    """The holder for an actor's work: this company, else the actor's own; without a company, the account itself."""
    of = actor.company_id if company_id is None else company_id
    found = None if of is None else companies.find(tx, _ANY, of)
    if found is None:
        return Holder(actor.user_id, actor.user_id, actor.user_id)
    return Holder(found[0].master_id, found[0].id, actor.user_id)


class Places:
    """The items under one limit."""

    def __init__(self, shares: Shares) -> None:
        self.shares = shares
        self._held: list[Held[End]] = []

    @property
    def taken(self) -> int:
        return sum(each.size for each in self._held)

    def enter(self, holder: Holder, end: End, *, size: int = 1) -> Held[End] | None:
        """Add an item; None: the limit is full without a larger holder. `end` is called when the item gives way."""
        new = Held(end, holder, 0)
        self._held.append(new)
        if self.grow(new, size):
            return new
        self._held.remove(new)
        return None

    def grow(self, held: Held[End], size: int) -> bool:
        """Enlarge an item; False, without a change, when the limit is full without a larger holder."""
        going = self.shares.room(self._held, held.holder, size)
        if going is None:
            return False
        for each in going:
            self._held.remove(each)
            each.item()
        held.size += size
        return True

    def leave(self, held: Held[End]) -> None:
        """Remove an item, unless it gave way before."""
        if held in self._held:
            self._held.remove(held)

    @asynccontextmanager
    async def place(self, holder: Holder, *, full: Refusal, gave_way: Refusal) -> AsyncIterator[Held[End]]:
        """Add an item for the length of the block. Raises `full`, or `gave_way` when it makes room for another."""
        async with giving_way(gave_way) as end:
            held = self.enter(holder, end)
            if held is None:
                raise full
            try:
                yield held
            finally:
                self.leave(held)


@asynccontextmanager
async def giving_way(refusal: Refusal) -> AsyncIterator[End]:
    """Yield a function that cancels the block, which then raises the refusal."""
    loop, is_over = asyncio.get_running_loop(), False

    def end() -> None:
        nonlocal is_over
        if not is_over:
            is_over = True
            scope.reschedule(loop.time())

    try:
        async with asyncio.timeout(None) as scope:
            yield end
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise refusal from error


class _Waiting(NamedTuple):
    operator: str
    size: int
    turn: asyncio.Future[None]


class Turns:
    """One turn at a time, by a `Rota`."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._is_taken = False
        self._rota = Rota()

    @asynccontextmanager
    async def turn(self, operator: str, *, size: int = 1) -> AsyncIterator[None]:
        """Wait for the turn, and take it. `Places` limits the number of waiters."""
        mine = _Waiting(operator, size, asyncio.get_running_loop().create_future())
        self._waiting.append(mine)
        self._go_on()
        try:
            await mine.turn
            yield
        finally:
            if mine in self._waiting:
                self._waiting.remove(mine)
            else:
                self._is_taken = False
                self._go_on()

    def _go_on(self) -> None:
        if self._is_taken or not self._waiting:
            return
        following = self._rota.next(self._waiting, lambda each: (each.operator, each.size))
        self._waiting.remove(following)
        self._is_taken = True
        if not following.turn.done():
            following.turn.set_result(None)
