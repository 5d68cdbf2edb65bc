"""Turns of many accounts at a few places: each holds some of the places at most, and gets the next in its turn.

Works of one account wait in their order; a free place goes to the account whose work began or ended longest ago, so
however many works one has waiting, another's first waits for one of them at most. The number of waiting works is
bounded for each account and in all. At the bound of all the account with most works waiting loses its oldest.

Belongs to one event loop. Not here: which account a request belongs to (`authentication.holder_of`), the works
(`request_store.py`).
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from tripline.domain.refusals import TryLater

WAITING_OF_HOLDER: Final = 200
WAITING: Final = 2_000
_TRY_AGAIN_S: Final = 1


class TooMuchAtOnce(TryLater):
    """The account, or the address of a visitor, has as many reads or changes waiting as one may have."""

    code = "request.too_much_at_once"


class _Holder:
    """The works of one holder: how many are under way, and which wait."""

    __slots__ = ("running", "waiting")

    def __init__(self) -> None:
        self.running = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


class Turns:
    """Places for works. A free place costs two look-ups in a dictionary and no turn of the event loop."""

    def __init__(self, places: int, *, of_holder: int, waiting: int = WAITING) -> None:
        """`places`: works under way at a time, in all; `of_holder`: for each holder."""
        self._free = places
        self._of_holder = of_holder
        self._most_waiting = waiting
        self._holders: dict[str, _Holder] = {}
        """Who has work under way or waiting; whose work began or ended last stands last."""
        self._waiting = 0

    @contextlib.asynccontextmanager
    async def place(self, name: str) -> AsyncIterator[None]:
        """A place for a work of this holder, as soon as it is its turn. Raises `TooMuchAtOnce`."""
        holder = self._holders.get(name)
        if holder is None:
            holder = self._holders[name] = _Holder()
        try:
            if self._free and holder.running < self._of_holder:
                self._take(name, holder)
            else:
                await self._wait(name, holder)
            try:
                yield
            finally:
                self._give_back(name, holder)
        finally:
            if not holder.running and not holder.waiting and self._holders.get(name) is holder:
                del self._holders[name]

    def _take(self, name: str, holder: _Holder) -> None:
        self._free -= 1
        holder.running += 1
        self._holders[name] = self._holders.pop(name)  # behind everybody else

    def _give_back(self, name: str, holder: _Holder) -> None:
        self._free += 1
        holder.running -= 1
        self._holders[name] = self._holders.pop(name)
        self._hand_on()

    async def _wait(self, name: str, holder: _Holder) -> None:
        """Return with a place taken."""
        if len(holder.waiting) >= WAITING_OF_HOLDER:
            raise TooMuchAtOnce(after_s=_TRY_AGAIN_S)
        if self._waiting >= self._most_waiting:
            self._refuse_one()
        turn = asyncio.get_running_loop().create_future()
        holder.waiting.append(turn)
        self._waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                # The place was given just before the cancellation: pass it on.
                self._give_back(name, holder)
            elif turn in holder.waiting:
                holder.waiting.remove(turn)
                self._waiting -= 1
            raise

    def _hand_on(self) -> None:
        while self._free and self._waiting:
            ready = (each for each in self._holders.items() if each[1].waiting and each[1].running < self._of_holder)
            name, holder = next(ready, (None, None))
            if name is None or holder is None:
                return
            turn = holder.waiting.popleft()
            self._waiting -= 1
            if not turn.done():
                self._take(name, holder)
                turn.set_result(None)

    def _refuse_one(self) -> None:
        """Refuse the oldest work of the holder that has most waiting."""
        most = max(self._holders.values(), key=lambda holder: len(holder.waiting))
        turn = most.waiting.popleft()
        self._waiting -= 1
        if not turn.done():
            turn.set_exception(TooMuchAtOnce(after_s=_TRY_AGAIN_S))
