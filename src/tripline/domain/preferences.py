"""Preferences of an account in the portal.

Not here: languages (`language/catalogue.py`).
"""

from enum import StrEnum


class Theme(StrEnum):
    """How pages look; without one they look as the visitor's system does."""

    LIGHT = "light"
    DARK = "dark"
