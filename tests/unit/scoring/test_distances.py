"""The guarded distance of a trip (spec/scoring 1)."""

import numpy as np
import pytest
from tests.support.made_drives import NAN, findings

from tripline.scoring.distances import Source
from tripline.scoring.findings import REPAIRS
from tripline.scoring.rules import Guards, Rules

METRE = 1 / 111_195.08


def drive(metres, speed=None, **columns):
    """Positions so many metres north, one a second, or as `t` says."""
    metres = np.array(metres, np.float64)
    columns.setdefault("t", range(metres.size))
    return {"lat": 36 + METRE * metres, "speed": speed, **columns}


def metres(trip, rules=None):
    return float(findings(trip, rules=rules).distance_m[0])


def mended(trip, name):
    return int(findings(trip).repairs[0, REPAIRS.index(name)])


STEADY = np.arange(0, 2_001, 20)


def test_standing_adds_nothing():
    wander = [0, 3, -2, 4, 0, 5, 1]

    assert metres(drive(wander, [1.0] * 7)) == 0
    assert metres(drive(wander, [1.1] * 7)) == 27


def test_leaving_and_arriving_are_no_standing():
    assert metres(drive([0, 3, 10, 13], [0, 5, 5, 0])) == 13


@pytest.mark.parametrize(("step", "found"), [(54, 54), (54.1, 20)])
def test_step_is_replaced_by_that_of_the_speed_above_what_this_can_be(step, found):
    # 72 km/h: 1.3 x 20 + 3 + 25 = 54 m in a second.
    trip = drive([0, step], [72, 72])

    assert metres(trip, Rules(guards=Guards(few_samples=0))) == pytest.approx(found, abs=0.5)
    assert mended(trip, "replaced_steps") == (step > 54)


def test_reach_of_a_step_takes_the_faster_of_its_ends():
    assert metres(drive([0, 54], [0.1, 72])) == 54
    assert metres(drive([0, 60], [0.1, 72])) == 10


def test_reach_of_a_step_where_one_end_has_no_speed():
    trip = drive([0, 20, 100, 60, 80, 100, 120], [72, 72, NAN, NAN, NAN, NAN, NAN], t=[0, 1, 2, 3, 4, 5, 6])
    guards = Rules(guards=Guards(hole_ms=0))

    # Most lack a speed: 80 m in a second is no step of a vehicle, and the next good one bridges it.
    assert metres(trip, guards) == 120


def test_gap_is_a_straight_line_whatever_the_speeds_say():
    assert metres(drive([0, 2_000], [0, 0], t=[0, 31])) == 2_000
    assert metres(drive([0, 2_000], [0, 0], t=[0, 30])) == 0


def test_gap_is_no_longer_than_70_metres_a_second():
    trip = drive([0, 100_000], [50, 50], t=[0, 100])

    assert metres(trip) == 7_000
    assert mended(trip, "left_out_steps") == 1


def test_position_far_off_leaves_the_distance():
    far = STEADY.astype(float)
    far[50] += 111_195

    assert metres(drive(far, [72.0] * 101)) == 2_000
    assert mended(drive(far, [72.0] * 101), "replaced_steps") == 2


@pytest.mark.parametrize("many", [1, 5])
def test_positions_far_off_without_speeds_are_bridged(many):
    far = STEADY.astype(float)
    far[50 : 50 + many] += 111_195
    trip = drive(far)

    assert metres(trip) == 2_000
    assert mended(trip, "bad_positions") == many


def test_first_fix_that_an_impossible_step_follows_is_dropped():
    far = STEADY.astype(float)
    far[0] = -50_000
    trip = drive(far)

    assert metres(trip) == 1_980
    assert mended(trip, "bad_positions") == 1


def test_without_speeds_less_than_30_metres_in_a_minute_is_standing():
    slow = np.arange(0, 200) * 0.49
    walking = np.arange(0, 200) * 0.51

    assert metres(drive(slow)) == pytest.approx(0, abs=1)
    assert metres(drive(walking)) == pytest.approx(101, abs=1)


def test_standing_without_speeds_adds_nothing_to_the_drive_around_it():
    rng = np.random.default_rng(1)
    stop = 2_000 + rng.normal(0, 3, 600)
    trip = drive(np.concatenate([STEADY, stop, STEADY + 2_000]))

    assert metres(trip) == pytest.approx(4_000, rel=0.02)


@pytest.mark.parametrize(
    ("part", "source"),
    [(0.79, Source.DOUBTED), (0.8, Source.STATED), (1, Source.STATED), (1.25, Source.STATED), (1.26, Source.DOUBTED)],
)
def test_stated_distance_is_taken_where_it_is_near_our_own(part, source):
    trip = drive(STEADY, [72.0] * 101, stated_m=2_000 * part)

    found = findings(trip)

    assert found.source.tolist() == [source]
    assert found.distance_m.tolist() == [2_000 * part if source is Source.STATED else 2_000]


@pytest.mark.parametrize(("samples", "source"), [(29, Source.STATED), (30, Source.DOUBTED)])
def test_stated_distance_is_taken_where_samples_are_few(samples, source):
    trip = drive(STEADY[:samples], [72.0] * samples, stated_m=50_000)

    assert findings(trip).source.tolist() == [source]


def test_distance_is_our_own_where_none_is_stated():
    assert findings(drive(STEADY, [72.0] * 101)).source.tolist() == [Source.OWN]


def test_trips_beside_each_other_do_not_mix():
    far = STEADY.astype(float)
    far[0] += 111_195
    trips = [drive(STEADY, [72.0] * 101), drive(far), drive(far, [72.0] * 101), drive([0, 1], [0, 0])]

    together = findings(*trips)

    assert together.distance_m.tolist() == [metres(each) for each in trips] == [2_000, 1_980, 2_000, 0]


def scattered(noise_m, *, seconds=600, speed=72.0, **columns):
    """A steady drive whose positions scatter."""
    rng = np.random.default_rng(3)
    trip = drive(np.arange(seconds) * 20.0 + rng.normal(0, noise_m, seconds), [speed] * seconds, **columns)
    return {**trip, "lon": 127 + METRE * rng.normal(0, noise_m, seconds)}


@pytest.mark.parametrize("noise_m", [8, 10, 15])
def test_trip_whose_positions_scatter_is_as_long_as_its_speeds_say(noise_m):
    trip = scattered(noise_m)

    assert metres(trip) == pytest.approx(599 * 20, abs=1)
    assert mended(trip, "scattered_positions") == 1
    assert mended(scattered(1), "scattered_positions") == 0
    assert metres(scattered(1)) == pytest.approx(599 * 20, rel=0.01)


def test_speeds_that_do_not_fit_the_path_measure_no_distance():
    trip = scattered(10, speed=20.0)

    assert mended(trip, "scattered_positions") == 0
    assert metres(trip) > 2 * 600 * 20 / 3.6


def test_gaps_of_a_trip_that_scatters_stay_straight_lines():
    t = np.arange(600.0)
    t[300:] += 100

    assert metres({**scattered(10), "t": t}) == pytest.approx(599 * 20, abs=40)


def test_missing_speeds_of_a_trip_that_scatters_leave_their_steps():
    trip = scattered(10)
    trip["speed"] = [NAN if 300 <= second < 320 else 72.0 for second in range(600)]

    assert metres(trip) == pytest.approx(599 * 20, abs=300)


def test_trips_beside_one_that_scatters_keep_their_own_steps():
    steady = drive(np.arange(600) * 20.5, [72.0] * 600)
    alone = float(findings(steady).distance_m[0])

    found = findings(steady, scattered(10), steady)

    assert found.distance_m.tolist() == [alone, pytest.approx(599 * 20, abs=1), alone]
    assert found.repairs[:, REPAIRS.index("scattered_positions")].tolist() == [0, 1, 0]


def frozen(seconds=60, kmh=72.0, *, at=100, size=400):
    """A drive at a steady speed whose position stays for some seconds."""
    metres = np.arange(size) * kmh / 3.6
    metres[at : at + seconds] = metres[at - 1]
    return drive(metres, np.full(size, kmh))


def test_distance_on_old_positions_is_that_of_the_speed():
    trip = frozen()

    assert metres(trip) == pytest.approx(399 * 20, abs=2)
    assert (mended(trip, "old_positions"), mended(trip, "replaced_steps")) == (60, 1)
    assert findings(trip).ratio[0] == pytest.approx(1, abs=0.002)


def test_old_positions_from_the_begin_of_a_trip():
    trip = frozen(at=1, seconds=80)
    trip["lat"][:81] -= METRE * 1_000

    assert metres(trip) == pytest.approx(399 * 20, abs=2)


@pytest.mark.parametrize("every", [3, 5, 10])
def test_positions_that_are_seldom_renewed_keep_the_distance_and_the_fit(every):
    rows = np.arange(400) // every * every
    whole = drive(np.arange(400)[rows] * 20.0, np.full(400, 72.0))
    in_mps = drive(np.arange(400)[rows] * 20.0, np.full(400, 20.0))

    assert metres(whole) == pytest.approx(399 * 20, rel=0.03)
    assert findings(whole, in_mps).ratio.tolist() == pytest.approx([1, 1 / 3.6], rel=0.08)


def test_stated_distance_is_compared_with_that_of_the_speed_on_old_positions():
    found = findings(frozen(200) | {"stated_m": 7_900.0})

    assert (found.source.tolist(), found.distance_m.tolist()) == ([Source.STATED], [7_900])


def test_positions_are_old_only_at_speed_and_before_a_step_beyond_reach():
    stop = [50.0] * 20 + [0.0] * 30 + [50.0] * 20
    stands = np.cumsum([0, *np.array(stop[1:]) / 3.6])
    within = frozen(2)  # 60 m in a second is beyond reach, 54 m is not
    within["lat"][101] = within["lat"][100] + METRE * 6

    assert mended(drive(stands, stop), "old_positions") == 0
    assert mended(drive(np.where(np.arange(70) < 50, stands, stands + 60), stop), "old_positions") == 0
    assert mended(within, "old_positions") == 0
    assert mended(frozen(2), "old_positions") == 2


@pytest.mark.parametrize(("seconds", "found"), [(30, 60), (30.1, 0)])
def test_position_before_a_gap_is_not_old(seconds, found):
    assert mended(frozen(size=161) | {"t": [*range(160), 159 + seconds]}, "old_positions") == found


def test_position_that_stays_to_the_end_is_not_known_to_be_old():
    assert mended(frozen(size=160), "old_positions") == 0
