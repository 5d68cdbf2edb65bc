"""Places and turns of requests for a password hash: a flood of strangers leaves room for known requesters.

Half of the places belong to requesters who proved who they are, now or earlier: signed in, with a mailed link, or from
an address where an account signed in lately. Strangers have the other half and every fourth turn. Within each of the
two groups addresses take turns. Where a group has no place left, the address or account with most places gives up its
oldest one, so that a newcomer always gets in.

Accounts are counted by the name that was sent, so an account that does not exist is treated like one that does.
"""

import asyncio
import collections
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from tripline.domain.refusals import TryLater
from tripline.domain.shares import AddressQueue, KnownFirst


class TooManyLogins(TryLater):
    """The waiting room for password hashes is full."""

    code = "login.too_many"


class Requester(msgspec.Struct, frozen=True):
    """Who needs a hash: the account that was named, the address in the form for counting."""

    account: str
    address: str
    known: bool


class Place(msgspec.Struct, frozen=True, eq=False):
    """A place in the queue; `turn` is done when its turn comes. Later ones have greater numbers."""

    number: int
    requester: Requester
    turn: asyncio.Future[None]


class HashTurns:
    """Decides who computes a hash next, `workers` at a time, while up to `waiting` others wait."""

    def __init__(self, *, workers: int, waiting: int) -> None:
        self._free = workers
        self._waiting = max(waiting, 2)
        self._share = self._waiting // 2
        """Places that strangers may have."""
        self._queue: KnownFirst[Place] = KnownFirst()
        self._numbers = itertools.count()

    @asynccontextmanager
    async def turn(self, requester: Requester) -> AsyncIterator[None]:
        """Wait for a turn and hold it. Raises `TooManyLogins`."""
        await self._wait(requester)
        try:
            yield
        finally:
            self._end_turn()

    async def _wait(self, requester: Requester) -> None:
        queue = self._queue
        group = queue.group(is_known=requester.known)
        place = Place(next(self._numbers), requester, asyncio.get_running_loop().create_future())
        group.add(requester.address, place)
        self._give_turns()
        if len(queue.strangers) > self._share:
            self._give_up_place(queue.strangers)
        elif len(queue) > self._waiting:
            self._give_up_place(queue.known)
        try:
            await place.turn
        except asyncio.CancelledError:
            group.remove(requester.address, place)
            # The turn may have come in the same moment.
            if not place.turn.cancelled() and place.turn.exception() is None:
                self._end_turn()
            raise

    def _end_turn(self) -> None:
        self._free += 1
        self._give_turns()

    def _give_turns(self) -> None:
        while self._free and self._queue:
            place = self._queue.next()
            if not place.turn.done():
                self._free -= 1
                place.turn.set_result(None)

    @staticmethod
    def _give_up_place(group: AddressQueue[Place]) -> None:
        place = _oldest_of_largest(group)
        group.remove(place.requester.address, place)
        if not place.turn.done():
            place.turn.set_exception(TooManyLogins(after_s=1))


def _oldest_of_largest(group: AddressQueue[Place]) -> Place:
    """The oldest place of the address or account that has most."""
    addresses = collections.Counter(place.requester.address for place in group)
    accounts = collections.Counter(place.requester.account for place in group)

    def rank(place: Place) -> tuple[int, int]:
        of_one = max(addresses[place.requester.address], accounts[place.requester.account])
        return of_one, -place.number

    return max(group, key=rank)
