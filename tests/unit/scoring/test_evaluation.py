"""The report on how right the scores are: its made drives, how events are matched, the peer."""

import numpy as np
import pytest
from evaluation import made, measured, peer
from evaluation.made import HZ, Truth

from tripline.scoring.rules import Column, EventType, Rules

START, STOP = EventType.START, EventType.STOP


def test_ramp_is_the_one_worked_out_by_hand():
    """36 km/h at 18 km/h/s with a jerk of 36: half a second up, 1.5 s at the peak, half a second down."""
    changes = made.ramp(36, 18, 36)
    rates = np.diff(changes, prepend=0) * HZ

    assert changes.size == 2.5 * HZ
    assert changes[-1] == pytest.approx(36)
    assert changes[HZ // 2 - 1] == pytest.approx(4.5, rel=0.12)
    assert rates.max() == pytest.approx(18, rel=0.01)
    assert np.abs(np.diff(rates) * HZ).max() == pytest.approx(36, rel=0.02)


@pytest.mark.parametrize(("change", "peak", "jerk"), [(1, 30, 5), (80, 1, 60), (45, 19.5, 36), (32, 7.8, 24)])
def test_ramp_rises_to_its_change_and_no_faster_than_its_peak(change, peak, jerk):
    changes = made.ramp(change, peak, jerk)

    assert changes[-1] == pytest.approx(change)
    assert np.all(np.diff(changes, prepend=0) >= 0)
    assert np.diff(changes, prepend=0).max() * HZ <= peak * 1.3 + 1


def test_smoothing_lags_and_keeps_steady_speed():
    step = np.append(np.zeros(10), np.full(200, 50.0))
    after = made.smoothed(step, 0.5)

    assert after[9] == 0
    assert after[9 + HZ // 2] == pytest.approx(50 * (1 - np.exp(-1)), rel=0.06)
    assert after[-1] == pytest.approx(50)
    assert made.smoothed(step, 0) is step


def test_drive_is_the_same_for_the_same_seed_and_drives_alike_for_every_receiver():
    (first, truths), (again, _) = (made.drive(3, Column.BUS, smoothing_s=0.5, interval_s=1) for _ in range(2))
    _, slow = made.drive(3, Column.BUS, smoothing_s=1, interval_s=4)

    assert all(np.array_equal(first[name], again[name]) for name in ("t", "lat", "lon", "speed"))
    assert truths == slow != []


def test_manoeuvres_are_beyond_the_threshold_of_their_class():
    for column in Column:
        drive, truths = made.drive(1, column, smoothing_s=0, interval_s=1)
        for truth in truths:
            if truth.kind is START:
                near = (drive["t"] >= truth.begin_s - 1) & (drive["t"] <= truth.end_s + 2)
                assert np.diff(drive["speed"][near]).max() > Rules().harsh.start[column]


def test_event_is_right_once_and_within_its_manoeuvre():
    truths = [Truth(START, 10, 13), Truth(STOP, 20, 22)]
    events = [(START, 11.0), (START, 12.0), (STOP, 23.4), (STOP, 40.0)]

    told = measured.tallies([events], [truths], slack_s=1.5, long=False)

    assert told[START] == (1, 2, 1)
    assert told[STOP] == (1, 2, 1)


def test_short_manoeuvres_are_neither_asked_for_nor_wrong():
    truths = [Truth(START, 10, 12.4), Truth(START, 20, 22.5)]

    told = measured.tallies([[(START, 11.0), (START, 21.0)]], [truths], slack_s=1.5, long=True)

    assert told[START] == (1, 1, 1)


def test_peer_knows_two_thresholds_and_no_guard():
    drive = {
        "t": np.arange(6.0),
        "speed": np.array([0, 12, 24, 24, 4, 4.0]),
        "lat": np.zeros(6),
        "lon": np.array([0, 1, 2, 3, 4, 5]) * 0.01,
    }

    assert peer.events(drive) == [(START, 1.0), (EventType.ACCELERATION, 2.0), (STOP, 4.0)]
    assert 0 < peer.score(drive) < 100
