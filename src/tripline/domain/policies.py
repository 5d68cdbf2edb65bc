"""Sources of the scoring policy in force for a company.

Not here: the rules of a policy (`scoring/rules.py`), choices (`store/scores/policies.py`).
"""

from enum import StrEnum


class Source(StrEnum):
    """Why a policy is in force for a company."""

    COMPANY = "COMPANY"
    """It was chosen for the company."""
    SERVICE_TYPE = "SERVICE_TYPE"
    """It was chosen for the company's service type."""
    SETTINGS = "SETTINGS"
    """Nothing was chosen."""
