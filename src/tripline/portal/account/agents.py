"""Client names for the session list: browser and system, or program, from the User-Agent header.

The header is the client's own claim; it only helps the owner recognize a session.
"""

import re
from typing import Final

# The order matters: many browsers name others too, for compatibility.
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
    """The browser and system, or the program; None without a printable name."""
    if agent is None:
        return None
    browser = next((name for mark, name in _BROWSERS if mark in agent), None)
    system = next((name for mark, name in _SYSTEMS if mark in agent), None)
    if browser is not None:
        return browser if system is None else f"{browser}, {system}"
    program = _PROGRAM.match(agent)
    return program[0] if program else None
