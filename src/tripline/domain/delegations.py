"""Delegations: vehicles lent to companies, rights of people on single vehicles, and the companies one may lend to.

Follows the interface specification (Delegation, rules 1 to 3), client-surface 7.6, 7.7 and 9, gaps G13, H3 and H4.

Not here: who may give or take one back (`access`), rows (`store/delegations.py`), JSON (`wire/rest_relations.py`).
"""

from enum import StrEnum


class UserRole(StrEnum):
    """What a person may do with a vehicle that was delegated to them."""

    DELEGATED_DIRECTOR = "DELEGATED_DIRECTOR"
    """See and control it, set it active or inactive, drive it."""
    DRIVER = "DRIVER"
    """Drive it (H4)."""
