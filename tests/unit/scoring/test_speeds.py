"""Speeds (spec/scoring 2): what is no speed, short holes, lone bad ones, and those from positions."""

import numpy as np
import pytest
from tests.support.made_drives import NAN, drives, events, findings

from tripline.domain import positions
from tripline.scoring import kernel, speeds
from tripline.scoring.drives import intervals_ms
from tripline.scoring.findings import REPAIRS
from tripline.scoring.quality import HarshSource
from tripline.scoring.rules import Column, EventType, Guards, Rules, read
from tripline.store.scores.policies import SECOND

METRE = 1 / 111_195.08


def repaired(found, name):
    return found.repairs[:, REPAIRS.index(name)].tolist()


def from_positions(trip, *, sharp=False):
    every = np.ones(len(trip), np.bool_)
    return speeds.from_positions(trip, trip.speed_kmh, every, every & sharp, Rules())


def northward(t, metres, **more):
    """A drive to the north without speeds."""
    return {"t": t, "lat": 36 + METRE * np.asarray(metres), **more}


@pytest.mark.parametrize(
    ("said", "used"),
    [(v, v) for v in (0, 254.9, 255.1, 300)]
    + [(v, NAN) for v in (255, 300.1, 65_535, 1e308, -0.1, -1e308, np.inf, NAN)],
)
def test_speed_that_nothing_drives_is_none(said, used):
    usable = speeds.usable(drives({"speed": [50, said, 50]}), Rules())

    assert np.array_equal(usable, [50, used, 50], equal_nan=True)
    live = positions.usable_kmh(float(said))
    assert np.array_equal(usable[1], NAN if live is None else live, equal_nan=True)


def test_live_positions_have_the_same_fastest_speed():
    assert Guards().fastest_kmh == positions.FASTEST_KMH
    assert speeds.NO_SPEED_KMH == positions.NO_SPEED_KMH


def test_impossible_speeds_are_counted_and_missing_ones_are_not():
    found = findings({"speed": [50, 255, 50, 65_535, 50]}, {"speed": [50, NAN, 50, 50, 50]})

    assert repaired(found, "bad_speeds") == [2, 0]
    assert repaired(found, "filled_speeds") == [2, 1]


def test_hole_of_five_seconds_is_filled_from_both_its_ends():
    trip = drives({"t": [0, 1, 2, 4, 6, 7], "speed": [50, 50, NAN, NAN, 60, 60]})

    assert speeds.interpolated(trip, trip.speed_kmh, Rules()).tolist() == [50, 50, 52, 56, 60, 60]


def test_longer_hole_stays_as_do_those_at_the_ends():
    trip = drives({"t": [0, 1, 2, 3, 6.001, 7], "speed": [NAN, 50, NAN, NAN, 60, NAN]})

    assert np.isnan(speeds.interpolated(trip, trip.speed_kmh, Rules())).tolist() == [
        True,
        False,
        True,
        True,
        False,
        True,
    ]


def test_hole_is_not_filled_across_trips():
    trips = drives({"speed": [50, 50, NAN]}, {"speed": [NAN, 60, 60]})

    assert np.isnan(speeds.interpolated(trips, trips.speed_kmh, Rules())).sum() == 2


def test_filled_speed_invents_no_event():
    assert events({"speed": [50] * 8 + [NAN, 50] * 6, "lat": [36 + METRE * 20 * i for i in range(20)]}) == []


def test_trip_that_mostly_lacks_speeds_takes_all_of_them_from_positions():
    lat = 36 + METRE * 10 * np.arange(40)
    speed = [70.0 if i % 3 == 0 else NAN for i in range(40)]

    found = findings({"speed": speed, "lat": lat})

    assert events({"speed": speed, "lat": lat}) == []
    assert repaired(found, "filled_speeds") == [26]


def test_lone_speed_takes_part_in_no_rate_and_is_no_overspeed():
    down = [60] * 8 + [20] + [60] * 8
    up = [100] * 8 + [140] + [100] * 8

    assert events({"speed": down}, {"speed": up}) == []
    assert repaired(findings({"speed": down}, {"speed": up}), "lone_speeds") == [1, 1]


def test_real_stop_stays():
    assert [kind for _, kind, _ in events({"speed": [30] * 6 + [15, 0, 13, 26, 26, 26]})] == [
        EventType.STOP,
        EventType.START,
    ]


def test_jump_without_way_back_is_no_lone_speed():
    assert repaired(findings({"speed": [40] * 6 + [60] * 6}), "lone_speeds") == [0]


@pytest.mark.parametrize(("jump", "found"), [(12.0, 0), (12.1, 1)])
def test_lone_speed_at_and_above_its_rate(jump, found):
    assert repaired(findings({"speed": [60.0] * 6 + [60 - jump] + [60.0] * 6}), "lone_speeds") == [found]


@pytest.mark.parametrize(("before", "found"), [(54, 1), (53.9, 0)])
def test_lone_speed_lies_between_steady_ones(before, found):
    assert repaired(findings({"speed": [before, before, 60, 30, 60, 60]}), "lone_speeds") == [found]


def test_lone_speed_at_the_end_of_a_trip_is_not_known_to_be_one():
    trips = [{"speed": [60, 60, 60, 60, 30, 60]}, {"speed": [60, 60, 60, 60, 30, 60]}]

    assert repaired(findings(*trips), "lone_speeds") == [0, 0]


def test_lone_speeds_are_looked_for_among_jumps_alone():
    trip = drives({"speed": [60, 60, 60, 30, 60, 60]})
    spacing = intervals_ms(trip, between=500)

    assert speeds.lone(trip, trip.speed_kmh, spacing, np.array([2, 3]), Rules()).tolist() == [3]
    assert speeds.lone(trip, trip.speed_kmh, spacing, np.array([2]), Rules()).tolist() == []


def plateau(kmh, seconds, *, metres=None, at=60.0, every=1.0):
    """A drive at 60 km/h that says `kmh` for some seconds; `metres`: those driven meanwhile, a second."""
    count = round(seconds / every)
    speed = np.array([at] * 8 + [kmh] * count + [at] * 8)
    steps = np.full(speed.size - 1, at / 3.6 * every)
    if metres is not None:
        steps[7 : 8 + count] = metres * every
    return {"speed": speed, "lat": 36 + METRE * np.append(0, np.cumsum(steps)), "t": np.arange(speed.size) * every}


@pytest.mark.parametrize("kmh", [35, 49, 71, 85])
@pytest.mark.parametrize(("seconds", "every"), [(2, 1), (5, 1), (20, 1), (4, 2)])
def test_speed_that_stays_away_and_that_positions_contradict_is_faulty(kmh, seconds, every):
    found = findings(plateau(60 + (kmh - 60) * every, seconds, every=every))

    assert repaired(found, "lone_speeds") == [seconds / every]
    assert found.events.type.size == 0


def test_speed_that_positions_confirm_stays():
    assert repaired(findings(plateau(0, 5, metres=0.1)), "lone_speeds") == [0]
    assert repaired(findings(plateau(85, 5, metres=85 / 3.6)), "lone_speeds") == [0]


def test_positions_that_stand_still_contradict_nothing():
    assert repaired(findings(plateau(85, 5) | {"lat": np.full(21, 36.0)}), "lone_speeds") == [0]


@pytest.mark.parametrize(("jump", "found"), [(9, 0), (9.1, 2)])
def test_speed_that_positions_contradict_may_jump_less(jump, found):
    assert repaired(findings(plateau(60 + jump, 2)), "lone_speeds") == [found]


@pytest.mark.parametrize(("jump", "found"), [(5, 0), (5.1, 1), (-5.1, 1)])
def test_single_speed_that_positions_contradict_may_jump_by_what_is_harsh_for_nobody(jump, found):
    drive = plateau(60 + jump, 1)

    assert repaired(findings(drive), "lone_speeds") == [found]
    assert repaired(findings(drive | {"lat": np.full(17, 36.0)}), "lone_speeds") == [0]


def test_spike_of_a_standing_receiver_is_no_start_of_a_truck():
    spike = plateau(7, 1, at=0.0) | {"column": Column.TRUCK}
    pulls_away = plateau(7, 1, at=0.0, metres=1.0) | {"column": Column.TRUCK}

    noise = METRE * np.random.default_rng(1).normal(0, 0.1, 17)
    assert events(spike | {"lat": spike["lat"] + noise}) == []
    assert [kind for _, kind, _ in events(pulls_away)] == [EventType.START]


@pytest.mark.parametrize(("seconds", "found"), [(30, 30), (31, 0)])
def test_speed_stays_away_for_the_time_of_a_gap_at_most(seconds, found):
    assert repaired(findings(plateau(0, seconds)), "lone_speeds") == [found]


def test_positions_may_be_a_sample_ahead_of_the_speeds_that_they_contradict():
    speed = np.clip(30 + 5 * (np.arange(40.0) - 10), 30, 80)
    faulty = np.where((np.arange(40) >= 14) & (np.arange(40) < 18), speed + 15, speed)

    found = [
        findings({"speed": faulty, "lat": 36 + METRE * np.cumsum(np.append(0, np.interp(t, range(40), speed) / 3.6))})
        for t in (np.arange(39) + 0.5, np.arange(39) + 1.5, np.arange(39) + 4.5)
    ]

    assert [repaired(each, "lone_speeds") for each in found] == [[4], [4], [0]]


def held(count, *, at=50.0, to=60.0, true=None, every=None):
    """A lively drive whose speed stays the same for so many samples, then jumps; `true`: the path's meanwhile."""
    lively = 50 + 5 * np.sin(np.arange(80) / 3)
    kmh = np.concatenate([lively, np.linspace(lively[-1], at, 9)[1:-1], [at] * count, [to] * 9])
    speed = kmh if every is None else np.round(kmh / every) * every
    kmh = kmh.copy()
    kmh[87 : 87 + count] = at if true is None else np.linspace(at, true, count)
    metres = np.cumsum(np.append(0, (kmh[1:] + kmh[:-1]) / 7.2))
    return {"speed": speed, "lat": 36 + METRE * metres}


@pytest.mark.parametrize(("at", "to"), [(50.0, 60.0), (60.0, 40.0)])
@pytest.mark.parametrize(("count", "dropped"), [(4, 0), (5, 4), (20, 4)])
def test_speed_that_stays_and_jumps_while_positions_show_a_steady_change_is_faulty(count, dropped, at, to):
    found = findings(held(count, at=at, to=to, true=to))

    assert repaired(found, "lone_speeds") == [dropped]
    assert (found.events.type.size == 0) is (dropped > 0)


@pytest.mark.parametrize(("count", "dropped"), [(14, 0), (15, 14)])
def test_whole_speeds_may_stay_the_same_longer(count, dropped):
    assert repaired(findings(held(count, true=60, every=1)), "lone_speeds") == [dropped]


def test_speed_may_freeze_long_before_the_real_one_changes():
    trip = held(20)
    late = np.append(np.full(16, 50.0), [50, 53, 56, 58])
    kmh = np.concatenate([trip["speed"][:87], late, trip["speed"][107:]])

    found = findings(trip | {"lat": 36 + METRE * np.cumsum(np.append(0, (kmh[1:] + kmh[:-1]) / 7.2))})

    assert repaired(found, "lone_speeds") == [4]


def test_frozen_speed_of_steps_of_five_is_unknown():
    assert repaired(findings(held(20, true=60, every=5)), "lone_speeds") == [0]


def test_manoeuvre_after_a_steady_speed_stays_and_so_does_a_slow_speed():
    found = findings(held(20), held(20, at=10.0, to=23.0, true=23))

    assert repaired(found, "lone_speeds") == [0, 0]
    assert found.events.trip.tolist() == [0]


def test_frozen_speed_before_a_long_interval_stays():
    trip = held(20, true=60) | {"t": np.append(np.arange(107), np.arange(9) + 112.6)}

    assert repaired(findings(trip), "lone_speeds") == [0]


def test_guards_of_speeds_are_settings():
    rules = Rules(guards=Guards(lone_kmh_s=50, fastest_kmh=90, hole_ms=0))

    assert repaired(findings({"speed": [60, 60, 60, 30, 60, 60]}, rules=rules), "lone_speeds") == [0]
    assert repaired(findings({"speed": [60, 95, 60, 60]}, rules=rules), "bad_speeds") == [1]
    assert repaired(findings({"speed": [60, NAN, 60, 60]}, rules=rules), "filled_speeds") == [0]


def test_speed_from_positions_is_distance_over_five_samples():
    trip = drives({"t": range(9), "lat": 36 + METRE * 10 * np.arange(9)})

    assert from_positions(trip).tolist() == pytest.approx([36] * 9, rel=1e-5)


def test_one_displaced_position_is_spread_over_the_window():
    metres = np.array([0, 10, 20, 30, 60, 50, 60, 70, 80])
    trip = drives({"t": range(9), "lat": 36 + METRE * metres})

    # Two single positions would give 108 km/h; the windows that end on the outlier see 20 m more in 4 s.
    assert from_positions(trip).max() == pytest.approx(54, rel=1e-5)


def test_fewer_samples_than_the_window_give_no_speed():
    assert np.isnan(from_positions(drives({"t": range(4)}))).tolist() == [True] * 4


def test_window_longer_than_its_intervals_may_be_gives_no_speed():
    filled = from_positions(drives({"t": [0, 5.5, 11, 16.5, 22]}, {"t": [0, 5.5, 11, 16.5, 22.001]}))

    assert np.isnan(filled).tolist() == [False] * 5 + [True] * 5


def test_window_stays_inside_its_trip():
    lat = 36 + METRE * 10 * np.arange(6)

    filled = from_positions(drives({"t": range(6), "lat": lat}, {"t": range(6), "lat": lat + 1}))

    assert filled.tolist() == pytest.approx([36] * 12, rel=1e-5)


UNEVEN = np.cumsum([0, 1, 2, 5, 1, 1, 4, 1, 2, 1, 1, 2, 1, 5, 1])


def test_speed_from_exact_positions_is_the_samples_own_at_any_spacing():
    """Metres t^3 / 30 + t: the speed is t^2 / 10 + 1 metres per second."""
    trip = drives(northward(UNEVEN, UNEVEN**3 / 30 + UNEVEN))
    central = slice(5, -5)

    speed = from_positions(trip, sharp=True)

    assert speed[central] == pytest.approx((UNEVEN**2 / 10 + 1)[central] * 3.6, rel=1e-5)
    assert np.isnan(np.delete(speed, np.arange(UNEVEN.size)[central])).all()


@pytest.mark.parametrize(("longest", "known"), [(11, 7), (11.1, 0)])
def test_speed_from_exact_positions_needs_them_close_together(longest, known):
    t = np.append(np.arange(7), 6 + longest + np.arange(10))

    speed = from_positions(drives(northward(t, t)), sharp=True)

    assert np.count_nonzero(~np.isnan(speed)) == known


def wavy(t, noise_m, seed=0):
    """50 km/h, more or less, with noise."""
    t, rng = np.asarray(t), np.random.default_rng(seed)
    metres = 14 * t + 20 * np.sin(t / 8)
    lon = 127 + METRE / np.cos(np.radians(36)) * rng.normal(0, noise_m, t.size)
    return northward(t, metres + rng.normal(0, noise_m, t.size), lon=lon)


@pytest.mark.parametrize("seconds", [[1], [1.2], [1, 1, 2]])
@pytest.mark.parametrize(("noise", "sharp"), [(0, True), (0.03, True), (0.1, False), (1, False)])
def test_positions_are_exact_up_to_a_noise_of_their_speeds(noise, sharp, seconds):
    t = np.cumsum(np.random.default_rng(1).choice(seconds, 400))
    many = drives(*(wavy(t, noise * np.mean(seconds), seed) for seed in range(4)))

    assert speeds.exact(many, np.array([True, True, True, False])).tolist() == [sharp] * 3 + [False]


def test_positions_that_stand_or_are_far_apart_are_not_exact():
    standing, far = drives({"t": range(300)}), drives(wavy(np.arange(300) * 1.3, 0))

    assert [speeds.exact(each, np.array([True])).tolist() for each in (standing, far)] == [[False], [False]]


def braked(noise_m, *, rows=slice(None), **more):
    """Eight harsh brakings by positions: from 60 to 20 km/h in 2 s."""
    kmh = np.tile(np.repeat([60.0, 60, 40, 20, 20, 30, 40, 50], [20, 1, 1, 1, 20, 5, 5, 5]), 8)
    metres = np.append(0, np.cumsum(kmh[1:] + kmh[:-1]) / 7.2)
    rng = np.random.default_rng(2)
    metres += rng.normal(0, noise_m, kmh.size)
    return northward(np.arange(kmh.size)[rows], metres[rows], **more)


def test_harsh_driving_is_known_from_exact_positions_alone():
    found = findings(braked(0), braked(0.5), braked(0.5, speed=[50.0] * 464), braked(0, rows=slice(None, None, 2)))

    sources = [HarshSource.POSITIONS, HarshSource.UNKNOWN, HarshSource.SPEEDS, HarshSource.SPARSE]
    assert found.harsh_source.tolist() == sources
    assert np.bincount(found.events.trip, minlength=4).tolist() == [8, 0, 0, 0]
    assert [found.quality(trip).harsh_known for trip in range(4)] == [True, False, True, False]


@pytest.mark.parametrize(
    ("intervals", "close"),
    [([1.25] * 20, True), ([1.26] * 20, False), ([1] * 9 + [30], True), ([1] * 8 + [2], False), ([], True)],
)
def test_positions_are_close_if_nine_in_ten_follow_at_once(intervals, close):
    trips = drives({"t": [0]}, {"t": np.cumsum([0, *intervals])}, {"t": [0, 9, 18]})

    found = speeds.close(trips, intervals_ms(trips, between=920), np.array([True, True, False]))

    assert found.tolist() == [True, close, False]


def test_harsh_driving_is_known_from_the_device_itself():
    em = [0] * 463 + [0x10]

    found = findings(braked(0.5, em=em, obd=True), braked(0.5, em=em))

    assert found.harsh_source.tolist() == [HarshSource.DEVICE, HarshSource.UNKNOWN]
    assert found.events.trip.tolist() == [0]


def test_style_is_unknown_where_harsh_driving_is():
    rules = read(SECOND)

    exact, vague = (kernel.worked(drives(braked(noise)), rules).brakings.first.size for noise in (0, 0.5))

    assert (exact, vague) == (8, 0)


@pytest.mark.parametrize(
    ("step", "speed"),
    [
        (0.5, [20, 20.5, 21]),
        (1, [20, 21, 23]),
        (5, [20, 25, 35]),
        (0.1, [20, 20.1, 21]),
        (1, [*[33] * 19, 33.3]),
        (0.1, [*[33] * 18, 33.3]),
        (0.1, [0, 0, 0.4]),
        (1, [NAN, 33, NAN, 0]),
    ],
)
def test_step_of_speeds_divides_19_of_20_moving_ones(step, speed):
    trips = drives({"speed": speed[:2]}, {"speed": speed * 60}, {"speed": []}, {"speed": [33.3] * 100})

    assert speeds.steps_kmh(trips).tolist() == [0, step, 0, 0.1]


@pytest.mark.parametrize(("many", "step"), [(59, 0), (60, 1)])
def test_step_of_speeds_is_known_from_60_moving_samples_on(many, step):
    assert speeds.steps_kmh(drives({"speed": [0] * 60 + [33] * many})).tolist() == [step]
