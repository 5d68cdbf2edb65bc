"""Real drives as worse devices would have sent them: the score stays within 2 points, or is refused with its reason."""

import numpy as np
import pytest
from tests.support import dirty, made_drives
from tests.unit.scoring.test_real_drives import recordings

from tripline.scoring import kernel, policy, quality
from tripline.scoring.findings import REPAIRS
from tripline.scoring.rules import Column, EventType, Harsh, Rules
from tripline.scoring.score import NotScored, TripScore

RULES = Rules()
UNITS = list(zip(dirty.REFUSED, ("metres_per_second", "knots", "mph", "nothing"), strict=True))


def judged(drive, rules=RULES):
    found = kernel.findings(made_drives.drives({k: v for k, v in drive.items() if k != "metres"}), rules)
    return policy.judged(found, rules)[0], found


@pytest.fixture(scope="module")
def clean():
    """(drive, its verdict) of those that are scored."""
    drives = [{**each, "t": each["t"] - each["t"][0]} for each in recordings()]
    verdicts = [judged(each)[0] for each in drives]
    return [
        ({**drive, "metres": verdict.distance_m}, verdict)
        for drive, verdict in zip(drives, verdicts, strict=True)
        if isinstance(verdict, TripScore)
    ]


@pytest.mark.parametrize("case", dirty.SAME)
def test_dirty_drive_is_judged_like_the_clean_one(clean, case):
    assert len(clean) == 9
    for drive, expected in clean:
        verdict, _ = judged(dirty.SAME[case](drive))

        assert isinstance(verdict, TripScore)
        assert verdict.score == pytest.approx(expected.score, abs=2)
        assert verdict.distance_m == pytest.approx(expected.distance_m, rel=0.05 if case in dirty.NOISY else 0.02)


@pytest.mark.parametrize(("case", "unit"), UNITS)
def test_speeds_in_another_unit_are_refused_with_the_unit(clean, case, unit):
    for drive, _ in clean:
        verdict, found = judged(dirty.REFUSED[case](drive))

        assert verdict is NotScored.SPEED_IMPLAUSIBLE
        assert quality.likely(float(found.ratio[0])) == unit


def test_ratio_of_real_drives_is_near_one(clean):
    ratios = [float(judged(drive)[1].ratio[0]) for drive, _ in clean]

    assert 0.93 < min(ratios) <= max(ratios) < 1.01


def test_clean_drives_need_no_repair_but_of_a_spike_while_standing(clean):
    repairs = sum(judged(drive)[1].repairs[0] for drive, _ in clean)

    assert dict(zip(REPAIRS, repairs.tolist(), strict=True)) == dict.fromkeys(REPAIRS, 0) | {"lone_speeds": 1}


@pytest.mark.parametrize("step", [2, 3, 4])
def test_mean_score_of_thinned_drives_stays_within_three_points(clean, step):
    thinned = [judged(dirty.thinned(step)(drive))[0].score for drive, _ in clean]

    assert np.mean(thinned) == pytest.approx(np.mean([verdict.score for _, verdict in clean]), abs=3)


@pytest.mark.parametrize("step", [2, 3, 4])
@pytest.mark.parametrize("column", list(Column))
def test_slow_sampling_invents_few_events(clean, column, step):
    def events(drive):
        found = judged({**drive, "column": column})[1].events.type
        return int(np.isin(found, [kind for kind in EventType if kind is not EventType.OVERSPEED]).sum())

    every, few = (sum(events(each(drive)) for drive, _ in clean) for each in (dirty.thinned(1), dirty.thinned(step)))

    assert few <= 1.25 * every + 2


def test_without_the_power_slow_sampling_loses_events(clean):
    """The guard is needed: with thresholds that do not fall at all, a third and more of the events are gone at 4 s."""
    flat = Rules(harsh=Harsh(sampling_exponent=0))

    def accelerations(rules):
        return sum(judged(dirty.thinned(4)({**drive, "column": Column.TRUCK}), rules)[0].accel for drive, _ in clean)

    assert accelerations(flat) < 0.7 * accelerations(RULES)
