"""Styles of driving: the same for the same seed, plausible, and told apart by how often they are harsh."""

import random
from itertools import pairwise

import pytest

from tripline.simulator import motion, roads
from tripline.simulator.motion import Moment
from tripline.simulator.roads import Leg
from tripline.simulator.styles import STYLES


def drive(style: str, seed: int = 1, *, seconds: float = 600, period_s: float = 2) -> list[Moment]:
    rng = random.Random(seed)
    legs = roads.made_up(rng, (37.5, 127.0))
    return list(motion.drive(rng, STYLES[style], legs, seconds=seconds, period_s=period_s))


def harsh(moments: list[Moment]) -> int:
    kinds = motion.START | motion.ACCELERATED | motion.SLOWED | motion.STOPPED
    return sum((moment.flags & kinds).bit_count() for moment in moments)


@pytest.mark.parametrize("style", STYLES)
def test_drive_of_a_seed_is_the_same_each_time_and_another_for_another_seed(style: str) -> None:
    assert drive(style, 7) == drive(style, 7)
    assert drive(style, 7) != drive(style, 8)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("seed", range(5))
def test_drive_goes_from_standing_to_standing_in_about_its_time(style: str, seed: int) -> None:
    moments = drive(style, seed)

    assert moments[0].speed_kmh == moments[-1].speed_kmh == 0
    assert 570 <= moments[-1].at_s <= 630
    assert moments[-1].distance_m > 3_000
    assert max(moment.speed_kmh for moment in moments) < 150


@pytest.mark.parametrize("style", STYLES)
def test_drive_positions_agree_with_its_speeds(style: str) -> None:
    moments = drive(style)

    steps = [roads.distance_m((one.lat, one.lon), (other.lat, other.lon)) for one, other in pairwise(moments)]
    assert max(steps) < 150 / 3.6 * 2 + 5
    assert sum(steps) == pytest.approx(moments[-1].distance_m, rel=0.06)
    assert all(other.at_s - one.at_s >= 1 for one, other in pairwise(moments))


def test_styles_are_harsh_in_their_order() -> None:
    counts = [sum(harsh(drive(style, seed)) for seed in range(6)) for style in STYLES]

    calm, ordinary, aggressive = counts
    assert calm < 6
    assert calm < ordinary < aggressive / 3


def test_drive_along_a_road_that_ends_stops_at_its_end() -> None:
    rng = random.Random(1)
    line = ((37.0, 127.0), roads.moved((37.0, 127.0), 90, 800))

    moments = list(motion.drive(rng, STYLES["calm"], iter([Leg(line, 50.0, False, 0.0)]), seconds=600, period_s=1))

    assert moments[-1].speed_kmh == 0
    assert moments[-1].at_s < 200
    assert roads.distance_m((moments[-1].lat, moments[-1].lon), line[1]) < 30
