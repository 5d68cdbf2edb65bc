"""Turns at a few places: shares, order, bounds, cancelled works."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from tripline.http.turns import WAITING_OF_HOLDER, TooMuchAtOnce, Turns


class Works:
    """Works that hold their place until they are let go; the order in which they began."""

    def __init__(self, turns: Turns) -> None:
        self.begun: list[str] = []
        self.refused: list[str] = []
        self._turns = turns
        self._over: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def add(self, *works: str) -> None:
        """Works of these names; the holder is the first letter."""
        for work in works:
            self._over[work] = asyncio.Event()
            self._tasks[work] = asyncio.get_running_loop().create_task(self._work(work))
        await settle()

    async def end(self, *works: str) -> None:
        for work in works:
            self._over[work].set()
            await settle()

    async def cancel(self, *works: str) -> None:
        for work in works:
            self._tasks[work].cancel()
        await settle()

    async def close(self) -> None:
        self.begun = list(self.begun)  # what begins from here on is no part of the play
        for task in self._tasks.values():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _work(self, work: str) -> None:
        begun = self.begun
        try:
            async with self._turns.place(work[0]):
                begun.append(work)
                await self._over[work].wait()
        except TooMuchAtOnce:
            self.refused.append(work)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def working(turns: Turns) -> AsyncIterator[Works]:
    works = Works(turns)
    try:
        yield works
    finally:
        await works.close()


async def test_holder_gets_its_share_and_leaves_the_rest_to_others() -> None:
    async with working(Turns(2, of_holder=1)) as works:
        await works.add("a1", "a2", "a3", "b1")

    assert works.begun == ["a1", "b1"]


@pytest.mark.parametrize("places", [1, 2])
async def test_first_work_of_a_holder_waits_for_one_of_another_at_most(places: int) -> None:
    async with working(Turns(places, of_holder=1)) as works:
        await works.add(*(f"a{number}" for number in range(10)), "c0", "b0")
        for ended in ("a0", "c0", "b0", "a1"):
            await works.end(ended)

    begun = works.begun

    assert [work for work in begun if work[0] != "c"][:3] == ["a0", "b0", "a1"]


async def test_works_of_a_holder_begin_in_their_order() -> None:
    async with working(Turns(2, of_holder=1)) as works:
        await works.add("a1", "a2", "a3")
        await works.end("a1", "a2", "a3")

    assert works.begun == ["a1", "a2", "a3"]


@pytest.mark.parametrize(("waiting", "refused"), [(WAITING_OF_HOLDER, 0), (WAITING_OF_HOLDER + 1, 1)])
async def test_so_many_works_of_a_holder_may_wait(waiting: int, refused: int) -> None:
    async with working(Turns(2, of_holder=1)) as works:
        await works.add("a", *(f"a{number}" for number in range(waiting)), "b")

    assert len(works.refused) == refused
    assert works.begun == ["a", "b"]


async def test_at_the_bound_of_all_the_holder_with_most_waiting_loses_its_oldest() -> None:
    async with working(Turns(1, of_holder=1, waiting=5)) as works:
        await works.add("a0", "a1", "a2", "a3", "b0", "b1")
        await works.add("c0")

    assert works.refused == ["a1"]


async def test_cancelled_work_gives_its_place_up_whether_it_waits_or_has_it() -> None:
    async with working(Turns(1, of_holder=1)) as works:
        await works.add("a0", "a1", "b0", "b1")
        await works.cancel("a1")
        await works.cancel("a0")
        await works.end("b0")

    assert works.begun == ["a0", "b0", "b1"]


async def test_place_that_came_to_a_work_just_as_it_was_cancelled_goes_to_the_next() -> None:
    async with working(Turns(1, of_holder=1)) as works:
        await works.add("a0", "b0", "c0")
        works._over["a0"].set()
        await asyncio.sleep(0)  # the place goes to b0, which has not seen it yet
        works._tasks["b0"].cancel()
        await settle()

    assert works.begun == ["a0", "c0"]


async def test_nothing_is_remembered_of_holders_without_work() -> None:
    turns = Turns(1, of_holder=1)

    async with working(turns) as works:
        await works.add("a0", "a1", "b0")
        await works.cancel("a1")
        await works.end("a0", "b0")

    assert turns._holders == {}
