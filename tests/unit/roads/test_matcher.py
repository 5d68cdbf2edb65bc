"""The matcher on roads that are easily mistaken: junctions, parallel roads, ramps, a motorway above a road, gaps."""

import numpy as np
import pytest
from tests.support import made_roads

from tripline.roads import matcher
from tripline.scoring.rules import Column

NOISE_M = 6.0


def links(world, *lines, **changes):
    """The link of each sample of drives along these lines, None where there is none."""
    index, _ = made_roads.built(world)
    found = matcher.matched(index, made_roads.drives(*lines, **changes))
    return [None if road < 0 else int(index.link[road]) for road in found.road]


def share(found, link):
    return sum(each == link for each in found) / len(found)


def test_straight_road_is_found_at_every_sample():
    assert set(links({1: [(0, 0), (2_000, 0)]}, [(0, 0), (2_000, 0)], noise_m=NOISE_M)) == {1}


def test_turn_at_a_junction_is_found_within_a_second_of_it():
    world = {1: [(0, 0), (1_000, 0)], 2: [(1_000, 0), (1_000, 1_000)], 3: [(1_000, 0), (2_000, 0)]}

    found = links(world, [(0, 0), (1_000, 0), (1_000, 1_000)], mps=14.0)

    assert (set(found[:71]), set(found[74:])) == ({1}, {2})
    assert set(found) == {1, 2}


def test_parallel_road_that_is_not_driven_is_not_found():
    """A road and another one 25 m beside it, which shares no node: the noise alone would choose it often."""
    world = {1: [(0, 0), (3_000, 0)], 2: [(0, 25), (3_000, 25)]}

    assert set(links(world, [(0, 0), (3_000, 0)], noise_m=12.0)) == {1}


def test_positions_far_beside_their_road_do_not_lose_it():
    """Between houses errors of 45 m stay for a minute."""
    world = {1: [(0, 0), (3_000, 0)]}

    assert set(links(world, [(0, 0), (1_000, 0), (1_050, 45), (1_850, 45), (1_900, 0), (3_000, 0)])) == {1}


def test_road_that_was_passed_between_two_points_takes_none_of_them():
    """One sample in 70 m, at 980 and 1,050 m: the first is 15 m from the short road, the second 20 m."""
    world = {1: [(0, 0), (995, 0)], 2: [(995, 0), (1_030, 0)], 3: [(1_030, 0), (3_000, 0)]}

    assert set(links(world, [(0, 0), (3_000, 0)], interval_s=5)) == {1, 3}


def test_parallel_road_that_is_joined_far_away_is_not_found():
    """A road and another one 25 m beside it, which leaves it 600 m further on: they share a node, not on the way."""
    world = {1: [(0, 0), (3_000, 0)], 2: [(0, 25), (2_900, 25), (3_000, 0)]}

    assert set(links(world, [(0, 0), (2_400, 0)], noise_m=12.0)) == {1}


def test_parallel_road_that_cross_streets_join_is_not_found():
    crossing = {number: [(at, 0), (at, 30)] for number, at in enumerate(range(200, 2_000, 200), 10)}
    world = {1: [(at, 0) for at in range(0, 2_001, 200)], 2: [(at, 30) for at in range(0, 2_001, 200)], **crossing}

    assert set(links(world, [(0, 0), (2_000, 0)], noise_m=8.0)) == {1}


def test_one_way_carriageways_are_told_by_direction():
    world = {1: [(0, 0), (3_000, 0)], 2: [(3_000, 12), (0, 12)]}
    tags = {1: {"oneway": "yes"}, 2: {"oneway": "yes"}}

    found = links((world, tags), [(0, 6), (3_000, 6)], [(3_000, 6), (0, 6)], noise_m=NOISE_M)

    half = len(found) // 2
    assert (set(found[:half]), set(found[half:])) == ({1}, {2})


def test_motorway_above_a_road_is_not_left_where_they_cross():
    world = {1: [(0, 0), (3_000, 0)], 2: [(1_500, -1_500), (1_500, 1_500)]}

    assert set(links(world, [(0, 0), (3_000, 0)], noise_m=NOISE_M)) == {1}


def test_ramp_is_taken_only_by_whom_it_leads_on():
    """A ramp leaves at a small angle; the drive on the motorway stays on it, the other one takes the ramp."""
    world = {1: [(0, 0), (1_000, 0)], 2: [(1_000, 0), (3_000, 0)], 3: [(1_000, 0), (1_400, 60), (1_800, 300)]}

    straight = links(world, [(0, 0), (3_000, 0)], noise_m=4.0, mps=28.0)
    off = links(world, [(0, 0), (1_000, 0), (1_400, 60), (1_800, 300)], noise_m=4.0, mps=20.0)

    assert set(straight) == {1, 2}
    assert off[-10:] == [3] * 10
    assert share(off[60:], 3) > 0.9


RAMP = {
    1: [(0, 0), (1_000, 0)],
    2: [(1_000, 0), (3_000, 0)],
    3: [(1_000, 0), (1_100, -8), (1_250, -22), (2_600, -22), (2_700, -8), (2_800, 0)],
}
"""A motorway, and a ramp of 1.8 km that leaves it, runs beside it at 22 m and joins it again."""
RAMP_TAGS = {
    1: {"highway": "motorway", "maxspeed": "120"},
    2: {"highway": "motorway", "maxspeed": "120"},
    3: {"highway": "motorway_link", "maxspeed": "60"},
}


@pytest.mark.parametrize("interval_s", [1, 2, 3])
def test_ramp_that_runs_beside_a_motorway_is_told_from_it(interval_s):
    world = (RAMP, RAMP_TAGS)

    past = links(world, [(0, 0), (3_000, 0)], noise_m=NOISE_M, mps=30.0, interval_s=interval_s)
    down = links(world, [*RAMP[1], *RAMP[3][1:]], noise_m=NOISE_M, mps=20.0, interval_s=interval_s)

    assert set(past) == {1, 2}
    assert list(dict.fromkeys(down)) == [1, 3]
    assert down.index(3) * interval_s == pytest.approx(1_000 / 20, abs=6)


def test_road_below_a_motorway_is_not_left_where_they_cross():
    """The road runs along the motorway's ramps, too, which it passes without a junction."""
    world = (
        {**RAMP, 4: [(1_800, -1_500), (1_800, 1_500)]},
        {**RAMP_TAGS, 4: {"highway": "secondary", "maxspeed": "80"}},
    )

    assert set(links(world, [(1_800, -1_500), (1_800, 1_500)], noise_m=NOISE_M)) == {4}
    assert set(links(world, [(0, 0), (3_000, 0)], noise_m=NOISE_M, mps=30.0)) == {1, 2}


def test_roundabout_is_driven_through():
    around = [(1_000 + 20 * np.cos(a), 20 * np.sin(a)) for a in np.linspace(np.pi, 3 * np.pi, 17)]
    world = {1: [(0, 0), around[0]], 2: around, 3: [around[8], (2_000, 0)]}
    tags = {2: {"junction": "roundabout"}}

    found = links((world, tags), [(0, 0), *around[:9], (2_000, 0)], mps=8.0)

    assert list(dict.fromkeys(found)) == [1, 2, 3]


def test_short_road_between_two_others_does_not_break_the_chain():
    """A bridge of 15 m is a road of its own, passed between two anchors."""
    world = {
        1: [(0, 0), (1_000, 0)],
        2: [(1_000, 0), (1_015, 0)],
        3: [(1_015, 0), (2_000, 0)],
        4: [(0, 20), (2_000, 20)],
    }

    found = links(world, [(0, 0), (2_000, 0)], noise_m=NOISE_M, mps=25.0)

    assert 4 not in found
    assert {1, 3} <= set(found)


def test_place_without_roads_has_none():
    world = {1: [(0, 0), (1_000, 0)]}

    found = links(world, [(0, 0), (1_000, 0), (1_000, 2_000)], mps=20.0)

    assert set(found[:48]) == {1}
    assert set(found[58:]) == {None}


def test_drive_elsewhere_has_no_road():
    assert set(links({1: [(0, 0), (1_000, 0)]}, [(90_000, 0), (92_000, 0)])) == {None}


def test_gap_is_not_bridged():
    """After two minutes without samples the drive goes on a kilometre away, on another road."""
    world = {1: [(0, 0), (1_000, 0)], 2: [(3_000, 0), (5_000, 0)]}
    index, _ = made_roads.built(world)
    whole = made_roads.drives([(0, 0), (5_000, 0)])
    kept = np.flatnonzero((whole.lon * made_roads.METRES < 1_000) | (whole.lon * made_roads.METRES > 3_000))

    found = matcher.matched(index, made_roads.some(whole, kept))

    assert [int(index.link[road]) for road in found.road] == [1] * 72 + [2] * (len(kept) - 72)


@pytest.mark.parametrize("first_s", range(3))
def test_first_sample_behind_a_gap_is_on_the_road_behind_it(first_s):
    world = {1: [(0, 0), (1_000, 0)], 2: [(1_000, 0), (3_000, 0)]}
    index, _ = made_roads.built(world)
    whole = made_roads.drives([(0, 0), (3_000, 0)])
    kept = np.append(np.arange(60), np.arange(130 + first_s, whole.lat.size))

    found = matcher.matched(index, made_roads.some(whole, kept))

    assert [int(index.link[road]) for road in found.road] == [1] * 60 + [2] * (kept.size - 60)


def test_tunnel_without_positions_keeps_the_road_behind_it():
    """Forty seconds without samples below a street that runs across."""
    world = {1: [(0, 0), (3_000, 0)], 2: [(1_000, -500), (1_000, 500)], 3: [(1_600, 12), (3_000, 60)]}
    index, _ = made_roads.built(world)
    whole = made_roads.drives([(0, 0), (3_000, 0)], noise_m=4.0)
    east = whole.lon * made_roads.METRES
    kept = np.flatnonzero((east < 1_040) | (east > 1_600))

    found = matcher.matched(index, made_roads.some(whole, kept))

    assert {int(index.link[road]) for road in found.road} == {1}


@pytest.mark.parametrize("stale_s", [10, 40])
def test_position_that_stays_in_a_tunnel_leads_nowhere(stale_s):
    """The device goes on with the last position it had, and says how fast it is."""
    world = {1: [(0, 0), (3_000, 0)], 2: [(1_008, -500), (1_008, 500)]}
    index, _ = made_roads.built(world)
    own = made_roads.drives([(0, 0), (3_000, 0)], noise_m=4.0)
    own.lat[72 : 72 + stale_s], own.lon[72 : 72 + stale_s] = own.lat[72], own.lon[72]

    found = matcher.matched(index, own)

    assert {int(index.link[road]) for road in found.road} == {1}


def test_road_is_left_and_found_again_around_a_car_park():
    """A minute on a place 80 m beside the road, without roads."""
    world = {1: [(0, 0), (2_000, 0)]}
    around = [(1_000, 0), (1_000, 90), (1_060, 90), (1_060, 130), (1_000, 130), (1_000, 90), (1_000, 0)]

    found = links(world, [(0, 0), *around, (2_000, 0)], noise_m=4.0, mps=6.0)

    assert (set(found[:160]), set(found[-150:])) == ({1}, {1})
    assert set(found[185:210]) == {None}


def test_turning_round_changes_the_direction_of_the_same_road():
    index, _ = made_roads.built({1: [(0, 0), (2_000, 0)]})

    found = matcher.matched(index, made_roads.drives([(0, 0), (1_000, 0), (0, 0)], noise_m=4.0))

    turn = 1_000 / 14
    assert set(found.road) == {0}
    assert not found.backward[: int(turn) - 3].any()
    assert found.backward[int(turn) + 4 :].all()


@pytest.mark.parametrize("noise_m", [5.0, 15.0])
def test_change_of_road_along_a_straight_line_is_placed_by_what_was_travelled(noise_m):
    """The limit changes where no turn tells it: single positions would say it 15 m too early or too late."""
    index, _ = made_roads.built({1: [(0, 0), (1_000, 0)], 2: [(1_000, 0), (2_000, 0)]})
    own = made_roads.drives(*[[(0, 0), (2_000, 0)]] * 20, noise_m=noise_m)

    found = matcher.matched(index, own)

    true = np.tile(np.arange(0.0, 2_000, 14.0) >= 1_000, 20)
    assert (found.road != true).sum() <= 10 + noise_m


@pytest.mark.parametrize("speed", [np.nan, 3.6], ids=["unknown", "metres per second"])
def test_speeds_that_say_nothing_cost_no_road(speed):
    world = {1: [(0, 0), (1_000, 0)], 2: [(1_000, 0), (1_000, 1_000)], 3: [(1_000, 0), (2_000, 0)]}
    index, _ = made_roads.built(world)
    own = made_roads.drives([(0, 0), (1_000, 0), (1_000, 1_000)], noise_m=NOISE_M)
    true = matcher.matched(index, own).road
    own.speed_kmh[:] = own.speed_kmh / speed

    assert (matcher.matched(index, own).road != true).sum() <= 3


def test_standing_vehicle_keeps_its_road_whatever_its_positions_do():
    """Three minutes at a junction, with positions that drift by 15 m."""
    world = {1: [(0, 0), (1_000, 0)], 2: [(1_000, -500), (1_000, 500)], 3: [(1_000, 0), (2_000, 0)]}

    found = links(world, [(0, 0), (990, 0), (2_000, 0)], stand_at=1, noise_m=5.0)

    assert 2 not in found


def test_order_of_samples_does_not_matter():
    world = {1: [(0, 0), (1_000, 0)], 2: [(1_000, 0), (1_000, 1_000)]}
    index, _ = made_roads.built(world)
    own = made_roads.drives([(0, 0), (1_000, 0), (1_000, 1_000)], noise_m=NOISE_M)
    mixed = np.random.default_rng(5).permutation(own.lat.size)

    found = matcher.matched(index, made_roads.some(own, mixed))

    assert np.array_equal(found.road, matcher.matched(index, own).road[mixed])


def test_trips_do_not_change_each_other():
    world = {1: [(0, 0), (1_000, 0)], 2: [(1_000, 0), (1_000, 1_000)], 3: [(0, 30), (1_000, 30)]}
    one, other = [(0, 0), (1_000, 0), (1_000, 900)], [(0, 30), (1_000, 30)]

    assert links(world, one, other) == links(world, one) + links(world, other)


@pytest.mark.parametrize("interval_s", [2, 3, 5])
def test_slower_sampling_finds_the_same_roads(interval_s):
    world = {1: [(0, 0), (1_000, 0)], 2: [(1_000, 0), (1_000, 1_000)], 3: [(1_000, 0), (2_000, 0)]}

    found = links(world, [(0, 0), (1_000, 0), (1_000, 1_000)], interval_s=interval_s)

    assert list(dict.fromkeys(found)) == [1, 2]


def test_direction_decides_the_limit():
    world = {1: [(0, 0), (2_000, 0)]}
    tags = {1: {"maxspeed:forward": "60", "maxspeed:backward": "80"}}

    told = made_roads.limits((world, tags), [(0, 0), (2_000, 0)], [(2_000, 0), (0, 0)])

    assert (set(told[: len(told) // 2]), set(told[len(told) // 2 :])) == ({60.0}, {80.0})


def test_kind_of_vehicle_decides_the_limit():
    world = {1: [(0, 0), (2_000, 0)]}
    tags = {1: {"maxspeed": "100", "maxspeed:hgv": "80"}}

    assert set(made_roads.limits((world, tags), [(0, 0), (2_000, 0)], column=Column.TRUCK)) == {80.0}


def test_time_of_day_decides_the_limit():
    """The drive begins at 0:00 UTC and takes 143 s; local time is 7 hours ahead."""
    world = {1: [(0, 0), (2_000, 0)]}
    tags = {1: {"maxspeed": "50", "maxspeed:conditional": "30 @ (07:01-08:00)"}}

    told = made_roads.limits((world, tags), [(0, 0), (2_000, 0)], offset_ms=7 * 3_600_000)

    assert (set(told[:60]), set(told[60:])) == ({50.0}, {30.0})


def test_road_without_a_limit_tells_none():
    assert np.isnan(made_roads.limits({1: [(0, 0), (2_000, 0)]}, [(0, 0), (2_000, 0)])).all()


def test_vehicle_far_over_the_limit_of_the_nearer_road_is_on_the_other_also_where_it_stands():
    """An expressway, a street 24 m beside it that shares no node, and positions that drift towards the street."""
    lines = {1: [(0, 0), (3_000, 0)], 2: [(0, 24), (3_000, 24)]}
    tags = {1: {"maxspeed": "80"}, 2: {"maxspeed": "30"}}
    drift = [(0, 15), (1_500, 15), (3_000, 15)]

    assert set(links((lines, tags), drift, mps=80 / 3.6, stand_at=1)) == {1}
    assert set(links((lines, tags), drift, mps=36 / 3.6)) == {2}
    assert set(links((lines, tags | {2: {"maxspeed": "30", "maxspeed:hgv": "80"}}), drift, mps=80 / 3.6)) == {1}
    assert set(
        links((lines, tags | {2: {"maxspeed": "30", "maxspeed:hgv": "80"}}), drift, mps=80 / 3.6, column=Column.TRUCK)
    ) == {2}
