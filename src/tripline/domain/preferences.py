"""Preferences of an account in the portal.

Not here: languages (`language/catalogue.py`).
"""

from enum import StrEnum


class Theme(StrEnum):
    """Look of the pages; without one it follows the visitor's system."""

    LIGHT = "light"
    DARK = "dark"
