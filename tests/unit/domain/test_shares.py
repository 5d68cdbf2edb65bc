"""Shares of a limit: who may hold more, and what gives way."""

import pytest

from tripline.domain.shares import Held, Holder, Shares

ALL = Shares.of(8)
"""Of 8 an operator has 6, a company 4, an account 2."""


def held(*names, size=1):
    """Items `operator/company/account`, the oldest first."""
    return [Held(number, Holder(*name.split("/")), size) for number, name in enumerate(names)]


def gone(shares, items, new, size=1):
    found = shares.room(items, Holder(*new.split("/")), size)
    return None if found is None else [each.item for each in found]


def test_fractions_are_a_quarter_a_half_and_three_quarters():
    assert Shares.of(32) == Shares(32, 24, 16, 8)
    assert Shares.of(1) == Shares(1, 1, 1, 1)


@pytest.mark.parametrize(
    ("items", "new", "expected"),
    [
        (["o/c/a"], "o/c/a", []),
        (["o/c/a"] * 2, "o/c/a", None),
        (["o/c/a"] * 2, "o/c/b", []),
        # The company is full: whoever of it holds most makes room.
        (["o/c/a", "o/c/b", "o/c/a", "o/c/b"], "o/c/d", [0]),
        (["o/c/a", "o/c/b", "o/c/d", "o/c/e"], "o/c/f", [0]),
        (["o/c/a", "o/c/b", "o/c/b", "o/c/d"], "o/c/a", None),
        # The operator is full: its partner that holds most makes room for another partner.
        (["o/c/a", "o/c/b", "o/c/b", "o/d/d", "o/c/a", "o/d/e"], "o/e/f", [0]),
        # Everything is full: the operator that holds most makes room, partners included.
        (["p/p/a", "o/c/a", "o/d/b", "o/d/b", "o/c/a", "p/p/b", "o/e/e", "o/e/f"], "q/q/q", [1]),
        (["p/p/a", "p/p/b", "p/q/c", "p/q/d", "o/c/a", "o/c/b", "o/d/c", "o/d/d"], "p/r/r", [0]),
        ([f"{name}/{name}/a" for name in "abcdefgh"], "i/i/a", [0]),
        ([f"{name}/{name}/a" for name in "abcdefgh"], "h/h/b", [7]),
        ([f"{name}/{name}/a" for name in "abcdefgh"], "h/h/a", None),
    ],
)
def test_newcomer_has_room_up_to_its_share_and_whoever_holds_most_gives_way(items, new, expected):
    assert gone(ALL, held(*items), new) == expected


def test_partners_that_an_operator_registers_add_nothing_to_its_share():
    partners = held(*(f"o/c{number}/a{number}" for number in range(6)))

    assert gone(ALL, partners, "o/c7/a7") == [0]
    assert gone(ALL, partners, "p/p/p") == []


def test_item_that_can_no_longer_give_way_stays():
    items = held("o/c/a", "o/c/b", "o/d/a", "o/d/b", "o/e/a", "o/e/b", "p/p/a", "p/p/b")
    for at in (0, 1, 2):
        items[at].stays = True

    assert gone(ALL, items, "q/q/q") == [3]
    for each in items:
        each.stays = True
    assert gone(ALL, items, "q/q/q") is None


def test_as_much_gives_way_as_is_needed_and_never_for_somebody_who_would_hold_more():
    shares = Shares.of(100)
    items = held("o/c/a", "o/c/b", "o/d/a", "p/p/a", size=25)

    assert gone(shares, items, "q/q/q", 20) == [0]
    assert gone(shares, items, "q/q/q", 25) == [0]
    assert gone(shares, items, "q/q/q", 26) is None
    assert gone(shares, [*items[:3], *held("p/p/a", size=24)], "p/q/q", 25) == [0]
