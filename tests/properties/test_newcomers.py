"""The holder of most items is found after any sequence of changes."""

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
