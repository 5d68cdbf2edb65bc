"""Drives with the dirt of boxes in the field: the score stays within 2 points, or is refused with its reason."""

from functools import cache

import pytest
from tests.support import box_dirt
from tests.unit.scoring.test_dirty_drives import judged
from tests.unit.scoring.test_real_drives import recordings

from tripline.scoring.rules import Rules, Scoring
from tripline.scoring.score import TripScore

UNHARSHED = Rules(scoring=Scoring(harsh_weight=0))
DRIVES = (0, 3, 6, 8, 10)
"""Five of the real drives: 4 to 52 km, with one to five harsh events."""
UNMET = frozenset(["whole km/h, cut down"])
"""Within a rounding of its threshold a manoeuvre counts or not by chance."""
KINDS = [name for name, kind in box_dirt.KINDS.items() if not kind.wire and name not in UNMET]


@cache
def clean():
    """(drive, its verdict, its score without harsh events)."""
    real = [recordings()[each] for each in DRIVES]
    drives = [{**each, "t": each["t"] - each["t"][0]} for each in real] + [box_dirt.town(1)]
    return [(each, judged(each)[0], judged(each, UNHARSHED)[0].score) for each in drives]


def is_fine(kind, drive, expected, unharshed):
    verdict, _ = judged(kind.make(drive))
    if not isinstance(verdict, TripScore):
        return verdict.value == kind.refused
    right = [expected.score] if kind.harsh else [expected.score, unharshed]
    return not kind.always and any(abs(verdict.score - each) <= 2 for each in right)


@pytest.mark.parametrize("name", KINDS)
def test_dirty_drive_keeps_its_score_or_is_refused(name):
    assert [is_fine(box_dirt.KINDS[name], *each) for each in clean()] == [True] * len(clean())


def test_dirt_is_done_where_the_vehicle_moves_and_nothing_happens():
    for drive, _, _ in clean():
        moments = box_dirt.calm(drive, 6, 10)

        assert len(moments) == 6
        assert min(drive["speed"][at - 8 : at + 18].min() for at in moments) >= 15


def test_town_is_calm_but_for_one_harsh_start():
    _, verdict, _ = clean()[-1]

    assert (verdict.accel, verdict.de_accel) == (1, 0)
    assert verdict.score == pytest.approx(95, abs=1)


@pytest.mark.parametrize("name", box_dirt.KINDS)
def test_each_kind_changes_the_drive_and_leaves_the_clean_one(name):
    changed = 0
    for drive in (clean()[0][0], clean()[-1][0]):
        before = {column: values.tobytes() for column, values in drive.items()}
        made = box_dirt.KINDS[name].make(drive)

        assert {column: values.tobytes() for column, values in drive.items()} == before
        changed += any(made[column].tobytes() != before[column] for column in before)
    assert changed
