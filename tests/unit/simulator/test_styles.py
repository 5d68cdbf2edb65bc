"""Styles of driving, judged by the scoring kernel."""

import random
from statistics import mean

import pytest
from tests.support import made_drives

from tripline.scoring import policy
from tripline.scoring.rules import Rules
from tripline.scoring.score import TripScore
from tripline.simulator import motion, roads
from tripline.simulator.styles import STYLES


def score(style: str, seed: int, period_s: float) -> float:
    rng = random.Random(seed)
    legs = roads.made_up(rng, (37.5, 127.0))
    moments = list(motion.drive(rng, STYLES[style], legs, seconds=900, period_s=period_s))
    drive = {
        "speed": [moment.speed_kmh for moment in moments],
        "t": [moment.at_s for moment in moments],
        "lat": [37.5 + moment.distance_m / 111_195.08 for moment in moments],
        "stated_m": moments[-1].distance_m,
    }
    [judged] = policy.judged(made_drives.findings(drive), Rules())
    assert isinstance(judged, TripScore)
    return judged.score


@pytest.mark.parametrize("period_s", [1, 2])
def test_styles_are_told_by_their_scores(period_s: float) -> None:
    calm, ordinary, aggressive = (mean(score(style, seed, period_s) for seed in range(8)) for style in STYLES)

    assert calm > 98
    assert calm > ordinary > 88
    assert aggressive < 80
