"""Settings and the kernel's own defaults are the same numbers."""

import dataclasses

from tripline import config
from tripline.scoring.rules import Rules, Thresholds
from tripline.services.scores.rules import rules


def test_default_settings_are_the_default_rules():
    assert rules(config.Scoring(), config.Harsh()) == Rules()


def test_every_setting_reaches_its_rule():
    changed = rules(
        config.Scoring(
            min_distance_m=1,
            max_median_s=2.5,
            default_limit_kmh=3,
            tolerance="kotsa",
            harsh_weight=4,
            overspeed_weight=5,
            instant_ms=6,
            overspeed_cap_ms=7,
        ),
        config.Harsh(
            **dict.fromkeys(Thresholds.__dataclass_fields__, (9.0, 8.0, 7.0)),
            standing_kmh=8,
            ignored_fixes=9,
            rate_min_ms=10,
            rate_max_ms=11,
            rate_limit_kmh_s=12,
            full_threshold_ms=13,
            speed_window=14,
            phase_edge_kmh_s=15,
        ),
    )

    assert changed == Rules(
        thresholds=Thresholds(**dict.fromkeys(Thresholds.__dataclass_fields__, (9.0, 8.0, 7.0))),
        min_distance_m=1,
        max_median_ms=2_500,
        default_limit_kmh=3,
        tolerance="kotsa",
        harsh_weight=4,
        overspeed_weight=5,
        instant_ms=6,
        over_cap_ms=7,
        standing_kmh=8,
        ignored_fixes=9,
        rate_min_ms=10,
        rate_max_ms=11,
        rate_limit_kmh_s=12,
        full_threshold_ms=13,
        speed_window=14,
        phase_edge_kmh_s=15,
    )
    unchanged = [f.name for f in dataclasses.fields(Rules) if getattr(changed, f.name) == getattr(Rules(), f.name)]
    assert unchanged == []
