"""Tests that a run of the deep suite draws for a store."""

from pathlib import Path

import pytest
from tests.support import store_runs

pytestmark = pytest.mark.once("draws tests")

TESTS = [f"test_{number}" for number in range(1_000)]


def drawn(file: str, seed: str) -> set[str]:
    return {test for test in TESTS if store_runs.is_drawn(Path(file), test, seed)}


@pytest.mark.parametrize("file", ["unit/api/test_scores.py", "unit/services/bus/test_bus_life.py"])
def test_each_run_draws_half_of_the_tests_above_the_store_and_another_run_others(file: str) -> None:
    one, other = drawn(file, "1"), drawn(file, "2")

    assert all(400 < len(each) < 600 for each in (one, other))
    assert 200 < len(one & other) < 300
    assert drawn(file, "1") == one


def test_tests_of_stores_and_of_several_parts_are_all_run() -> None:
    assert all(len(drawn(f"{folder}/test_a.py", "1")) == len(TESTS) for folder in ("unit/store", "integration"))


def test_each_run_draws_one_of_two_stores_for_a_test_of_lists() -> None:
    left_to = [store_runs.is_left_to(test, "1") for test in TESTS]

    assert 400 < left_to.count(store_runs.SQLITE) < 600
    assert set(left_to) == {store_runs.SQLITE, store_runs.POSTGRESQL}
    assert left_to != [store_runs.is_left_to(test, "2") for test in TESTS]
