"""Limits of a process that make room, and turns at work that one at a time may do."""

import asyncio

from tripline.domain.refusals import Refusal
from tripline.domain.shares import Holder, Shares
from tripline.services.shares import Places, Turns


class Full(Refusal):
    code = "test.full"


class GaveWay(Refusal):
    code = "test.gave_way"


def of(name):
    return Holder(*name.split("/"))


async def test_item_gives_way_and_its_block_ends_with_the_refusal():
    places, outcome = Places(Shares(2, 2, 2, 2)), {}

    async def hold(name, gate):
        try:
            async with places.place(of(name), full=Full(), gave_way=GaveWay()):
                await gate.wait()
                outcome[name] = "done"
        except GaveWay:
            outcome[name] = "gave way"
        except Full:
            outcome["refused"] = name

    gate = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for name in ("o/c/a", "o/c/b", "p/p/p", "p/p/p"):
            tasks.create_task(hold(name, gate))
            await asyncio.sleep(0.01)
        gate.set()

    assert outcome == {"o/c/a": "gave way", "o/c/b": "done", "p/p/p": "done", "refused": "p/p/p"}
    assert places.taken == 0


def test_place_grows_up_to_its_share_and_others_make_room():
    places, ended = Places(Shares.of(100)), []
    first = places.enter(of("o/c/a"), lambda: ended.append("first"), size=25)
    places.enter(of("o/d/b"), lambda: ended.append("second"), size=25)
    places.enter(of("p/p/c"), lambda: ended.append("third"), size=25)
    new = places.enter(of("q/q/q"), lambda: ended.append("new"), size=0)

    assert not places.grow(first, 1)
    assert places.grow(new, 25)
    assert (places.taken, ended) == (100, [])
    assert places.enter(of("r/r/r"), lambda: None, size=10) is not None
    assert (places.taken, ended) == (85, ["first"])


async def test_turns_go_round_operators_and_the_smallest_goes_first():
    order, here = [], Turns()

    async def work(operator, size, gate):
        async with here.turn(operator, size=size):
            order.append((operator, size))
            await gate.wait()

    gate = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for operator, size in [("o", 9), ("o", 5), ("o", 7), ("o", 3), ("p", 8), ("q", 6)]:
            tasks.create_task(work(operator, size, gate))
            await asyncio.sleep(0)
        gate.set()

    assert order == [("o", 9), ("q", 6), ("p", 8), ("o", 3), ("o", 5), ("o", 7)]


async def test_turn_that_is_cancelled_passes_on():
    here, entered = Turns(), []

    async def work(name):
        async with here.turn(name):
            entered.append(name)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        async with here.turn("o"):
            waits, granted = tasks.create_task(work("p")), tasks.create_task(work("q"))
            await asyncio.sleep(0)
            waits.cancel()
            await asyncio.sleep(0)
        granted.cancel()  # its turn has come, and it has not seen it
        await asyncio.sleep(0)
        tasks.create_task(work("r"))

    assert entered == ["r"]
