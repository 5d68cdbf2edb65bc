"""Times of further attempts: the figures of spec/push 3."""

import pytest

from tripline.services.push import schedule
from tripline.services.push.schedule import HOURLY_MS, JITTER, LATER_MAX_MS, Outcome

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def due(outcome=Outcome.FAILED, *, attempts=1, age_ms=0, patience_ms=DAY_MS):
    return schedule.next_due_ms(
        outcome, attempts=attempts, no=7, since_ms=1_000, now_ms=1_000 + age_ms, patience_ms=patience_ms
    )


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        *((code, Outcome.DELIVERED) for code in (200, 201, 204, 299)),
        *((code, Outcome.REFUSED) for code in (400, 401, 403, 404, 409, 411, 428, 430, 451, 499)),
        (410, Outcome.GONE),
        *((code, Outcome.FAILED) for code in (101, 199, 300, 301, 302, 307, 399, 408, 429, 500, 503, 599, 600, 999)),
    ],
)
def test_status_means(status, outcome):
    assert schedule.outcome_of(status) is outcome


@pytest.mark.parametrize(("attempts", "pause_ms"), [(1, 1_000), (2, 5_000), (3, 30_000), (4, 300_000)])
def test_first_pauses_grow(attempts, pause_ms):
    assert due(attempts=attempts) == 1_000 + pause_ms


@pytest.mark.parametrize("attempts", [5, 6, 20])
def test_later_pauses_are_hourly_with_jitter(attempts):
    pauses = {schedule.pause_ms(attempts, no=no) for no in range(0, 100_000, 17)}

    assert min(pauses) >= HOURLY_MS * (1 - JITTER)
    assert max(pauses) <= HOURLY_MS * (1 + JITTER)
    assert max(pauses) - min(pauses) > HOURLY_MS * JITTER
    assert abs(sum(pauses) / len(pauses) - HOURLY_MS) < HOURLY_MS * JITTER / 10


def test_message_that_always_fails_is_tried_a_last_time_when_its_day_is_over_and_then_given_up():
    age_ms, attempts, ages = 0, 0, []
    while True:
        ages.append(age_ms)
        attempts += 1
        next_ms = due(attempts=attempts, age_ms=age_ms)
        if next_ms is None:
            break
        age_ms = next_ms - 1_000

    assert ages[:5] == [0, 1_000, 6_000, 36_000, 336_000]
    assert ages[-1] == DAY_MS
    assert 24 <= len(ages) <= 32


@pytest.mark.parametrize(("age_ms", "given_up"), [(DAY_MS - 1, False), (DAY_MS, True), (DAY_MS + 1, True)])
def test_patience_ends(age_ms, given_up):
    assert (due(attempts=3, age_ms=age_ms) is None) is given_up


@pytest.mark.parametrize("age_ms", [0, HOUR_MS])
def test_410_gives_up_at_once(age_ms):
    assert due(Outcome.GONE, attempts=1, age_ms=age_ms) is None


@pytest.mark.parametrize(("attempts", "next_ms"), [(1, 2_000), (2, 6_000), (3, None), (4, None)])
def test_refused_message_is_given_up_after_three_attempts(attempts, next_ms):
    assert due(Outcome.REFUSED, attempts=attempts) == next_ms


def test_message_that_waited_out_its_time_unsent_is_tried_once():
    """Our own server was off for two days: each message has its attempt, and what fails then is given up."""
    assert due(attempts=1, age_ms=2 * DAY_MS) is None


SUNDAY_MS = 784_111_777_000
"""Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110 5.6.7."""


@pytest.mark.parametrize(
    ("retry_after", "pause_ms"),
    [
        ("0", 0),
        ("1", 1_000),
        (" 120 ", 120_000),
        ("3600", LATER_MAX_MS),
        ("3601", LATER_MAX_MS),
        ("999999999", LATER_MAX_MS),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 60_000),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 60_000),
        ("Sun Nov  6 08:49:37 1994", 60_000),
        ("Mon, 07 Nov 1994 08:49:37 GMT", LATER_MAX_MS),
        ("Sun, 06 Nov 1994 08:40:00 GMT", 0),
    ],
)
def test_pause_that_a_receiver_asks_for_is_read_in_both_forms_and_bounded(retry_after, pause_ms):
    assert schedule.asked_pause_ms(retry_after, now_ms=SUNDAY_MS - 60_000) == pause_ms


@pytest.mark.parametrize(
    "retry_after",
    [
        *(None, "", "-1", "+5", "1.5", "5s", "five", "0x10", "1e3", "9999999999", "\u0661", "60, 120", "inf"),
        *(
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 99999 08:49:37 GMT",
            "Sun, 06 Nov",
            "GMT",
            "1994-11-06T08:49:37Z",
        ),
    ],
)
def test_malformed_pause_is_ignored(retry_after):
    assert schedule.asked_pause_ms(retry_after, now_ms=SUNDAY_MS - 60_000) == 0


def test_pause_that_a_receiver_asks_for_makes_a_pause_longer_and_never_shorter_nor_longer_than_the_day():
    asked = {"attempts": 3, "no": 1, "since_ms": 0, "now_ms": 1_000, "patience_ms": 600_000}

    assert schedule.next_due_ms(Outcome.FAILED, **asked, not_before_ms=2_000) == 31_000
    assert schedule.next_due_ms(Outcome.FAILED, **asked, not_before_ms=300_000) == 300_000
    assert schedule.next_due_ms(Outcome.FAILED, **asked, not_before_ms=900_000) == 600_000
