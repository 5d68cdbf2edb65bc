"""Names of clients: which browser on which system, or which program, from what a client calls itself.

The text is the client's own claim and serves only its owner, to know a session again.
"""

import re
from typing import Final

# In this order: many browsers name others too, to be served alike.
_BROWSERS: Final = (
    ("Edg/", "Edge"),
    ("Whale/", "Whale"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
_PROGRAM: Final = re.compile(r"[!-~]{1,60}")


def named(agent: str | None) -> str | None:
    """The browser and system, or the program; None for a client that says nothing that can be shown."""
    if agent is None:
        return None
    browser = next((name for mark, name in _BROWSERS if mark in agent), None)
    system = next((name for mark, name in _SYSTEMS if mark in agent), None)
    if browser is not None:
        return browser if system is None else f"{browser}, {system}"
    program = _PROGRAM.match(agent)
    return program[0] if program else None
