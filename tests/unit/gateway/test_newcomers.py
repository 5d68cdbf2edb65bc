"""The holder of most items, and its oldest one."""

import time

from hypothesis import given
from hypothesis import strategies as st

from tripline.gateway.newcomers import Shares

steps = st.lists(st.tuples(st.integers(0, 8), st.sampled_from("abc"), st.integers(0, 5)), max_size=60)


@given(steps)
def test_oldest_item_of_the_largest_holder_is_found_whatever_came_before(made: list[tuple[int, str, int]]) -> None:
    shares: Shares[tuple[int, str]] = Shares()
    held: dict[tuple[int, str], int] = {}
    for number, holder, weight in made:
        item = number, holder
        if weight:
            shares.put(item, holder, weight)
            held[item] = weight
        else:
            shares.drop(item)
            held.pop(item, None)
        of = {name: sum(size for (_, mine), size in held.items() if mine == name) for name in "abc"}
        first = shares.oldest_of_largest()

        assert shares.total == sum(held.values())
        assert (first is None) == (not held)
        if first is not None:
            assert of[first[1]] == max(of.values())
            assert first == next(each for each in held if each[1] == first[1])


def test_holders_of_one_rank_give_way_in_the_order_in_which_they_came_to_it() -> None:
    shares: Shares[str] = Shares(rank=int.bit_length)
    for item, weight in (("a", 5), ("b", 7), ("c", 3)):
        shares.put(item, item, weight)

    assert shares.oldest_of_largest() == "a"


def test_room_is_made_quickly_among_twenty_thousand() -> None:
    shares: Shares[int] = Shares()
    for number in range(20_000):
        shares.put(number, f"a{number % 5_000}", 1)
    begun = time.perf_counter()
    for number in range(20_000, 30_000):
        shares.put(number, f"a{number}", 1)
        shares.drop(shares.oldest_of_largest())

    assert time.perf_counter() - begun < 1.0  # 0.03 s; 5 s and more when every holder is looked at
    assert shares.total == 20_000
