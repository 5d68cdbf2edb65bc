"""The moments at which customers hear that a device came or stayed away."""

import pytest

from tripline.services import presence

SINCE = 100_000


@pytest.mark.parametrize(
    ("now_ms", "before_ms"),
    [(SINCE, None), (SINCE + 29_999, None), (SINCE + 30_000, SINCE), (SINCE + 30_001, SINCE + 1)],
)
def test_lost_devices_are_away_after_the_time_and_never_before_the_platform_watched_that_long(now_ms, before_ms):
    assert presence.away_since_ms(now_ms=now_ms, watching_since_ms=SINCE, absent_ms=30_000) == before_ms


def test_without_patience_a_lost_device_is_away_at_once():
    assert presence.away_since_ms(now_ms=SINCE, watching_since_ms=SINCE, absent_ms=0) == SINCE
