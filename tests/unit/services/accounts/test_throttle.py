"""Waits after failed log-ins."""

import pytest
from msgspec.structs import replace

from tripline import config
from tripline.services.accounts import throttle
from tripline.services.accounts.throttle import BRIEF_MS, TOGETHER, Throttle

HOME, ELSEWHERE = "192.0.2.1", "198.51.100.7"
SETTINGS = config.Accounts(failures=3, address_failures=8, wait_s=10.0, longest_wait_s=60.0)


def fail(guard: Throttle, account: str, address: str, *, now_ms: int) -> int:
    """One attempt that fails when it may be made; its wait."""
    wait_ms = guard.begin(account, address, now_ms=now_ms)
    if not wait_ms:
        guard.failed(account, address, now_ms=now_ms)
    return wait_ms


def test_third_of_three_failures_makes_the_next_attempt_wait():
    guard = Throttle(SETTINGS)

    assert [fail(guard, "kim", HOME, now_ms=1_000 * n) for n in range(4)] == [0, 0, 0, 9_000]


def test_wait_doubles_up_to_the_longest():
    guard = Throttle(SETTINGS)
    now_ms, waits = 0, []
    for _ in range(3):
        fail(guard, "kim", HOME, now_ms=now_ms)
    for _ in range(5):
        waits.append(guard.begin("kim", HOME, now_ms=now_ms))
        now_ms += waits[-1]
        assert fail(guard, "kim", HOME, now_ms=now_ms) == 0

    assert waits == [10_000, 20_000, 40_000, 60_000, 60_000]


def test_attempt_one_ms_before_the_end_of_the_wait_waits_and_at_its_end_does_not():
    guard = Throttle(SETTINGS)
    for _ in range(3):
        fail(guard, "kim", HOME, now_ms=0)

    assert guard.begin("kim", HOME, now_ms=9_999) == 1
    assert guard.begin("kim", HOME, now_ms=10_000) == 0


def test_failures_from_elsewhere_do_not_hold_up_the_owner():
    guard = Throttle(SETTINGS)
    for n in range(1_000):
        fail(guard, "kim", ELSEWHERE, now_ms=n)

    assert guard.begin("kim", ELSEWHERE, now_ms=1_000) > 0
    assert guard.begin("kim", HOME, now_ms=1_000) == 0


def test_failures_of_many_accounts_hold_up_their_address_alone():
    guard = Throttle(SETTINGS)

    assert [fail(guard, f"user{n}", ELSEWHERE, now_ms=0) for n in range(9)] == [0] * 8 + [10_000]
    assert guard.begin("kim", HOME, now_ms=0) == 0


def test_success_forgives_the_account_and_not_the_address():
    guard = Throttle(SETTINGS)
    for n in range(7):
        fail(guard, f"user{n}", HOME, now_ms=0)
    fail(guard, "kim", ELSEWHERE, now_ms=0)
    fail(guard, "kim", ELSEWHERE, now_ms=0)

    for address in (HOME, ELSEWHERE):
        assert guard.begin("kim", address, now_ms=0) == 0
        guard.succeeded("kim", address)

    assert [fail(guard, "kim", ELSEWHERE, now_ms=0) for _ in range(4)] == [0, 0, 0, 10_000]
    assert [fail(guard, "lee", HOME, now_ms=0) for _ in range(2)] == [0, 10_000]


def test_one_accounts_failures_count_once_for_its_address():
    guard = Throttle(SETTINGS)
    for account in ("kim", "lee", "park", "choi"):
        assert [fail(guard, account, HOME, now_ms=0) for _ in range(2)] == [0, 0]

    assert guard.begin("jung", HOME, now_ms=0) == 0


def test_users_who_mistype_and_then_get_in_leave_nothing_at_their_address():
    guard = Throttle(SETTINGS)
    for n in range(100):
        assert fail(guard, f"user{n}", HOME, now_ms=0) == 0
        assert guard.begin(f"user{n}", HOME, now_ms=0) == 0
        guard.succeeded(f"user{n}", HOME)

    assert not guard._pairs
    assert not guard._addresses


def test_users_who_give_up_hold_up_nobody_unless_many_fail_within_the_longest_wait():
    # Eight accounts in 60 s are one each 7.5 s.
    for pause_ms, held_up in ((7_500, False), (5_000, True)):
        guard = Throttle(SETTINGS)
        waits = [fail(guard, f"user{n}", HOME, now_ms=n * pause_ms) for n in range(1_000)]
        assert any(waits) is held_up


def test_spraying_one_guess_at_each_of_many_accounts_stays_slow_for_a_day():
    guard = Throttle(config.Accounts())
    day_ms, now_ms, made = 86_400_000, 0, 0
    while now_ms < day_ms:
        wait_ms = fail(guard, f"user{made}", HOME, now_ms=now_ms)
        made += not wait_ms
        now_ms += max(wait_ms, 1)

    # Fifty at once, then one after each wait, which is soon the longest.
    assert made <= 50 + 5 + day_ms // 900_000


def test_one_account_guessed_from_many_addresses_is_tried_a_few_times_from_each():
    guard = Throttle(config.Accounts())
    hour_ms, step_ms = 3_600_000, 10_000
    made = [0] * 100
    for now_ms in range(0, hour_ms, step_ms):
        for n in range(100):
            made[n] += not fail(guard, "kim", f"192.0.2.{n}", now_ms=now_ms)

    # Five, then after waits of 30, 60, 120, 240, 480 and 900 seconds.
    assert max(made) <= 5 + 7


@pytest.mark.parametrize(
    ("trusted", "address", "held_up"),
    [
        ("192.0.2.1", "192.0.2.1", False),
        ("192.0.2.1", "192.0.2.2", True),
        ("192.0.2.0/24", "192.0.2.255", False),
        ("192.0.2.0/24", "192.0.3.0", True),
        ("2001:db8::7", "2001:db8::/64", False),
        ("2001:db8::/32", "2001:db8:ffff::/64", False),
        ("2001:db8::/64", "2001:db8:0:1::/64", True),
        ("0.0.0.0/0", "unknown", True),
    ],
)
def test_trusted_address_is_not_held_up_by_many_accounts_but_each_account_is(trusted, address, held_up):
    guard = Throttle(replace(SETTINGS, trusted_addresses=(trusted,)))

    assert any(fail(guard, f"user{n}", address, now_ms=0) for n in range(100)) is held_up
    if not held_up:
        assert [fail(guard, "kim", address, now_ms=0) for _ in range(4)] == [0, 0, 0, 10_000]


def test_attempts_that_have_to_wait_push_nobody_out_of_memory():
    guard = Throttle(SETTINGS, remembered=20)
    for _ in range(3):
        fail(guard, "kim", HOME, now_ms=0)
    for n in range(10_000):
        fail(guard, f"user{n}", ELSEWHERE, now_ms=0)

    assert guard.begin("kim", HOME, now_ms=0) == 10_000
    assert len(guard._pairs) == 1 + 8


def test_failures_are_forgotten_after_the_longest_wait_of_quiet():
    for quiet_ms, expected in ((59_999, [0, 10_000]), (60_000, [0, 0])):
        guard = Throttle(SETTINGS)
        fail(guard, "kim", HOME, now_ms=0)
        fail(guard, "kim", HOME, now_ms=0)
        assert [fail(guard, "kim", HOME, now_ms=quiet_ms) for _ in range(2)] == expected


def test_attempts_side_by_side_are_as_many_as_may_fail():
    guard = Throttle(SETTINGS)
    fail(guard, "kim", HOME, now_ms=0)

    assert [guard.begin("kim", HOME, now_ms=0) for _ in range(3)] == [0, 0, BRIEF_MS]
    guard.withdrawn("kim", HOME)
    assert guard.begin("kim", HOME, now_ms=0) == 0


def test_programs_that_start_together_get_in_together_while_nothing_failed():
    guard = Throttle(config.Accounts(failures=3))

    assert [guard.begin("kim", HOME, now_ms=0) for _ in range(TOGETHER + 1)] == [0] * TOGETHER + [BRIEF_MS]
    for _ in range(TOGETHER):
        guard.succeeded("kim", HOME)
    assert guard.begin("kim", HOME, now_ms=0) == 0


def test_one_attempt_at_a_time_is_made_after_a_wait():
    guard = Throttle(SETTINGS)
    for _ in range(3):
        fail(guard, "kim", HOME, now_ms=0)

    assert [guard.begin("kim", HOME, now_ms=10_000) for _ in range(2)] == [0, BRIEF_MS]


def test_clock_set_back_makes_nobody_wait_longer_than_the_longest():
    guard = Throttle(SETTINGS)
    for _ in range(3):
        fail(guard, "kim", HOME, now_ms=10**12)

    assert guard.begin("kim", HOME, now_ms=0) == 60_000
    assert guard.begin("kim", HOME, now_ms=60_000) == 0


@pytest.mark.parametrize("remembered", [1, 10])
def test_memory_is_bounded_and_the_latest_are_remembered(remembered):
    guard = Throttle(SETTINGS, remembered=remembered)
    for n in range(100):
        for _ in range(3):
            fail(guard, f"user{n}", f"192.0.2.{n}", now_ms=0)

    assert len(guard._pairs) == len(guard._addresses) == remembered
    assert guard.begin("user99", "192.0.2.99", now_ms=0) == 10_000
    assert guard.begin("user0", "192.0.2.0", now_ms=0) == 0


def test_names_longer_than_any_account_take_no_more_memory_than_one():
    guard = Throttle(SETTINGS)
    for n in range(3):
        fail(guard, "x" * 255 + "y" * n * 100_000, HOME, now_ms=0)

    ((account, _),) = guard._pairs
    assert account == "x" * throttle.ACCOUNT_MAX
