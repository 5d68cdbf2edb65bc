"""The benefit of the doubt: which road's limit counts for a sample over the limit of its own."""

import numpy as np
import pytest
from msgspec.structs import replace
from tests.support import made_roads

from tripline.roads import doubt, limited, matcher
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import Column, Rules

LINES = {1: [(0, 0), (3_000, 0)], 2: [(0, 22), (3_000, 22)]}
TAGS = {1: {"maxspeed": "80"}, 2: {"maxspeed": "60"}}
"""An expressway above a street, which shares no node with it."""
ON_STREET = [(0, 13), (3_000, 13)]
"""Where positions drift: 9 m from the street, 13 m from the expressway."""


def judged(kmh, line=ON_STREET, *, lines=LINES, tags=TAGS, offset_ms=0, **changes):
    """The limits, with their sources, that the samples of a drive at this speed are judged by."""
    index, texts = made_roads.built((lines, tags))
    own = made_roads.drives(line, mps=kmh / 3.6, **changes)
    offsets = np.array([offset_ms])
    found = matcher.matched(index, own)
    told = limited.limits_of(index, texts, own, found, offset_ms=offsets)
    told = doubt.given(index, texts, own, matcher.trace_of(own), found, told, offset_ms=offsets)
    return set(zip(told.kmh.tolist(), told.source.tolist(), strict=True))


TAGGED = LimitSource.TAGGED


@pytest.mark.parametrize(("kmh", "limit"), [(65, 60), (67, 80), (71, 80), (87, 80)])
def test_sample_over_its_limit_has_that_of_a_road_beside_which_allows_its_speed(kmh, limit):
    assert judged(kmh) == {(limit, TAGGED)}


def test_road_without_a_limit_by_law_allows_any_speed():
    assert judged(200, tags={**TAGS, 1: {"maxspeed": "none"}}) == {(0, TAGGED)}


def test_road_that_does_not_allow_the_speed_gives_no_doubt():
    assert judged(71, tags={**TAGS, 1: {"maxspeed": "64"}}) == {(60, TAGGED)}


def test_road_whose_limit_is_unknown_gives_no_doubt():
    assert judged(71, tags={2: TAGS[2]}) == {(60, TAGGED)}


def test_road_farther_than_errors_reach_gives_no_doubt():
    """Positions are 2 m from the street, so the vehicle is not on the expressway; then 12 m, and 48 m from that."""
    assert judged(71, [(0, 20), (3_000, 20)]) == {(60, TAGGED)}
    assert judged(71, [(0, 34), (3_000, 34)], lines={**LINES, 1: [(0, 82), (3_000, 82)]}) == {(60, TAGGED)}


def test_road_across_gives_no_doubt():
    assert judged(71, lines={**LINES, 1: [(1_500, -500), (1_500, 500)]}) == {(60, TAGGED)}


def test_one_way_road_against_the_direction_of_travel_gives_no_doubt():
    tags = {**TAGS, 1: {**TAGS[1], "oneway": "-1"}}

    assert judged(71, tags=tags) == {(60, TAGGED)}
    assert judged(71, ON_STREET[::-1], tags=tags) == {(80, TAGGED)}


def test_sample_near_a_change_of_road_may_be_on_either():
    """From 80 into 30 at a right angle, positions 10 m beside both: it counts from 45 m behind the corner."""
    lines = {1: [(0, 0), (1_000, 0)], 2: [(1_000, 0), (1_000, 1_000)]}
    tags = {1: {"maxspeed": "80"}, 2: {"maxspeed": "30"}}
    index, texts = made_roads.built((lines, tags))
    own = made_roads.drives([(0, 10), (990, 10), (990, 1_000)], mps=10.0)
    found, offsets = matcher.matched(index, own), np.zeros(1, np.int64)
    told = limited.limits_of(index, texts, own, found, offset_ms=offsets)

    given = doubt.given(index, texts, own, matcher.trace_of(own), found, told, offset_ms=offsets).kmh

    change = int(np.flatnonzero(np.diff(found.road))[0])
    assert 97 <= change <= 99
    assert given.tolist() == [80.0] * (change + 5) + [30.0] * (own.time_ms.size - change - 5)


def test_likeliest_of_several_roads_counts():
    lines, tags = {**LINES, 3: [(0, 3), (3_000, 3)]}, {**TAGS, 3: {"maxspeed": "70"}}

    assert judged(71, lines=lines, tags=tags) == {(70, TAGGED)}
    assert judged(79, lines=lines, tags=tags) == {(80, TAGGED)}


def test_limit_is_that_of_the_direction_the_kind_of_vehicle_and_the_hour():
    tags = {**TAGS, 1: {"maxspeed:forward": "80", "maxspeed:backward": "50", "maxspeed:hgv:forward": "60"}}
    night = {**TAGS, 1: {"maxspeed": "80", "maxspeed:conditional": "50 @ (22:00-06:00)"}}

    assert judged(71, tags=tags) == {(80, TAGGED)}
    assert judged(71, ON_STREET[::-1], tags=tags) == {(60, TAGGED)}
    assert judged(71, tags=tags, column=Column.TRUCK) == {(60, TAGGED)}
    assert judged(71, tags=night) == {(60, TAGGED)}
    assert judged(71, tags=night, offset_ms=12 * 3_600_000) == {(80, TAGGED)}


def test_trips_and_the_order_of_samples_do_not_change_each_other():
    index, texts = made_roads.built((LINES, TAGS))
    own = made_roads.drives([(0, 600), (3_000, 600)], ON_STREET, ON_STREET[::-1], mps=71 / 3.6)
    offsets = np.zeros(3, np.int64)

    def limits(drives):
        found = matcher.matched(index, drives)
        told = limited.limits_of(index, texts, drives, found, offset_ms=offsets)
        return doubt.given(index, texts, drives, matcher.trace_of(drives), found, told, offset_ms=offsets).kmh

    ahead = limits(own)
    for start, end in zip(own.starts[:-1], own.starts[1:], strict=True):
        for column in (own.time_ms, own.lat, own.lon, own.speed_kmh):
            column[start:end] = column[start:end][::-1].copy()

    assert [set(part) for part in np.split(np.nan_to_num(ahead), own.starts[1:-1])] == [{0}, {80}, {80}]
    assert np.array_equal(limits(own), ahead, equal_nan=True)


@pytest.mark.parametrize("every_ms", [100, 1_000, 2_000])
def test_drive_without_speeds_is_given_those_by_its_positions(every_ms):
    """71 km/h on the street below the expressway, without the speed."""
    index, texts = made_roads.built((LINES, TAGS))
    own = made_roads.drives(ON_STREET, mps=71 / 3.6)
    lat, t = own.lat, np.arange(own.time_ms.size - 1, step=every_ms / 1_000)
    own = replace(
        own,
        starts=np.array([0, t.size]),
        time_ms=own.time_ms[0] + np.round(t * 1_000).astype(np.int64),
        lat=np.interp(t, np.arange(lat.size), lat),
        lon=np.interp(t, np.arange(lat.size), own.lon),
        speed_kmh=np.full(t.size, np.nan),
    )
    mixed = np.random.default_rng(1).permutation(t.size)

    paced = matcher.paced(made_roads.some(own, mixed), Rules())

    known = ~np.isnan(paced.speed_kmh)
    assert np.count_nonzero(known) == pytest.approx(t.size * min(every_ms / 1_000, 1), abs=1)
    assert paced.speed_kmh[known] == pytest.approx(71, abs=0.1)
    found, offsets = matcher.matched(index, paced), np.zeros(1, np.int64)
    told = limited.limits_of(index, texts, paced, found, offset_ms=offsets)
    assert set(told.kmh.tolist()) == {60}
    assert set(
        doubt.given(index, texts, paced, matcher.trace_of(paced), found, told, offset_ms=offsets).kmh[known].tolist()
    ) == {80}


def test_speeds_of_a_device_stay():
    own = made_roads.drives(ON_STREET)

    assert matcher.paced(own, Rules()) is own
