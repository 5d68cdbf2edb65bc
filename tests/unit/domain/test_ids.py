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


@pytest.mark.parametrize("count", [1, 3])
def test_texts_of_a_run_are_those_of_each_number(count: int) -> None:
    maker = ids.TimeIds(node=0xABCDEF)
    first = maker.take(count, now_ms=NOW)

    assert maker.texts(first, count) == [maker.text(no) for no in range(first, first + count)]


@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_texts_of_a_run_across_the_low_word_are_those_of_each_number(before: int) -> None:
    maker = ids.TimeIds(node=1)
    first = ids.RowNo((ids.first_no(NOW) >> 32 << 32) - before)

    assert maker.texts(first, 3) == [maker.text(no) for no in range(first, first + 3)]
    assert [ids.no_of(text) for text in maker.texts(first, 3)] == [first, first + 1, first + 2]


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
