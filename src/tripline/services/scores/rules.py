"""The settings as the rules the arrays are judged by."""

import msgspec

from tripline import config
from tripline.scoring.rules import Rules, Thresholds


def rules(scoring: config.Scoring, harsh: config.Harsh) -> Rules:
    """The rules of scoring, from its two sections of settings."""
    settings = msgspec.structs.asdict(harsh)
    return Rules(
        thresholds=Thresholds(**{name: settings[name] for name in Thresholds.__dataclass_fields__}),
        instant_ms=scoring.instant_ms,
        ignored_fixes=harsh.ignored_fixes,
        rate_min_ms=harsh.rate_min_ms,
        rate_max_ms=harsh.rate_max_ms,
        rate_limit_kmh_s=harsh.rate_limit_kmh_s,
        full_threshold_ms=harsh.full_threshold_ms,
        standing_kmh=harsh.standing_kmh,
        phase_edge_kmh_s=harsh.phase_edge_kmh_s,
        speed_window=harsh.speed_window,
        default_limit_kmh=scoring.default_limit_kmh,
        tolerance=scoring.tolerance,
        over_cap_ms=scoring.overspeed_cap_ms,
        max_median_ms=round(scoring.max_median_s * 1_000),
        min_distance_m=scoring.min_distance_m,
        harsh_weight=scoring.harsh_weight,
        overspeed_weight=scoring.overspeed_weight,
    )
