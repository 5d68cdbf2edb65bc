"""The holder of most items, and its oldest one."""

import time

from tripline.gateway.newcomers import Shares


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
