"""So many takes in a time."""

from hypothesis import given
from hypothesis import strategies as st

from tripline.services.accounts.quota import Quota


def _takes(quota: Quota, *at_ms: int) -> list[float]:
    return [quota.take("k", now_ms=now_ms) for now_ms in at_ms]


def test_whole_allowance_may_be_taken_at_once_and_one_more_waits_for_a_share() -> None:
    assert _takes(Quota(3, per_ms=60_000), 0, 0, 0, 0, 19_999, 20_000, 20_000) == [0, 0, 0, 20_000, 1, 0, 20_000]


def test_allowance_is_whole_again_after_its_time() -> None:
    assert _takes(Quota(2, per_ms=1_000), 0, 0, 999, 1_000, 1_000) == [0, 0, 0, 0, 500]


def test_keys_do_not_share() -> None:
    quota = Quota(1, per_ms=1_000)

    assert [quota.take(key, now_ms=0) for key in "aabb"] == [0, 1_000, 0, 1_000]


def test_clock_set_back_takes_no_more_than_the_allowance_away() -> None:
    quota = Quota(2, per_ms=1_000)
    _takes(quota, 10**12, 10**12)

    assert _takes(quota, 0, 500) == [500, 0]


def test_memory_is_bounded_and_the_latest_are_remembered() -> None:
    quota = Quota(1, per_ms=1_000, remembered=2)

    assert [quota.take(key, now_ms=0) for key in ("a", "b", "c", "c", "a")] == [0, 0, 0, 1_000, 0]
    assert len(quota._free) == 2


@given(st.integers(1, 50), st.integers(1, 100_000), st.lists(st.integers(0, 5_000), max_size=100))
def test_no_rhythm_takes_more_than_the_allowance_and_the_shares_that_passed(
    count: int, per_ms: int, pauses: list[int]
) -> None:
    quota = Quota(count, per_ms=per_ms)
    now_ms = taken = 0
    for pause_ms in pauses:
        now_ms += pause_ms
        wait_ms = quota.take("k", now_ms=now_ms)
        taken += not wait_ms
        assert 0 <= wait_ms <= per_ms

    assert taken <= count + now_ms * count // per_ms


@given(st.integers(1, 1_000), st.integers(1, 100_000))
def test_whole_allowance_is_there_at_once_whatever_its_share(count: int, per_ms: int) -> None:
    quota = Quota(count, per_ms=per_ms)

    assert not any(quota.take("k", now_ms=10**12) for _ in range(count))
