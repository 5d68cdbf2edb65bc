"""The moments at which customers hear that a device came or stayed away."""

import pytest

from tripline.domain import presence

SINCE = 100_000


def test_device_that_was_told_away_or_never_told_comes_as_news_and_another_does_not():
    assert (presence.comes_as_news(told=False), presence.comes_as_news(told=True)) == (True, False)


@pytest.mark.parametrize(
    ("now_ms", "before_ms"),
    [(SINCE, None), (SINCE + 29_999, None), (SINCE + 30_000, SINCE), (SINCE + 30_001, SINCE + 1)],
)
def test_lost_devices_are_away_after_the_time_and_never_before_the_platform_watched_that_long(now_ms, before_ms):
    assert presence.away_since_ms(now_ms=now_ms, watching_since_ms=SINCE, absent_ms=30_000) == before_ms


def test_without_patience_a_lost_device_is_away_at_once():
    assert presence.away_since_ms(now_ms=SINCE, watching_since_ms=SINCE, absent_ms=0) == SINCE
