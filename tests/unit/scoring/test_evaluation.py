"""The report on how right the scores are: its made drives, how events are matched, the peer."""

import numpy as np
import pytest
from evaluation import made, measured, peer
from evaluation.made import HZ, Manner, Receiver, Truths
from evaluation.measured import Events, Tally

from tripline.scoring.rules import Column, EventType

START, STOP = EventType.START, EventType.STOP


def truths(*rows):
    """Harsh manoeuvres: kind, begin, end."""
    return Truths(*np.array(rows).T)


def events(*rows):
    """Events of one drive: kind, seconds."""
    kind, at_s = np.array(rows).T
    return Events(np.zeros(len(rows), np.int64), kind.astype(np.int64), at_s)


def test_exceedance_is_the_greatest_change_within_a_second_by_its_row():
    """A car: 24 km/h in 2 s from 60 km/h; a stop within half a second counts in full."""
    up = 60 + np.linspace(0, 24, 2 * HZ + 1)
    stop = np.linspace(21, 0, HZ // 2 + 1)

    assert made.exceedance(up, Column.CAR) == pytest.approx(12 / 8)
    assert made.exceedance(stop, Column.CAR) == pytest.approx(21 / 14)
    assert made.exceedance(stop, Column.TRUCK) == pytest.approx(21 / 8)


@pytest.mark.parametrize("shape", made.SHAPES)
def test_shape_of_a_manoeuvre_is_a_rate_of_one_sign(shape):
    rate = shape((np.arange(100) + 0.5) / 100)

    assert rate.min() >= 0
    assert rate[[0, -1]].max() < 0.3 * rate.max()


@pytest.mark.parametrize("column", Column)
def test_harsh_manoeuvres_of_a_drive_exceed_their_threshold_and_nothing_else_does(column):
    manner = Manner(lasting_s=(1.5, 4.0), harsh_share=0.5)
    true = made.course(1, column, manner)
    calm = true.kmh.copy()

    assert true.truths.kind.size >= 15
    for begin_s, end_s in zip(true.truths.begin_s, true.truths.end_s, strict=True):
        inside = slice(round(begin_s * HZ), round(end_s * HZ))
        assert 1.5 <= end_s - begin_s <= 4.1
        assert 1.25 <= made.exceedance(true.kmh[inside], column) <= 1.81
        calm[inside] = np.nan
    parts = np.split(calm, np.flatnonzero(np.diff(np.isnan(calm))) + 1)
    assert max(made.exceedance(part, column) for part in parts if not np.isnan(part).any()) < 0.9


def test_calm_drive_has_no_harsh_manoeuvre():
    true = made.course(1, Column.CAR, Manner(harsh_share=0))

    assert true.truths.kind.size == 0
    assert made.exceedance(true.kmh, Column.CAR) < 0.9


def test_receiver_reports_whole_kmh_late_and_loses_samples():
    true = made.course(2, Column.CAR)
    drive = made.reported(true, Receiver(noise_kmh=0, smoothing_s=(0, 0), noise_m=0), Column.CAR, 2)
    at = np.round((drive["t"] - made.DELAY_S) * HZ).astype(int)

    assert np.array_equal(drive["speed"], np.round(drive["speed"]))
    assert np.abs(drive["speed"] - true.kmh[at])[drive["speed"] > 0].max() < 1.6
    assert set(np.round(np.diff(drive["t"]), 6)) >= {1.0, 2.0}
    assert drive["t"].size / (true.kmh.size / HZ) == pytest.approx(1 - made.LOST, abs=0.02)


def test_smoothing_lags_and_keeps_steady_speed():
    step = np.append(np.zeros(10), np.full(200, 50.0))
    after = made.smoothed(step, 0.5)

    assert after[9] == 0
    assert after[9 + HZ // 2] == pytest.approx(50 * (1 - np.exp(-1)), rel=0.06)
    assert after[-1] == pytest.approx(50, rel=1e-3)
    assert made.smoothed(step, 0) is step


def test_drive_is_the_same_for_the_same_seed_and_drives_alike_for_every_receiver():
    (first, truths), (again, _) = (made.drive(3, Column.BUS) for _ in range(2))
    _, slow = made.drive(3, Column.BUS, Receiver(interval_s=4, smoothing_s=(1, 1)))

    assert all(np.array_equal(first[name], again[name]) for name in ("t", "lat", "lon", "speed"))
    assert slow is truths


def test_event_is_right_once_and_within_its_manoeuvre():
    true = truths((START, 10, 13), (STOP, 20, 22))
    found = events((START, 11.0), (START, 12.0), (STOP, 23.4), (STOP, 40.0))

    counted = measured.tallies(found, [true], slack_s=1.5)

    assert counted["start"] == counted["stop"] == Tally(right=1, found=2, true=1)
    assert counted["all"] == Tally(right=2, found=4, true=2)


def test_events_are_matched_within_their_own_drive():
    found = Events(np.array([0, 1]), np.array([START, START]), np.array([50.0, 11.0]))

    counted = measured.tallies(found, [truths((START, 10, 13)), truths((START, 50, 53))], slack_s=1.5)

    assert counted["start"] == Tally(right=0, found=2, true=2)


def test_peer_knows_two_thresholds_and_no_guard():
    drive = {
        "t": np.arange(6.0),
        "speed": np.array([0, 12, 24, 24, 4, 4.0]),
        "lat": np.zeros(6),
        "lon": np.array([0, 1, 2, 3, 4, 5]) * 0.01,
    }

    assert peer.events(drive) == [(START, 1.0), (EventType.ACCELERATION, 2.0), (STOP, 4.0)]
    assert 0 < peer.score(drive) < 100
