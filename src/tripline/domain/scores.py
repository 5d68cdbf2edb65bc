"""Scores: the reasons for a trip without one, and the sources of the policy in force for a company."""

from enum import Enum, StrEnum

from tripline.domain.refusals import Word


class WhyNot(Word, Enum):
    """Why a trip has no score, as stored with it."""

    TOO_SHORT = "too_short"
    SPARSE = "sparse"
    SPEED_IMPLAUSIBLE = "speed_implausible"
    NO_POSITION = "no_position"
    CLOCK = "clock"
    DEVICE_TYPE = "device_type"
    PARKING = "parking"
    UNMAPPED = "unmapped"
    ANNULLED = "annulled"
    DUPLICATE = "duplicate"
    NO_SAMPLES = "no_samples"
    UNKNOWN = "unknown"


def why_not(kept: str) -> WhyNot:
    """The reason stored with a trip; `UNKNOWN` for one from another version."""
    return WhyNot(kept) if kept in set(WhyNot) else WhyNot.UNKNOWN


class Source(StrEnum):
    """Why a policy is in force for a company."""

    COMPANY = "COMPANY"
    """It was chosen for the company."""
    SERVICE_TYPE = "SERVICE_TYPE"
    """It was chosen for the company's service type."""
    SETTINGS = "SETTINGS"
    """Nothing was chosen."""
