"""Scoring policies in sentences that say what each weighs, and the numbers in which two differ."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tripline.portal.frame.visitors import Visitor
from tripline.scoring.rules import FAR_OVER, Rules
from tripline.store.scores.policies import Policy

SECONDS: Final = 10
"""Seconds over the limit that a sentence weighs."""
_TEXTS: Final = "portal.policy."


def of(visitor: Visitor, policies: Sequence[Policy]) -> list[tuple[int, list[str]]]:
    """The numbers of these policies, and what they weigh in the visitor's language."""
    return [(each.no, _weighs(visitor, each.rules)) for each in policies]


def differences(now: Rules, then: Rules) -> list[tuple[str, str, str]]:
    """The settings that differ: their names and both values."""
    before, after = _numbers(now), _numbers(then)
    return [(name, before[name], after[name]) for name in before if before[name] != after[name]]


def _weighs(visitor: Visitor, rules: Rules) -> list[str]:
    scoring, style = rules.scoring, rules.style

    def say(name: str, weight: float, **values: str) -> str:
        return visitor.say(_TEXTS + name, left=_left(weight), **values)

    found = [say("harsh", scoring.harsh_weight), say("over", SECONDS * scoring.overspeed_weight, seconds=str(SECONDS))]
    weight = scoring.overspeed_weight
    for times, further in zip(FAR_OVER, (style.over_20_weight, style.over_35_weight), strict=True):
        weight += further
        if further:
            found.append(say("far_over", SECONDS * weight, seconds=str(SECONDS), percent=str(round((times - 1) * 100))))
    if style.braking_weight:
        found.append(say("braking", style.braking_weight, rate=f"{style.braking_kmh_s:g}"))
    if style.cornering_weight:
        found.append(say("corner", style.cornering_weight, lateral=f"{style.lateral_g:g}"))
    found.append(visitor.say(f"{_TEXTS}tolerance.{scoring.tolerance}"))
    limit = scoring.default_limit_kmh
    found.append(visitor.say(_TEXTS + ("default_limit" if limit else "no_limit"), limit=f"{limit:g}"))
    if scoring.added_m:
        found.append(visitor.say(_TEXTS + "added", km=f"{scoring.added_m / 1_000:g}"))
    found.append(visitor.say(_TEXTS + "from_km", km=f"{scoring.min_distance_m / 1_000:g}"))
    return found


def _left(weight: float) -> str:
    """The score of a long drive with one such event each kilometre and nothing else."""
    return str(round(100.0 * math.exp(-weight)))


def _numbers(rules: Rules) -> Mapping[str, str]:
    found = {}
    for section, numbers in msgspec.to_builtins(rules).items():
        for name, value in numbers.items():
            if (section, name) != ("scoring", "grace_s"):
                values = value if isinstance(value, list | tuple) else [value]
                found[f"{section}.{name}"] = ", ".join(
                    f"{each:g}" if not isinstance(each, str) else each for each in values
                )
    return found
