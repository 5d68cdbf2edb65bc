"""Routes along the roads of a map: connected, by its directions and limits, without an end where roads have none."""

import itertools
import math
import random

import pytest

from tripline.roads.builder import Builder
from tripline.simulator import motion, roads
from tripline.simulator.network import Edge, Network
from tripline.simulator.roads import Leg
from tripline.simulator.styles import STYLES

UNIT = 10_000_000
STEP_M = 200
PLACES = {
    no: (round(UNIT * (47 + up * STEP_M / 111_195.08)), round(UNIT * (9.5 + right * 0.00263)))
    for no, up, right in [
        (1, 0, 0), (2, 0, 1), (3, 0, 2), (4, 0, 3), (5, 1, 3), (6, 1, 2), (7, 1, 1), (8, 1, 0), (9, 0, 4), (10, 0, 5),
    ]
}  # fmt: skip
"""Nodes of a block of streets, and of one street that leads away from it."""


def network(*ways: tuple[list[int], dict[str, str]]) -> Network:
    builder = Builder()
    for link, (nodes, tags) in enumerate(ways, 1):
        builder.road(link, {"highway": "secondary", **tags}, [(no, *PLACES[no]) for no in nodes])
    return Network(*builder.built(otherwise=""))


ROUND = ([1, 2, 3, 4, 5, 6, 7, 8, 1], {"maxspeed": "50"})
AWAY = ([4, 9, 10], {"maxspeed": "80"})


def legs(of: Network, seed: int, count: int = 200) -> list[Leg]:
    return list(itertools.islice(of.legs(random.Random(seed)), count))


def walked(of: Network, seed: int) -> list[Edge]:
    return list(itertools.islice(of.walk(random.Random(seed)), 500))


@pytest.mark.parametrize("seed", range(5))
def test_legs_join_follow_the_roads_and_have_their_limits(seed: int) -> None:
    found = legs(network(ROUND, AWAY), seed)

    assert len(found) == 200
    assert all(one.line[-1] == other.line[0] for one, other in itertools.pairwise(found))
    assert {place for leg in found for place in leg.line} == {(lat / UNIT, lon / UNIT) for lat, lon in PLACES.values()}
    assert {leg.limit_kmh for leg in found} == {50.0, 80.0}
    beyond = {PLACES[9][1] / UNIT, PLACES[10][1] / UNIT}
    assert all((leg.limit_kmh == 80) == any(place[1] in beyond for place in leg.line) for leg in found)


def test_leg_ends_at_a_sharp_bend() -> None:
    corners = {(PLACES[no][0] / UNIT, PLACES[no][1] / UNIT) for no in (1, 4, 5, 8)}

    found = legs(network(ROUND), 1)

    assert all(corners.isdisjoint(leg.line[1:-1]) for leg in found)
    assert all((abs(leg.turn) == pytest.approx(90, abs=1)) == (leg.line[-1] in corners) for leg in found)


def test_one_way_road_is_driven_along_its_line_only() -> None:
    edges = walked(network(([1, 2, 3, 4, 5, 6, 7, 8, 1], {"oneway": "yes"})), 3)

    assert len(edges) == 500
    assert not any(edge.backward for edge in edges)


def test_road_against_its_line_has_the_limit_of_that_direction() -> None:
    two_limits = network(([1, 2, 3, 4], {"maxspeed:forward": "70", "maxspeed:backward": "30"}))

    found = legs(two_limits, 1, count=40)

    assert {(leg.line[0][1] < leg.line[-1][1], leg.limit_kmh) for leg in found} == {(True, 70.0), (False, 30.0)}


def test_route_turns_back_at_a_dead_end() -> None:
    edges = walked(network(([1, 2, 3, 4], {})), 1)

    assert len(edges) == 500
    assert {(edge.at, edge.to) for edge in edges} == {(0, 1), (1, 2), (2, 3), (3, 2), (2, 1), (1, 0)}


def test_route_ends_where_a_one_way_road_is_cut_off() -> None:
    found = legs(network(([1, 2, 3, 4], {"oneway": "yes"})), 1)

    assert found[-1].line[-1] == (PLACES[4][0] / UNIT, PLACES[4][1] / UNIT)
    assert not found[-1].stop


def test_map_of_side_roads_alone_can_be_driven_slowly() -> None:
    found = legs(network(([1, 2, 3, 4], {"highway": "service", "maxspeed": "50"})), 1)

    assert {(leg.limit_kmh, leg.driven_kmh) for leg in found} == {(50.0, 30.0)}


def test_road_of_unknown_limit_and_one_without_limit_have_a_speed_to_drive() -> None:
    unknown = {(leg.limit_kmh, leg.driven_kmh) for leg in legs(network((ROUND[0], {})), 1)}
    free = {(leg.limit_kmh, leg.driven_kmh) for leg in legs(network((ROUND[0], {"maxspeed": "none"})), 1)}

    assert (unknown, free) == ({(math.inf, 40.0)}, {(math.inf, 120.0)})


@pytest.mark.parametrize("seed", range(5))
def test_calm_vehicle_keeps_the_limits_where_they_change_and_an_aggressive_one_does_not(seed: int) -> None:
    streets = network(ROUND, AWAY)
    over = {}
    for style in ("calm", "aggressive"):
        chance = random.Random(seed)
        drive = list(motion.drive(chance, STYLES[style], streets.legs(chance), seconds=900, period_s=1))
        over[style] = sum(moment.speed_kmh > moment.limit_kmh + 1 for moment in drive)
        steps = [roads.distance_m((a.lat, a.lon), (b.lat, b.lon)) for a, b in itertools.pairwise(drive)]
        assert sum(steps) == pytest.approx(drive[-1].distance_m, rel=0.05)

    assert over["calm"] == 0
    assert over["aggressive"] > 60
