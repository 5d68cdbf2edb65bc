"""Samples without a fix (spec/scoring 1): the last position with speed 0, and then a step that no start reaches."""

import numpy as np
import pytest
from tests.support.made_drives import drives, events, findings

from tripline.scoring import fixes
from tripline.scoring.drives import intervals_ms
from tripline.scoring.findings import REPAIRS
from tripline.scoring.geometry import steps_m
from tripline.scoring.rules import Rules

METRE = 1 / 111_195.08


def trip(metres, speed, **columns):
    return {"speed": speed, "lat": 36 + METRE * np.array(metres, float), **columns}


def lost(*trips):
    whole = drives(*trips)
    steps = steps_m(whole.lat, whole.lon)
    return fixes.lost(whole, steps, intervals_ms(whole, between=920), Rules()).tolist()


def test_samples_up_to_a_step_beyond_reach_are_without_a_fix():
    assert lost(trip([0, 10, 10, 10, 50, 60], [36, 36, 0, 0, 36, 36])) == [2, 3]


@pytest.mark.parametrize(("metres", "found"), [(27.9, []), (28.1, [1])])
def test_start_from_standing_reaches_three_metres_a_second_and_25(metres, found):
    assert lost(trip([0, 0, metres], [36, 0, 36])) == found


@pytest.mark.parametrize(("seconds", "found"), [(5.5, [1]), (5.6, [])])
def test_step_over_a_longer_interval_may_hide_a_start(seconds, found):
    assert lost(trip([0, 0, 100], [36, 0, 36], t=[0, 1, 1 + seconds])) == found


def test_position_that_jumps_while_standing_is_a_stop():
    assert lost(trip([0, 10, 10, 60, 60], [36, 0, 0, 0, 20])) == []


def test_speed_0_while_positions_go_on_is_no_lost_fix():
    assert lost(trip([0, 10, 20, 60], [36, 36, 0, 36])) == []


def test_fix_before_a_change_of_position_is_one():
    assert lost(trip([0, 10, 12, 12, 60], [36, 0, 0, 0, 36])) == [2, 3]


def test_samples_before_the_first_fix_have_none():
    assert lost(trip([0, 0, 900], [0, 0, 36])) == [0, 1]


def test_trips_do_not_touch():
    assert lost(trip([0, 10], [36, 0]), trip([900, 910], [36, 36]), trip([], []), trip([0], [0])) == []


def test_lost_fixes_cost_no_event_and_no_distance():
    speed = np.full(400, 54.0)
    metres = np.arange(400) * 15.0
    clean = trip(metres, speed)
    for at in (100, 200, 300):
        metres[at : at + 10], speed[at : at + 10] = metres[at - 1], 0
    found = findings(trip(metres, speed), clean)

    assert found.events.type.size == 0
    assert found.repairs[:, REPAIRS.index("no_fix")].tolist() == [30, 0]
    assert found.distance_m[0] == pytest.approx(found.distance_m[1], abs=2)
    assert found.ratio[0] == pytest.approx(1, abs=0.01)


def test_real_stop_stays():
    speed = [50] * 6 + [35, 20, 5, 0, 0, 0, 11, 22, 33, 40, 40]
    metres = np.cumsum([0, *np.add(speed[1:], speed[:-1]) / 7.2])

    assert [kind for _, kind, _ in events(trip(metres, speed))] == [4, 1]
    assert lost(trip(metres, speed)) == []
