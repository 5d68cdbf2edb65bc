"""Row numbers of several makers: they never meet, go up, and keep the millisecond while there is room in it."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tripline.domain import ids

NOW = 1_735_689_600_000
ROOM = 10_000 // ids.SLOTS
"""Numbers that a slot surely has in a millisecond."""
SLOTS = st.integers(0, ids.SLOTS - 1)
# How many numbers are asked for, how much later than NOW, and whether they are to be behind all that are there.
ASKED = st.tuples(st.integers(0, 3 * ROOM), st.integers(-3, 50), st.booleans())


@given(st.lists(SLOTS, min_size=2, max_size=4, unique=True), st.lists(st.tuples(st.integers(0, 3), ASKED), max_size=30))
def test_makers_in_different_slots_never_make_the_same_number_or_id(
    slots: list[int], asked: list[tuple[int, tuple[int, int, bool]]]
) -> None:
    makers = [ids.TimeIds(node=1, slot=slot) for slot in slots]
    numbers: list[int] = []
    behind: list[int] = []
    texts: list[str] = []
    for which, (count, later_ms, is_behind) in asked:
        maker = makers[which % len(makers)]
        if is_behind:
            behind += maker.behind(max(behind, default=NOW) if later_ms % 2 else NOW, count)
        else:
            made = maker.numbers(count, now_ms=NOW + later_ms)
            numbers += made
            texts += maker.texts(made)

    assert len(set(numbers)) == len(numbers)
    assert len(set(behind)) == len(behind)
    assert len(set(texts)) == len(texts)
    assert [ids.no_of(text) for text in texts] == numbers


@given(st.none() | SLOTS, st.lists(ASKED, min_size=1, max_size=20), st.lists(SLOTS, max_size=3))
def test_numbers_of_a_maker_go_up_whatever_the_clock_and_the_slot_do(
    slot: int | None, asked: list[tuple[int, int, bool]], then: list[int]
) -> None:
    maker = ids.TimeIds(node=1, slot=slot)
    numbers: list[int] = []
    for place, (count, later_ms, skips) in enumerate(asked):
        if place % 5 == 4 and then:
            maker.reslot(then.pop())
        if skips:
            maker.skip_to(max(numbers, default=0) + count)
        numbers += maker.numbers(count, now_ms=NOW + later_ms)

    assert all(first < second for first, second in itertools.pairwise(numbers))


@given(st.none() | SLOTS, st.lists(st.integers(1, ROOM), min_size=1, max_size=20))
def test_numbers_keep_the_millisecond_while_it_has_room(slot: int | None, counts: list[int]) -> None:
    maker = ids.TimeIds(node=1, slot=slot)
    for later_ms, count in enumerate(counts):
        made = maker.numbers(count, now_ms=NOW + later_ms)

        assert {ids.ms_of_no(no) for no in made} == {NOW + later_ms}
        assert {ids.created_ms(text) for text in maker.texts(made)} == {NOW + later_ms}
