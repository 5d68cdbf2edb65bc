"""Roads of ways that another matcher names."""

import numpy as np
from tests.support import made_roads

from tripline.roads import matcher, ways
from tripline.roads.ways import Ways

NORTH = {7: [(0, 0), (0, 1_000)]}
TOLD = np.array([True])


def named(own, link, *, backward=False):
    """The same way for every anchor, each where its sample is."""
    trace = matcher.trace_of(own)
    anchors = trace.anchors
    size = anchors.sample.size
    return Ways(
        trace.samples.trip[anchors.sample],
        np.broadcast_to(link, size).astype(np.int64),
        np.full(size, backward),
        anchors.lat,
        anchors.lon,
    )


def roads(world, own, said, told=TOLD):
    """The link of the road of each sample, 0 for none."""
    index, _ = made_roads.built(world)
    road = ways.matched(index, own, matcher.trace_of(own), said, told).road
    return np.where(road < 0, 0, index.link[road]).tolist()


def test_way_is_the_road_of_all_samples_between_its_anchors():
    own = made_roads.drives([(0, 0), (0, 900)])

    assert set(roads(NORTH, own, named(own, 7))) == {7}


def test_way_counts_where_another_road_is_nearer():
    own = made_roads.drives([(0, 0), (0, 900)])
    world = {7: [(20, 0), (20, 1_000)], 8: [(0, 0), (0, 1_000)]}

    assert set(roads(world, own, named(own, 7))) == {7}
    assert set(roads(world, own, named(own, 8))) == {8}


def test_direction_is_the_one_that_is_named():
    index, _ = made_roads.built(NORTH)
    own = made_roads.drives([(0, 0), (0, 900)])

    for backward in (False, True):
        found = ways.matched(index, own, matcher.trace_of(own), named(own, 7, backward=backward), TOLD)
        assert set(found.backward.tolist()) == {backward}


def test_of_several_roads_of_one_way_the_nearest_counts():
    """The extract lacks the middle of the way."""
    index, _ = made_roads.built(({7: [(0, 0), (0, 480)], 8: [(0, 500), (0, 1_000)]}, {}))
    index.link[:] = 7
    own = made_roads.drives([(0, 10), (0, 900)])
    found = ways.matched(index, own, matcher.trace_of(own), named(own, 7), TOLD)

    assert found.road[0] == 0
    assert found.road[-1] == 1
    assert np.diff(found.road).tolist().count(1) == 1


def test_way_that_the_index_lacks_or_has_elsewhere_is_no_road():
    own = made_roads.drives([(0, 0), (0, 900)])
    world = {7: [(0, 0), (0, 1_000)], 8: [(5_000, 0), (5_000, 1_000)]}

    for link in (-1, 8, 9):
        assert set(roads(world, own, named(own, link))) == {0}


def test_road_changes_between_anchors_where_the_positions_say_so():
    world = {7: [(0, 0), (0, 500)], 8: [(0, 500), (0, 1_000)]}
    own = made_roads.drives([(0, 0), (0, 900)])
    north_m = matcher.trace_of(own).anchors.lat * made_roads.METRES
    found = roads(world, own, named(own, np.where(north_m < 500, 7, 8)))

    assert found == np.where(own.lat * made_roads.METRES < 500, 7, 8).tolist()


def test_trip_of_which_nothing_is_told_is_our_own_matcher_s():
    own = made_roads.drives([(0, 0), (0, 600)], [(0, 0), (0, 900)])
    found = roads(NORTH, own, named(own, -1), np.array([True, False]))

    assert set(found[: own.starts[1]]) == {0}
    assert set(found[own.starts[1] :]) == {7}


def test_ways_of_some_trips_are_theirs_as_if_they_were_alone():
    own = made_roads.drives([(0, 0), (0, 600)], [(0, 0), (0, 900)], [(0, 0), (0, 300)])
    said = named(own, np.arange(matcher.trace_of(own).anchors.sample.size))
    some = said.of(np.array([0, 2]))

    assert set(some.trip.tolist()) == {0, 1}
    assert some.link.tolist() == np.flatnonzero(said.trip != 1).tolist()
