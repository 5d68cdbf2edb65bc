"""Manoeuvres that positions contradict (spec/scoring 3), and positions that do not tell."""

import numpy as np
import pytest
from tests.support.made_drives import drives, findings

from tripline.scoring import kernel
from tripline.scoring.findings import REPAIRS
from tripline.scoring.rules import EventType, Rules, read
from tripline.store.scores.policies import SECOND

METRE = 1 / 111_195.08
FROZEN = [60.0] * 30 + [36, 12] + [12.0] * 29
"""The device's speeds: two harsh intervals."""
TRUE = np.interp(np.arange(61), [10, 30], [60, 12])
"""The real ones: slower and slower over 20 s."""


def driven(speed, true, *, seconds=1.0, noise_m=0.0, every=1, **more):
    """Speeds of the device, with positions by the true ones, renewed at each so many samples."""
    true = np.asarray(true)
    metres = np.append(0, np.cumsum((true[1:] + true[:-1]) / 7.2 * seconds))
    metres += np.random.default_rng(1).normal(0, noise_m, true.size)
    fresh = np.arange(true.size) // every * every
    return {"speed": speed, "t": seconds * np.arange(true.size), "lat": 36 + METRE * metres[fresh], **more}


def told(trip, rules=None):
    """Event types, and the number of events left out."""
    found = findings(trip, rules=rules)
    return found.events.type.tolist(), int(found.repairs[0, REPAIRS.index("unconfirmed")])


def test_change_that_the_path_shows_is_an_event():
    assert told(driven(FROZEN, FROZEN)) == ([EventType.DECELERATION], 0)


def test_change_that_the_path_does_not_show_is_left_out_and_counted():
    assert told(driven(FROZEN, TRUE)) == ([], 1)


@pytest.mark.parametrize(("slower", "left_out"), [(15, 0), (14, 1)])
def test_path_shows_three_tenths_of_the_change(slower, left_out):
    true = np.where(np.arange(61) < 31, 55.0, 55.0 - slower)

    assert told(driven(FROZEN, true))[1] == left_out


@pytest.mark.parametrize("how", [{"noise_m": 10.0}, {"every": 5}])
def test_noisy_and_old_positions_do_not_tell(how):
    assert told(driven(FROZEN, TRUE, **how)) == ([EventType.DECELERATION], 0)


@pytest.mark.parametrize(("seconds", "kept"), [(1.4, 0), (1.6, 1)])
def test_positions_further_apart_than_a_second_and_a_half_do_not_tell(seconds, kept):
    assert told(driven(FROZEN, TRUE, seconds=seconds)) == ([EventType.DECELERATION] * kept, 1 - kept)


def test_manoeuvre_at_the_end_of_a_trip_counts():
    assert told(driven(FROZEN[:33], TRUE[:33])) == ([EventType.DECELERATION], 0)


def test_event_of_the_device_itself_counts():
    em = [0x10 if second == 31 else 0 for second in range(61)]

    assert told(driven(FROZEN, TRUE, em=em, obd=True)) == ([EventType.DECELERATION], 0)


def test_braking_that_the_path_does_not_show_costs_nothing():
    rules = read(SECOND)

    shown, hidden = (kernel.worked(drives(driven(FROZEN, true)), rules).brakings.first.size for true in (FROZEN, TRUE))

    assert (shown, hidden) == (1, 0)


def test_events_of_other_trips_stay():
    found = findings(driven(FROZEN, FROZEN), driven(FROZEN, TRUE), driven(FROZEN, FROZEN), rules=Rules())

    assert found.events.trip.tolist() == [0, 2]
    assert found.repairs[:, REPAIRS.index("unconfirmed")].tolist() == [0, 1, 0]
