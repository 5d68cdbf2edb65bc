"""Turns at password hashes, and places given up."""

import asyncio
from collections.abc import Iterable

import pytest

from tripline.services.accounts.hash_turns import HashTurns, Requester, TooManyLogins


def known(account: str, address: str | None = None) -> Requester:
    return Requester(account, address or account, known=True)


def stranger(account: str, address: str | None = None) -> Requester:
    return Requester(account, address or account, known=False)


def served(requesters: Iterable[Requester], *, waiting: int = 8, gone: Iterable[int] = ()) -> list[str]:
    """Accounts in the order of their turns, while all wait for one worker; those who had to give up are left out.

    `gone`: the numbers of requesters that go away while they wait.
    """

    async def scenario() -> list[str]:
        turns, order, free = HashTurns(workers=1, waiting=waiting), [], asyncio.Event()

        async def one(requester: Requester) -> None:
            async with turns.turn(requester):
                order.append(requester.account)
                await free.wait()

        tasks = [asyncio.ensure_future(one(each)) for each in (known("first"), *requesters)]
        await asyncio.sleep(0)
        for number in gone:
            tasks[number + 1].cancel()
        await asyncio.sleep(0)
        free.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(end is None or isinstance(end, TooManyLogins | asyncio.CancelledError) for end in ends)
        async with asyncio.timeout(10), turns.turn(stranger("afterwards")):
            return order[1:]

    return asyncio.run(scenario())


def test_known_requesters_come_before_strangers_that_have_every_fourth_turn() -> None:
    requesters = [*(stranger(f"s{n}") for n in range(3)), *(known(f"k{n}") for n in range(5))]

    assert served(requesters) == ["k0", "k1", "k2", "s0", "k3", "k4", "s1", "s2"]


def test_addresses_take_turns() -> None:
    requesters = [known("a"), known("b", "a"), known("c", "a"), known("kim")]

    assert served(requesters) == ["a", "kim", "b", "c"]


def test_strangers_have_half_of_the_places_and_the_oldest_gives_its_own_to_a_newcomer() -> None:
    assert served([stranger(f"s{n}") for n in range(6)]) == ["s2", "s3", "s4", "s5"]


def test_known_requesters_have_every_place_that_strangers_leave() -> None:
    assert served([known(f"k{n}") for n in range(9)]) == [f"k{n}" for n in range(1, 9)]
    assert served([*(stranger(f"s{n}") for n in range(4)), *(known(f"k{n}") for n in range(5))]) == [
        *("k1", "k2", "k3", "s0", "k4", "s1", "s2", "s3")
    ]


@pytest.mark.parametrize("who", [known, stranger])
def test_address_with_most_places_gives_up_its_oldest(who: type[Requester]) -> None:
    size = 8 if who is known else 4
    crowd = [who("kim"), *(who(f"u{n}", "office") for n in range(size - 1))]

    assert sorted(served([*crowd, who("lee")])) == sorted(["kim", *(f"u{n}" for n in range(1, size - 1)), "lee"])


def test_account_that_is_named_from_many_addresses_gives_up_its_oldest() -> None:
    crowd = [stranger("kim", "home"), *(stranger("target", f"a{n}") for n in range(3))]

    assert served([*crowd, stranger("lee", "work")]) == ["kim", "target", "target", "lee"]


@pytest.mark.parametrize("waiting", [1, 2])
def test_a_known_requester_and_a_stranger_always_have_a_place(waiting: int) -> None:
    assert served([known("kim"), stranger("s0"), stranger("s1")], waiting=waiting) == ["kim", "s1"]


def test_place_of_a_requester_that_goes_away_is_free() -> None:
    requesters = [*(stranger(f"s{n}") for n in range(4)), known("kim")]

    assert served(requesters, gone=[0, 4]) == ["s1", "s2", "s3"]


async def test_turn_that_comes_as_its_requester_goes_away_is_passed_on() -> None:
    turns = HashTurns(workers=1, waiting=4)

    async def hold() -> None:
        async with turns.turn(known("kim")):
            pass

    holder = turns.turn(known("first"))
    await holder.__aenter__()
    waiting = asyncio.ensure_future(hold())
    await asyncio.sleep(0)
    await holder.__aexit__(None, None, None)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(10), turns.turn(known("next")):
        pass
