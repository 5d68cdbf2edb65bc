"""Turns of the event loop: a bounded time of work in each, and addresses one after the other."""

import asyncio
from collections.abc import Callable

from tripline.adapters.http.turns import Turns


def played(steps: list[tuple[str, float]], *, turn_s: float) -> list[tuple[int, str]]:
    """In which turn of the loop each step was done, given its address and its costs."""
    done: list[tuple[int, str]] = []

    async def scenario() -> None:
        turns = Turns(asyncio.get_running_loop(), turn_s, {"known"}.__contains__)
        turn = 0

        def step(address: str) -> Callable[[], None]:
            return lambda: done.append((turn, address))

        for address, costs_s in steps:
            turns.take(address, step(address), costs_s=costs_s)
        while len(done) < len(steps):
            turn += 1
            await asyncio.sleep(0)

    asyncio.run(scenario())
    return done


def test_steps_are_done_at_once_while_the_turn_has_time():
    assert played([("a", 0.0), ("a", 0.0), ("b", 0.0)], turn_s=60.0) == [(0, "a"), (0, "a"), (0, "b")]


def test_steps_wait_for_another_turn_once_one_is_used_up():
    assert played([("a", 20.0)] * 7, turn_s=60.0) == [*[(0, "a")] * 3, *[(1, "a")] * 3, (2, "a")]


def test_addresses_take_turns_however_many_steps_they_have():
    steps = [("a", 60.0), *[("a", 60.0)] * 4, ("b", 60.0), ("c", 60.0)]

    assert [address for _, address in played(steps, turn_s=60.0)] == ["a", "a", "b", "c", "a", "a", "a"]


def test_known_address_comes_first_and_every_fourth_step_is_a_strangers():
    strangers = [(f"stranger {number}", 60.0) for number in range(4)]
    steps = [*strangers, *[("known", 60.0)] * 5]

    assert [address for _, address in played(steps, turn_s=60.0)] == [
        "stranger 0",
        *["known"] * 3,
        "stranger 1",
        *["known"] * 2,
        "stranger 2",
        "stranger 3",
    ]


def test_at_least_one_step_is_done_in_a_turn():
    assert played([("a", 0.0)] * 3, turn_s=0.0) == [(number, "a") for number in (1, 2, 3)]


async def test_step_that_fails_holds_up_no_other():
    done: list[str] = []

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: done.append(str(context["exception"])))
    turns = Turns(loop, 0.0, {"known"}.__contains__)

    def failing() -> None:
        raise OSError("broken")

    turns.take("a", failing)
    turns.take("a", lambda: done.append("next"))
    for _ in range(5):
        await asyncio.sleep(0)

    assert done == ["broken", "next"]
