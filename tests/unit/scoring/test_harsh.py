"""Harsh events (spec/scoring 2 and 3): rates, thresholds, episodes, their types, and `em`."""

import pytest
from tests.support.made_drives import NAN, events, findings, types

from tripline.scoring.findings import REPAIRS
from tripline.scoring.rules import Column, EventType, Harsh, Rules

START, ACCELERATION, DECELERATION, STOP, OVERSPEED = EventType

TABLE = [
    # speed before, change, (car, bus, truck), type
    (0, +1, (10, 8, 6), START),
    (5, +1, (10, 8, 6), START),
    (6, +1, (12, 8, 7), ACCELERATION),
    (10, +1, (12, 8, 7), ACCELERATION),
    (11, +1, (10, 7, 6), ACCELERATION),
    (20, +1, (10, 7, 6), ACCELERATION),
    (21, +1, (8, 6, 5), ACCELERATION),
    (80, +1, (8, 6, 5), ACCELERATION),
    (25, -1, (14, 9, 8), DECELERATION),
    (30, -1, (14, 9, 8), DECELERATION),
    (31, -1, (15, 10, 8), DECELERATION),
    (50, -1, (15, 10, 8), DECELERATION),
    (51, -1, (15, 12, 8), DECELERATION),
    (90, -1, (15, 12, 8), DECELERATION),
]


@pytest.mark.parametrize("column", list(Column))
@pytest.mark.parametrize(("before", "sign", "thresholds", "kind"), TABLE)
def test_threshold_at_below_and_above(before, sign, thresholds, kind, column):
    least = thresholds[column]

    assert types([before, before + sign * (least - 0.1)], column=column) == []
    assert types([before, before + sign * least], column=column) == [kind]
    assert types([before, before + sign * (least + 0.1)], column=column) == [kind]


@pytest.mark.parametrize(("column", "least"), [(Column.CAR, 14), (Column.BUS, 9), (Column.TRUCK, 8)])
def test_stop_threshold_at_below_and_above(column, least):
    assert types([5 + least - 0.1, 5], column=column) == []
    assert types([5 + least, 5], column=column) == [STOP]
    assert types([5 + least + 0.1, 5], column=column) == [STOP]


def test_start_begins_at_five_and_acceleration_above():
    assert types([5, 18]) == [START]
    assert types([5.1, 18]) == [ACCELERATION]


def test_stop_ends_at_five_and_deceleration_above():
    assert types([25, 5]) == [STOP]
    assert types([25, 5.1]) == [DECELERATION]


def test_decimal_speeds_exactly_at_threshold_count():
    assert types([5.1 + 15.2, 5.1 + 15.2 + 8.0]) == [ACCELERATION]
    assert types([0.3, 10.3]) == [START]


def test_rate_limit_36_at_counts_and_above_is_ignored():
    assert types([60, 24]) == [DECELERATION]
    assert types([60, 23.9]) == []


def test_rate_window_five_and_a_half_seconds_at_and_above():
    assert types([40, 80], t=[0, 5.5]) == [ACCELERATION]
    assert types([40, 80], t=[0, 5.501]) == []


def test_interval_up_to_a_second_keeps_its_threshold():
    assert types([40, 47.3], t=[0, 0.92]) == []
    assert types([40, 47.4], t=[0, 0.92]) == [ACCELERATION]
    assert types([40, 47.9], t=[0, 1]) == []
    assert types([40, 48], t=[0, 1]) == [ACCELERATION]


@pytest.mark.parametrize("seconds", [1.5, 2, 3, 4, 5])
def test_threshold_of_a_longer_interval_falls_by_its_own_power(seconds):
    least = 8 * seconds**-0.3 * seconds

    assert types([40, 40 + least - 0.01], t=[0, seconds]) == []
    assert types([40, 40 + least + 0.01], t=[0, seconds]) == [ACCELERATION]


def test_power_of_slow_sampling_is_a_setting():
    flat = Rules(harsh=Harsh(sampling_exponent=0))

    assert types([40, 55.9], t=[0, 2], rules=flat) == []
    assert types([40, 56], t=[0, 2], rules=flat) == [ACCELERATION]


def stepped(*speed, steady, **trip):
    """Event types after 60 samples at speed that show the step of the device's speeds."""
    return types([speed[0], *steady * 20, *speed], **trip)


@pytest.mark.parametrize(
    ("steady", "least"), [((40, 40.5, 40), 8.5), ((40, 41, 40), 8.5), ((40, 45, 40), 10.5), ((40, 40.3, 40), 8.1)]
)
def test_change_within_half_a_step_of_its_threshold_goes_on_beside_it(steady, least):
    assert stepped(40, 40 + least, 40 + least, steady=steady) == [ACCELERATION]
    assert stepped(40, 48, 48, steady=steady) == []
    assert stepped(40, 48, 55, 55, steady=steady) == []
    assert stepped(40, 48, 55.5, 55.5, steady=steady) == [ACCELERATION]
    assert stepped(40, 47.5, 55.5, 55.5, steady=steady) == [ACCELERATION]


def test_step_of_speeds_is_measured_in_each_trip_from_60_moving_samples():
    whole, tenths = {"speed": [*[40, 41] * 30, 48, 48]}, {"speed": [*[40, 40.3] * 30, 48.4, 48.4]}

    assert events(whole, tenths, {"speed": [*[40] * 57, 48, 48]}) == [(1, ACCELERATION, 60), (2, ACCELERATION, 57)]


def test_first_three_fixes_give_no_rate():
    assert events({"speed": [0, 30, 30, 30, 30]}) == []
    assert events({"speed": [0, 0, 30, 30, 30]}) == []
    assert events({"speed": [0, 0, 0, 30, 30]}) == []
    assert events({"speed": [0, 0, 0, 0, 30]}) == [(0, START, 4)]


def test_first_fixes_are_counted_in_each_trip():
    quiet = {"speed": [50, 50, 50, 50, 50]}

    assert events(quiet, {"speed": [0, 0, 0, 30, 30]}, {"speed": [0, 0, 0, 0, 30]}) == [(2, START, 4)]


def test_change_from_one_trip_to_the_next_is_none():
    assert events({"speed": [80] * 6}, {"speed": [50] * 6}) == []


@pytest.mark.parametrize(
    ("speeds", "kinds"),
    [
        pytest.param([0, 12, 24, 36], [START], id="consecutive exceedances are one event"),
        pytest.param([0, 12, 13, 25], [START], id="one interval below threshold inside is bridged"),
        pytest.param([0, 12, 13, 14, 26], [START, ACCELERATION], id="two intervals below threshold part episodes"),
        pytest.param([0, 12, 11, 23], [START, ACCELERATION], id="interval of other sign parts episodes"),
        pytest.param([0, 12, 12, 24], [START, ACCELERATION], id="interval without change parts episodes"),
        pytest.param([0, 12, 60, 70], [START, ACCELERATION], id="ignored interval parts episodes"),
        pytest.param([0, 12, 30, 14], [START, DECELERATION], id="opposite signs are two events"),
    ],
)
def test_intervals_form_episodes(speeds, kinds):
    assert types(speeds) == kinds


def test_second_interval_below_threshold_begins_a_new_episode():
    assert types([0, 12, 13, 25, 26, 35]) == [START, ACCELERATION]
    assert types([0, 12, 13, 25, 26, 35, 36, 45]) == [START, ACCELERATION]


def test_type_comes_from_where_the_episode_begins_not_from_each_interval():
    assert types([4, 16, 28, 40]) == [START]
    assert types([60, 44, 29, 15, 0]) == [STOP]


def test_phase_takes_in_the_interval_before_from_3_kmh_s_on():
    assert types([2.1, 5, 18]) == [START]
    assert types([2.6, 5.5, 18]) == [ACCELERATION]
    assert types([2.5, 5.5, 18]) == [START]


def test_phase_takes_in_the_interval_after_from_3_kmh_s_on():
    assert types([45, 28, 7.8, 4.9]) == [DECELERATION]
    assert types([45, 28, 7.9, 4.9]) == [STOP]


def test_edge_of_a_phase_shrinks_with_the_column_like_its_threshold():
    # 6 / 10 of 3 km/h/s for a truck that starts, 8 / 10 for a bus.
    assert types([3.9, 5.8, 18], column=Column.TRUCK) == [START]
    assert types([3.9, 5.8, 18], column=Column.BUS) == [ACCELERATION]
    assert types([3.3, 5.8, 18], column=Column.BUS) == [START]
    assert types([3.3, 5.8, 18], column=Column.CAR) == [ACCELERATION]


def test_edge_of_a_phase_shrinks_with_slow_sampling():
    edge = 3 * 2**0.7

    assert types([1, 1 + edge - 0.1, 28], t=[0, 2, 4]) == [ACCELERATION]
    assert types([1, 1 + edge + 0.1, 28], t=[0, 2, 4]) == [START]


def test_phase_takes_in_no_second_interval():
    assert types([0, 8, 16.5, 29]) == [ACCELERATION]


def test_phase_ends_with_its_trip():
    assert events({"speed": [40] * 5 + [20]}, {"speed": [5] * 5}) == [(0, DECELERATION, 5)]
    assert events({"speed": [0] * 6}, {"speed": [8] * 4 + [20]}) == [(1, ACCELERATION, 4)]


def test_event_is_at_the_end_of_the_greatest_rate():
    speed = [20] * 4 + [20, 31, 44, 54]

    found = findings({"speed": speed, "lat": [36 + i / 100 for i in range(8)]}).events

    assert found.time_ms.tolist() == [1_735_689_606_000]
    assert found.speed_kmh.tolist() == [44]
    assert found.lat.tolist() == [36.06]
    assert found.limit_kmh.tolist() == [0]


def test_first_of_equal_rates_is_the_event():
    assert events({"speed": [20] * 4 + [20, 31, 42, 53]}) == [(0, ACCELERATION, 5)]


def test_missing_speed_of_a_long_hole_gives_no_rate():
    assert types([40, *[NAN] * 5, 100, 100]) == []


def test_car_is_not_judged_with_truck_thresholds_in_one_run():
    speed = [40] * 5 + [46]

    assert events(*({"speed": speed, "column": column} for column in Column)) == [
        (1, ACCELERATION, 5),
        (2, ACCELERATION, 5),
    ]


def test_obd_trip_with_em_takes_events_from_its_bits():
    trip = {"speed": [0, 0, 0, 0, 30, 30, 30, 30], "em": [-1, 0x71, 0x0E, 0x80, 0x20, 0, -1, 0x10], "obd": True}

    assert events(trip) == [
        (0, START, 1),
        (0, ACCELERATION, 1),
        (0, DECELERATION, 1),
        (0, STOP, 1),
        (0, ACCELERATION, 4),
        (0, DECELERATION, 7),
    ]


@pytest.mark.parametrize("em", [[0] * 5, [-1, 0, 0, 0, 0], [0x0E, 0, 0x80, 0, 0]])
def test_em_without_any_harsh_bit_leaves_the_trip_to_its_speeds(em):
    found = findings({"speed": [0, 0, 0, 0, 30], "em": em, "obd": True})

    assert found.events.type.tolist() == [START]
    assert found.repairs[0, REPAIRS.index("constant_em")] == 1


def test_bits_of_em_outlive_the_samples_of_their_instant():
    trip = {"t": [0, 0.5, 1, 1.5, 2], "speed": [50] * 5, "em": [0, 0x20, -1, 0x10, 0x40], "obd": True}

    assert events(trip) == [(0, ACCELERATION, 1), (0, DECELERATION, 2), (0, STOP, 2)]


def test_obd_trip_without_em_is_judged_by_speed():
    other = {"speed": [0] * 5, "em": [0x40, 0, 0, 0, 0], "obd": True}

    assert events(other, {"speed": [0, 0, 0, 0, 30], "obd": True}) == [(0, STOP, 0), (1, START, 4)]


def test_em_of_a_trip_that_is_not_obd_is_not_looked_at():
    assert events({"speed": [0, 0, 0, 0, 30], "em": [0x40] * 5}) == [(0, START, 4)]


def test_em_event_without_any_speed_has_speed_zero():
    assert findings({"t": [0, 1], "em": [0x40, 0], "obd": True}).events.speed_kmh.tolist() == [0]
