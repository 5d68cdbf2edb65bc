"""Idling of a vehicle's day."""

import pytest

from tripline.domain import samples
from tripline.services.scores import track


@pytest.mark.parametrize("unknown", [255.0, -1.0, 65_535.0, float("nan")])
def test_unknown_speed_while_standing_does_not_end_idling(unknown: float) -> None:
    speeds = [0.0 if second % 2 else unknown for second in range(601)]
    packed = b"".join(
        samples.RECORD.pack(second * 1000, 1.0, 2.0, speed, samples.NO_FLAGS, samples.FLAG_OWN_TIME)
        for second, speed in enumerate(speeds)
    )

    assert track.idle_ms(packed, begin_ms=0, end_ms=10**9) == 600_000
