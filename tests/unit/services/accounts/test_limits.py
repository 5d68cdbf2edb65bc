"""So many takes in a time."""

from tripline.services.accounts.limits import Quota


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
