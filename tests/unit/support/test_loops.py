"""One test of many rows."""

import pytest
from tests.support import loops


def test_failures_of_every_row_are_told_together():
    @loops.every([(1, "one"), (2, "two"), (3, "three")])
    def test_rows(number, word):
        assert number == 2, f"{word} is wrong"

    with pytest.raises(AssertionError) as caught:
        test_rows()

    told = str(caught.value)
    assert told.startswith("2 of 3:\n- 1, one: AssertionError: one is wrong")
    assert "- 3, three: AssertionError: three is wrong" in told


def test_errors_count_as_failures():
    @loops.every(["12", "twelve"])
    def test_rows(text):
        int(text)

    with pytest.raises(AssertionError, match="- twelve: ValueError"):
        test_rows()


def test_test_passes_when_every_row_does():
    seen = []

    @loops.every(range(3))
    def test_rows(number):
        seen.append(number)

    test_rows()

    assert seen == [0, 1, 2]


def test_test_without_rows_fails():
    @loops.every([])
    def test_rows(_):
        pass

    with pytest.raises(AssertionError, match="no row"):
        test_rows()
