"""Waits after wrong tokens."""

import pytest

from tripline.gateway.wrong_tokens import ALLOWED, FIRST_S, FORGIVEN_S, LONGEST_S, WrongTokens

NAT = "192.0.2.1"


def refused(counts: WrongTokens, token: str, *, now_s: float = 0.0, address: str = NAT) -> float:
    """The wait of one more attempt with a wrong token, which is refused."""
    wait_s = counts.wait_s(address, token, now_s=now_s)
    counts.refused(address, token, now_s=now_s + wait_s)
    return wait_s


def test_wait_of_a_token_doubles_up_to_the_longest() -> None:
    counts = WrongTokens()

    assert [refused(counts, "x") for _ in range(7)] == [0, FIRST_S, 1, 2, 4, LONGEST_S, LONGEST_S]


@pytest.mark.parametrize(("quiet_s", "wait_s"), [(FORGIVEN_S - 0.1, FIRST_S), (FORGIVEN_S, 0)])
def test_token_is_forgiven_after_a_quiet_time(quiet_s: float, wait_s: float) -> None:
    counts = WrongTokens()
    counts.refused(NAT, "x", now_s=0)

    assert counts.wait_s(NAT, "x", now_s=quiet_s) == wait_s


def test_token_that_is_right_meanwhile_never_waits_again() -> None:
    counts = WrongTokens()
    for _ in range(5):
        counts.refused(NAT, "x", now_s=0)
    counts.admitted(NAT, "x", now_s=1)

    assert counts.wait_s(NAT, "x", now_s=1) == 0


def test_many_wrong_tokens_of_an_address_have_unknown_tokens_wait_there_and_nowhere_else() -> None:
    counts = WrongTokens()
    counts.admitted(NAT, "right", now_s=0)
    for number in range(ALLOWED + 1):
        assert refused(counts, f"x{number}") == 0
    first_s = counts.wait_s(NAT, "unknown", now_s=0)
    for number in range(300):
        counts.refused(NAT, f"y{number}", now_s=0)

    assert 0 < first_s < counts.wait_s(NAT, "unknown", now_s=0) == LONGEST_S
    assert counts.wait_s(NAT, "right", now_s=0) == 0
    assert counts.wait_s("192.0.2.2", "unknown", now_s=0) == 0
    assert counts.wait_s(NAT, "unknown", now_s=200) == 0


def test_fleet_behind_one_address_goes_on_beside_boxes_with_wrong_tokens() -> None:
    """A thousand devices come back after a restart; thirty boxes with wrong tokens dial every second."""
    counts = WrongTokens()
    for second in range(20):
        for box in range(30):
            counts.refused(NAT, f"box {box}", now_s=second)
        for number in range(50):
            token = f"device {second} {number}"
            assert counts.wait_s(NAT, token, now_s=second) <= 0.5
            counts.admitted(NAT, token, now_s=second)
        assert counts.wait_s(NAT, "next", now_s=second) == 0


def test_remembered_tokens_and_addresses_have_a_bound() -> None:
    counts = WrongTokens(remembered=10)
    for number in range(100):
        counts.refused(str(number), "x", now_s=0)
        counts.admitted(NAT, f"right {number}", now_s=0)

    assert [len(each) for each in (counts._right, counts._wrong, counts._addresses)] == [10, 10, 10]


def test_wait_leaves_time_to_connect() -> None:
    counts = WrongTokens(longest_s=1.0)
    for _ in range(9):
        counts.refused(NAT, "x", now_s=0)

    assert counts.wait_s(NAT, "x", now_s=0) == 1.0
