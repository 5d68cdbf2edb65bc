"""Batches that are tried again: what is wrong is narrowed down to one message, and never taken for what it is not."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from tripline.ports.outages import Fault, Outage, StoreOutage
from tripline.services import batch_tries
from tripline.services.batch_tries import Stale


class Told:
    """What became of a batch."""

    def __init__(self, *kept: int, aside: Sequence[int] = ()) -> None:
        self.kept, self.aside = [*kept], [*aside]

    def add(self, other: "Told") -> None:
        self.kept += other.kept
        self.aside += other.aside


class Numbers:
    """A way for numbers, of which some cannot go through; others can the second time."""

    def __init__(self, *, bad: Sequence[int] = (), once: Sequence[int] = (), away: Sequence[int] = ()) -> None:
        self.bad, self.once, self.away = bad, {*once}, away
        self.recovered = 0

    async def through(self, batch: Sequence[int]) -> Told:
        if {*batch} & {*self.away}:
            raise Outage("away")
        if {*batch} & ({*self.bad} | self.once):
            raise ValueError("a bug")
        return Told(*batch)

    async def recover(self) -> None:
        self.recovered += 1
        self.once = set()

    async def set_aside(self, number: int, _: Exception) -> Told:
        return Told(aside=[number])


def taken(way: Numbers, batch: Sequence[int], present: StoreOutage | None = None) -> Told:
    store = SimpleNamespace(troubles=SimpleNamespace(present=present))
    how = {"through": way.through, "recover": way.recover, "set_aside": way.set_aside}
    return asyncio.run(batch_tries.narrowed_down(batch, **how, store=store))


@pytest.mark.parametrize("bad", [[], [1], [7], [3, 4], [1, 2, 3, 4, 5, 6, 7]])
def test_what_is_wrong_is_set_aside_and_all_else_goes_on_in_order(bad):
    told = taken(Numbers(bad=bad), range(1, 8))

    assert told.aside == bad
    assert told.kept == [number for number in range(1, 8) if number not in bad]


def test_what_fails_once_is_tried_again_as_a_whole():
    way = Numbers(once=[3])

    told = taken(way, range(5))

    assert (told.kept, told.aside, way.recovered) == ([0, 1, 2, 3, 4], [], 1)


def test_outage_is_nobodys_fault():
    way = Numbers(bad=[1], away=[2])

    with pytest.raises(Outage, match="away"):
        taken(way, [2])
    assert way.recovered == 0


@pytest.mark.parametrize("fault", Fault)
def test_nothing_is_set_aside_while_the_store_is_damaged(fault):
    present = StoreOutage(fault, "the store")

    if fault is Fault.DAMAGED:
        with pytest.raises(StoreOutage, match="the store"):
            taken(Numbers(bad=[1]), [1], present)
    else:
        assert taken(Numbers(bad=[1]), [1], present).aside == [1]


def test_failure_of_a_batch_without_messages_is_raised():
    class Failing(Numbers):
        async def through(self, batch):
            raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        taken(Failing(), [])


@pytest.mark.parametrize(("stale", "turns"), [(0, [0]), (2, [0, 1, 2]), (3, None)])
def test_stale_batch_is_placed_anew_a_few_times(stale, turns):
    seen: list[int] = []
    between: list[int] = []

    async def attempt(turn: int) -> list[int]:
        seen.append(turn)
        if turn < stale:
            raise Stale
        return seen

    async def again(turn: int) -> None:
        between.append(turn)

    work = batch_tries.while_stale(attempt, again, tries=3, outage="always")
    if turns is None:
        with pytest.raises(Outage, match="always"):
            asyncio.run(work)
    else:
        assert asyncio.run(work) == turns
    assert between == [*range(stale)]


def test_pauses_grow_with_every_outage_in_a_row_up_to_the_longest():
    assert [batch_tries.pause_s(outages) for outages in (1, 2, 3, 4, 5, 6, 7, 99)] == [0.1, 0.2, 0.5, 1, 2, 5, 5, 5]
    assert [batch_tries.pause_s(outages, longest_s=2.0) for outages in (1, 5, 6, 99)] == [0.1, 2, 2, 2]
