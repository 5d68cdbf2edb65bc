"""Beginnings of names in any letter case, as ranges that an index in the order of code points can find.

"sn-09" begins "SN-09", "Sn-09", "sN-09" and "sn-09": four ranges. Digits, signs and Hangul have one form, so that a
number or a Korean name is one range. Letters beyond the first few stay in the range of those before, and the rows in it
are compared one by one.
"""

from functools import lru_cache
from typing import Final

MOST: Final = 32
"""Ranges at most, five letters of two forms: finding out that one is empty takes 40 µs."""
LAST: Final = "\U0010ffff"
"""Behind every character that a name has."""
MORE: Final = {"i": "İ", "k": "\u212a", "ß": "ẞ", "å": "\u212b", "θ": "ϴ", "ω": "\u2126"}
"""Other characters with this lower case: signs, and capitals with a second lower-case form."""

KEPT: Final = 4_096
"""Number of characters with cached forms; a search may contain any of Unicode's million characters."""


@lru_cache(KEPT)
def forms(character: str) -> tuple[str, ...]:
    """The characters that are this one in lower case, or whose lower case begins with it."""
    found = {character, character.upper(), character.title(), MORE.get(character, character)}
    return tuple(sorted(form for form in found if len(form) == 1))


def ranges(search: str) -> tuple[tuple[str, str], ...]:
    """Ranges of names, the ends not in them, that hold every name that begins with the text; at most `MOST`."""
    found = [""]
    for character in search.lower():
        cases = forms(character)
        if len(found) * len(cases) > MOST:
            break
        found = [start + form for start in found for form in cases]
    return tuple((start, start + LAST) for start in found)
