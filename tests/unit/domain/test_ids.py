"""Ids: their instants, their order, and runs of them."""

import uuid

import pytest

from tripline.domain import ids

NOW = 1_735_689_600_000


def test_id_is_a_version_1_uuid_that_carries_its_millisecond() -> None:
    made = ids.TimeIds(node=1).next(now_ms=NOW)

    assert uuid.UUID(made).version == 1
    assert ids.created_ms(made) == NOW
    assert str(uuid.UUID(made)) == made


@pytest.mark.parametrize("slot", [None, 0, 255])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_texts_of_a_run_are_those_of_each_number(count: int, slot: int | None) -> None:
    maker = ids.TimeIds(node=0xABCDEF, slot=slot)
    numbers = maker.numbers(count, now_ms=NOW)

    assert len(numbers) == count
    assert maker.texts(numbers) == [maker.text(no) for no in numbers]


@pytest.mark.parametrize("step", [1, 256])
@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_texts_of_a_run_across_the_low_word_are_those_of_each_number(before: int, step: int) -> None:
    maker = ids.TimeIds(node=1)
    first = (ids.first_no(NOW) >> 32 << 32) - before * step
    numbers = range(first, first + 3 * step, step)

    assert maker.texts(numbers) == [maker.text(no) for no in numbers]
    assert [ids.no_of(text) for text in maker.texts(numbers)] == [first, first + step, first + 2 * step]


def test_maker_without_a_slot_makes_ten_thousand_numbers_a_millisecond() -> None:
    maker = ids.TimeIds(node=1)
    numbers = maker.numbers(10_001, now_ms=NOW)

    assert numbers.step == 1
    assert [ids.ms_of_no(no) - NOW for no in numbers[-2:]] == [0, 1]


@pytest.mark.parametrize("slot", [0, 1, 255])
def test_maker_in_a_slot_makes_numbers_of_that_slot_alone(slot: int) -> None:
    maker = ids.TimeIds(node=1, slot=slot)
    numbers = [*maker.numbers(39, now_ms=NOW), maker.take(1, now_ms=NOW), maker.take(1, now_ms=NOW + 5)]

    assert {no % 256 for no in numbers} == {slot}
    assert {ids.ms_of_no(no) for no in numbers[:39]} == {NOW}
    assert ids.ms_of_no(numbers[-1]) == NOW + 5


@pytest.mark.parametrize("slot", [-1, 256])
def test_slot_that_does_not_exist_is_refused(slot: int) -> None:
    with pytest.raises(ValueError, match="A slot is 0 to 255"):
        ids.TimeIds(node=1, slot=slot)


def test_maker_that_takes_another_slot_goes_on_behind_its_numbers_there() -> None:
    maker = ids.TimeIds(node=1, slot=200)
    before = maker.numbers(100, now_ms=NOW)
    maker.reslot(7)

    after = maker.numbers(2, now_ms=NOW)

    assert [no % 256 for no in after] == [7, 7]
    assert before[-1] < after[0] < before[-1] + 256


@pytest.mark.parametrize(
    ("slot", "expected"), [(None, [101, 102]), (0, [256, 512]), (100, [356, 612]), (101, [101, 357])]
)
def test_numbers_behind_another_are_the_next_ones_of_the_slot(slot: int | None, expected: list[int]) -> None:
    maker = ids.TimeIds(node=1, slot=slot)

    assert [*maker.behind(100, 2)] == expected


def test_numbers_behind_the_same_number_are_different_ones_in_a_slot() -> None:
    maker = ids.TimeIds(node=1, slot=3)

    assert [*maker.behind(100, 2), *maker.behind(100), *maker.behind(2_000)] == [259, 515, 771, 2_051]


@pytest.mark.parametrize(("taken", "expected"), [(-1, 0), (0, 1), (5, 6)])
def test_skip_to_makes_no_number_up_to_the_taken_one(taken: int, expected: int) -> None:
    maker = ids.TimeIds(node=1)
    base = ids.first_no(NOW)
    maker.skip_to(base + taken)

    assert maker.take(1, now_ms=NOW) == base + expected


def test_skip_to_never_goes_back() -> None:
    maker = ids.TimeIds(node=1)
    first = maker.take(10, now_ms=NOW)
    maker.skip_to(first)

    assert maker.take(1, now_ms=NOW) == first + 10
