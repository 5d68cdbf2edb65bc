"""Golden drives: places of the shipped extract where a matcher is easily wrong, and the ways that it has to find.

Not here: what the extract lacks, motorways and their ramps (`tests/unit/roads/test_matcher.py`).
"""

from itertools import groupby

import pytest
from tests.support.real_roads import NEAR_S, driven, joined, straight


def sequence(ways):
    """Each way once, as often as it is entered."""
    return [way for way, _ in groupby(ways)]


SEEDS = pytest.mark.parametrize("seed", range(5))


@SEEDS
@pytest.mark.parametrize(("main", "beside"), [(28712197, 408831222), (474635907, 125947372), (142591590, 329659520)])
def test_main_road_with_a_road_beside_it(main, beside, seed):
    """Landstrasse and a service road, Rheindamm and a track, Bergstrasse and a street of houses: 8 to 30 m apart."""
    drive = driven(main, seed=seed)

    assert drive.mistakes() == []
    assert beside not in drive.found()


@SEEDS
@pytest.mark.parametrize("beside", [408831222, 329659520])
def test_road_beside_a_main_road(beside, seed):
    assert driven(beside, mps=8.0, seed=seed).mistakes() == []


@SEEDS
def test_carriageways_of_a_road_are_told_by_direction(seed):
    """Landstrasse, one way each; nobody drives against them."""
    there, other = 431056546, 246465670

    assert set(driven(there, seed=seed).found()) == {there}
    assert set(driven(other, seed=seed).found()) == {other}


@SEEDS
@pytest.mark.parametrize(("above", "below"), [(299423917, 197064429), (299423917, 33683275), (160532475, 474635907)])
def test_bridge_and_the_road_below_it(above, below, seed):
    """Eschner Strasse above Schaaner Strasse and a lane, Gagoz above Rheindamm: they share no node."""
    assert below not in driven(above, seed=seed).found()
    assert above not in driven(below, seed=seed).found()


@SEEDS
@pytest.mark.parametrize(
    "ways",
    [
        (246438475, 497522196, 408862852, 497522197, 408862844, 408862845),
        (246438475, 497522196, 408862852, 497522200, 497522201, 497522199),
        (408862845, 408862853, 497522199),
    ],
    ids=["straight on", "left", "past it"],
)
def test_roundabout_and_the_ramp_past_it(ways, seed):
    """Hiltikreisel: straight on, left, that is three quarters around it, and right by the ramp 20 m beside it."""
    drive = driven(*ways, mps=7.0, seed=seed)

    assert drive.mistakes() == []
    assert [way for way in sequence(drive.found()) if way not in ways] == []


@SEEDS
def test_ramp_beside_a_roundabout_of_another_road(seed):
    """Zollstrasse: the ramp leads past Kreisel Rheindamm and its four arms."""
    ways = 366844342, 238659694, 366844340, 25240553
    drive = driven(*ways, mps=9.0, seed=seed)

    assert drive.mistakes() == []
    assert sequence(drive.found()) == list(ways)


@SEEDS
def test_tunnel_without_positions(seed):
    """Stegertunnel, 751 m: nothing from the first metre to the last."""
    whole = driven(428689740, 35939585, 27345755, seed=seed)
    inside = [at for at, way in enumerate(whole.way) if way == 35939585]

    drive = whole.without(inside[0], inside[-1] + 1)

    assert sequence(drive.way) == [428689740, 27345755]
    assert drive.mistakes() == []


@SEEDS
@pytest.mark.parametrize("silent_s", [30, 60, 90])
def test_gap_in_a_drive(silent_s, seed):
    """Landstrasse from Im Arg on: the drive is in the same way before and behind the gap."""
    drive = driven(239794985, 246465670, 140678736, mps=9.0, seed=seed)

    assert drive.mistakes() == []
    assert drive.without(30, 30 + silent_s).mistakes() == []


@SEEDS
def test_turning_round_on_a_road(seed):
    there, back = driven(28712197, seed=seed), driven(28712197, seed=seed, back=True)
    drive = joined(there, back)

    assert set(drive.found()) == {28712197}
    backward = drive.backward()
    assert len(set(backward[: len(there.way) - NEAR_S])) == len(set(backward[len(there.way) + NEAR_S :])) == 1
    assert backward[0] != backward[-1]


@SEEDS
def test_field_beside_a_road_has_no_road(seed):
    """Half a minute over a field 120 m beside Noflerstrasse, and back onto it."""
    road = driven(25627360, seed=seed)
    field = road.part(60, 90).aside(120.0)
    first, last = road.part(0, 60), road.part(90, 130)

    drive = joined(first, straight(first.end(), field.begin()), field, straight(field.end(), last.begin()), last)

    assert {found for _, _, found in drive.mistakes()} <= {25627360}
    assert set(drive.found()[len(first.way) + 6 : len(first.way) + 34]) == {None}


@SEEDS
def test_drive_over_the_edge_of_the_map(seed):
    """Over the bridge on the Rhine and on, where the extract ends."""
    bridge = driven(624164936, 624164935, 624164937, seed=seed)
    drive = joined(bridge, straight(bridge.end(), (47.165, 9.480)))

    assert bridge.mistakes() == []
    assert set(drive.found()[-30:]) == {None}
