"""Waits after wrong passwords, and quotas: whatever the rhythm, and whoever else tries."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from tripline import config
from tripline.services.accounts.limits import Quota
from tripline.services.accounts.throttle import TOGETHER, Throttle

HOME = "192.0.2.1"
SETTINGS = config.Accounts(failures=3, address_failures=8, wait_s=10.0, longest_wait_s=60.0)


def fail(guard: Throttle, account: str, address: str, *, now_ms: int) -> int:
    """One attempt that fails when it may be made; its wait."""
    wait_ms = guard.begin(account, address, now_ms=now_ms)
    if not wait_ms:
        guard.failed(account, address, now_ms=now_ms)
    return wait_ms


attempts = st.tuples(st.sampled_from(["kim", "lee"]), st.sampled_from(["a", "b", "c"]), st.integers(0, 30_000))


@given(st.lists(attempts, max_size=60))
def test_whatever_strangers_do_an_owner_who_never_failed_gets_in(steps: list[tuple[str, str, int]]) -> None:
    guard = Throttle(SETTINGS)
    now_ms = 0
    for account, address, pause_ms in steps:
        now_ms += pause_ms
        fail(guard, account, address, now_ms=now_ms)

        assert guard.begin("kim", HOME, now_ms=now_ms) == 0
        guard.succeeded("kim", HOME)


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=300))
def test_guesses_of_one_address_at_one_account_are_few_whatever_their_rhythm(pauses: list[int]) -> None:
    guard = Throttle(SETTINGS)
    now_ms, made = 0, 0
    for pause_ms in pauses:
        now_ms += pause_ms
        made += not fail(guard, "kim", HOME, now_ms=now_ms)

    # Three, then one a wait of at least ten seconds; a pause of 5 s is too short for anything to be forgotten.
    assert made <= 3 + now_ms // 10_000


@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=300))
def test_guesses_of_one_address_at_many_accounts_are_few_whatever_their_rhythm(pauses: list[int]) -> None:
    guard = Throttle(SETTINGS)
    now_ms = made = 0
    for n, pause_ms in enumerate(pauses):
        now_ms += pause_ms
        made += not fail(guard, f"user{n}", HOME, now_ms=now_ms)

    # Eight, then one for each share of the longest wait.
    assert made <= 8 + 1 + now_ms * 8 // 60_000


class Attempts(RuleBasedStateMachine):
    """Any interleaving of attempts under way."""

    begun = Bundle("begun")

    def __init__(self) -> None:
        super().__init__()
        self.guard = Throttle(SETTINGS)
        self.now_ms = 0
        self.open = 0

    @rule(target=begun, pause_ms=st.integers(0, 20_000))
    def begin(self, pause_ms: int) -> bool:
        self.now_ms += pause_ms
        let_in = self.guard.begin("kim", HOME, now_ms=self.now_ms) == 0
        self.open += let_in
        return let_in

    @rule(let_in=begun, outcome=st.sampled_from("fsw"))
    def end(self, let_in: bool, outcome: str) -> None:
        if not let_in or not self.open:
            return
        self.open -= 1
        if outcome == "f":
            self.guard.failed("kim", HOME, now_ms=self.now_ms)
        elif outcome == "s":
            self.guard.succeeded("kim", HOME)
        else:
            self.guard.withdrawn("kim", HOME)

    @invariant()
    def counts_hold(self) -> None:
        assert self.open <= max(TOGETHER, SETTINGS.failures)
        for count in (*self.guard._pairs.values(), *self.guard._addresses.values()):
            assert count.under_way == self.open
            assert 0 <= max(count.until_ms - self.now_ms, 0) <= 60_000


TestAttempts = Attempts.TestCase


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
