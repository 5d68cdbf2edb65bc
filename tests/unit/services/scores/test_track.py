"""The track of a trip: which samples it has, and which of them stay when it is thinned."""

import pytest

from tripline.domain import samples
from tripline.scoring.rules import Guards, Rules
from tripline.services.scores import track

NAN = float("nan")


def packed(*rows):
    return b"".join(samples.RECORD.pack(*row[:4], -1, row[4] if len(row) > 4 else 1) for row in rows)


def test_track_has_usable_samples_by_time_once_an_instant():
    found = track.of_packed(
        packed(
            (3_000, 1.0, 2.0, 255.0),
            (1_000, 1.12345678, 2.0, 41.26),
            (2_000, NAN, 2.0, 50.0),
            (1_000, 9.0, 9.0, 9.0),
            (4_000, 1.0, 2.0, 50.0, 0),
            (5_000, 1.0, 2.0, NAN),
        )
    )

    assert found == track.Track(
        samples=3,
        time_ms=[1_000, 3_000, 5_000],
        lat=[1.123457, 1.0, 1.0],
        lon=[2.0, 2.0, 2.0],
        speed_kmh=[41.3, None, None],
        no_fix=[],
    )


@pytest.mark.parametrize(("begin", "span"), [(0, (0, 4_000)), (20, (19_000, 24_000))])
def test_samples_without_a_fix_are_left_out_and_their_span_is_named(begin, span):
    """Four samples stay at one place with speed 0, while the vehicle drives on at 20 m/s."""
    metre = 1 / 111_195.08
    at = [begin if begin <= no < begin + 4 else no for no in range(40)]
    rows = [(1_000 * no, 20 * at[no] * metre, 2.0, 0.0 if begin <= no < begin + 4 else 72.0) for no in range(40)]
    standing = [(41_000 + 1_000 * no, 800 * metre, 2.0, 0.0) for no in range(4)]

    found = track.of_packed(packed(*rows, *standing))

    assert found.no_fix == [span]
    assert found.samples == 40
    assert [at_ms for at_ms in found.time_ms if span[0] < at_ms < span[1]] == []


def test_spans_without_a_fix_are_those_of_the_rules():
    """The step to 100 m further in a second is within the reach of a start that these rules allow."""
    metre = 1 / 111_195.08
    still = range(10, 15)
    at = [9 if no in still else no for no in range(30)]
    rows = [(1_000 * no, 20 * at[no] * metre, 2.0, 0.0 if no in still else 72.0) for no in range(30)]
    wide = Rules(guards=Guards(step_slack_m=200))

    assert track.of_packed(packed(*rows)).no_fix == [(9_000, 15_000)]
    assert track.of_packed(packed(*rows), wide).no_fix == []


def test_trip_without_usable_samples_has_an_empty_track():
    assert track.of_packed(b"") == track.Track(samples=0, time_ms=[], lat=[], lon=[], speed_kmh=[], no_fix=[])


@pytest.mark.parametrize("count", [track.MOST, track.MOST + 1, 72_000])
def test_long_track_is_thinned(count):
    found = track.of_packed(packed(*((1_000 * no, 1.0, 2.0, no % 100) for no in range(count))))

    assert found.samples == count
    assert len(found.time_ms) <= track.MOST
    assert len(found.time_ms) == count or len(found.time_ms) > track.MOST / 2
    assert (found.time_ms[0], found.time_ms[-1]) == (0, 1_000 * (count - 1))
