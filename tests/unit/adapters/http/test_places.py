"""A shared bound with a share for each address: the heaviest holder gives way when it is full."""

import pytest

from tripline.adapters.http import places
from tripline.adapters.http.places import Place, Places


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The causes that are logged, each with its address."""
    lines: list[tuple[str, str]] = []
    monkeypatch.setattr(places, "met", lambda cause, *, limit, address: lines.append((cause, address)))
    return lines


class Bound:
    """A bound, and the items that ended, by name."""

    def __init__(self, total: int, share: int = 1_000) -> None:
        self.ended: list[str] = []
        self.places = Places("bodies", total, share)

    def take(self, item: str, number: int = 1, *, declines: bool = False, beyond: int = 0) -> Place | None:
        """A place for the item `a1` of the address `a`."""

        def end(gently: bool) -> bool:
            if declines and gently:
                return False
            self.ended.append(item)
            return True

        return self.places.take(item[0], number, end, beyond=beyond)

    def must(self, item: str, number: int = 1, *, declines: bool = False) -> Place:
        """A place that there is."""
        place = self.take(item, number, declines=declines)
        assert place is not None
        return place


def test_place_is_given_back_once():
    bound = Bound(5)
    place = bound.must("a1", 3)

    place.leave()
    place.leave()
    place.rest()

    assert bound.places.taken == 0
    assert bound.take("b1", 5) is not None
    assert bound.ended == []


def test_no_address_holds_more_than_its_share(told):
    bound = Bound(9, share=3)

    taken = [bound.take("a1", 3) is not None, bound.take("a2") is not None, bound.take("b1", 3) is not None]

    assert taken == [True, False, True]
    assert (bound.ended, told) == ([], [("address_bodies", "a")])


@pytest.mark.parametrize("number", [1, 2, 3])
def test_heaviest_address_gives_up_its_longest_item_until_there_is_room(told, number: int):
    bound = Bound(8)
    for item in ("b1", "a1", "a2", "a3", "c1", "a4", "a5", "a6"):
        bound.must(item)

    bound.must("d1", number)

    assert bound.ended == ["a1", "a2", "a3"][:number]
    assert bound.places.taken == 8
    assert set(told) == {("bodies", "a")}


def test_of_addresses_that_hold_as_much_the_one_that_rests_longest_gives_way():
    bound = Bound(3)
    first = bound.must("a1")
    bound.must("b1")
    bound.must("c1")

    first.rest()
    bound.must("d1")

    assert bound.ended == ["b1"]


@pytest.mark.parametrize(("held", "newcomer", "ended"), [("aab", "c", "a1"), ("abc", "d", None), ("aab", "a", None)])
def test_item_at_work_gives_way_only_to_an_address_that_holds_less(held: str, newcomer: str, ended: str | None):
    bound = Bound(3)
    for number, address in enumerate(held, 1):
        bound.must(f"{address}{number}").work()

    place = bound.take(f"{newcomer}9")

    assert (place is not None, bound.ended) == (ended is not None, [ended] if ended else [])


def test_items_at_rest_go_before_those_at_work():
    bound = Bound(3)
    bound.must("a1").work()
    bound.must("a2")
    bound.must("a3")

    bound.must("b1")

    assert bound.ended == ["a2"]


def test_item_that_is_kept_never_gives_way_and_the_next_heaviest_does():
    bound = Bound(9)
    bound.must("a1", 6).keep()
    bound.must("b1", 2)
    bound.must("c1", 1)

    bound.must("d1", 1)

    assert bound.ended == ["b1"]


@pytest.mark.parametrize(("number", "ended"), [(1, ["a1"]), (3, [])])
def test_item_that_declines_gives_way_only_to_an_address_that_holds_less(number: int, ended: list[str]):
    bound = Bound(3)
    bound.must("a1", 3, declines=True)

    place = bound.take("b1", number)

    assert (place is not None, bound.ended) == (bool(ended), ended)


def test_heaviest_newcomer_gives_up_its_own_longest_item():
    bound = Bound(4)
    for item in ("a1", "b1", "b2", "b3"):
        bound.must(item)

    bound.must("b4")

    assert bound.ended == ["b1"]


def test_item_that_grows_is_refused_where_it_is_the_one_to_give_way():
    bound = Bound(6)
    growing = bound.must("a1", 3)
    other = bound.must("b1", 2)
    bound.must("a2", 1)

    assert growing.grow(1) is False
    assert other.grow(1) is True
    assert bound.ended == ["a1"]
    assert growing.grow(1) is False


def test_place_counts_for_the_address_it_moved_to():
    bound = Bound(3)
    moved = bound.must("p1")
    bound.must("p2")
    bound.must("b1")

    moved.move("b")
    moved.work()
    bound.must("c1")

    assert bound.ended == ["b1"]
    moved.leave()
    assert bound.places.taken == 2


@pytest.mark.parametrize(("taken", "comes_in"), [(3, True), (4, True), (5, False)])
def test_some_may_find_more_taken_than_the_total(taken: int, comes_in: bool):
    bound = Bound(3)
    for number in range(taken):
        place = bound.take(f"{'abcdefg'[number]}1", beyond=2)
        assert place is not None
        place.work()

    assert (bound.take("x1", beyond=2) is not None) is comes_in
    assert bound.ended == []
