"""Latin text accidentally read as CP949: Korean characters inside words of Latin letters (decision 421).

An accented letter in Windows-1252 and the ASCII letter behind it are read as one of the syllables that Korean hardly
uses: `Škoda` becomes `둲oda`. One such syllable beside a Latin letter is enough. Common characters count between small
letters only, because Korean joins them to Latin abbreviations (`LG전자`, `A동B호`).
"""

import functools
import re
from typing import Final

WORD_PART: Final = 16
"""Maximum number of characters of a word on each side of a place in it."""
_BETWEEN_SMALL: Final = re.compile("[a-z][가-힣一-鿿豈-﫿]{1,4}[a-z]")
"""Hangul syllables or hanja between small Latin letters."""


def first(text: str) -> tuple[int, str] | None:
    """Return the place of the first character that was misread, and the word around it."""
    at = _place(text)
    if at is None:
        return None
    begin = end = at
    while begin and at - begin < WORD_PART and text[begin - 1].isalpha():
        begin -= 1
    while end < len(text) and end - at < WORD_PART and text[end].isalpha():
        end += 1
    return at, text[begin:end]


def _place(text: str) -> int | None:
    for each in _rare_syllables().finditer(text):
        at = each.start()
        if _is_latin(text[at - 1 : at]) or _is_latin(text[at + 1 : at + 2]):
            return at
    between = _BETWEEN_SMALL.search(text)
    return None if between is None else between.start() + 1


def _is_latin(character: str) -> bool:
    return character.isascii() and character.isalpha()


@functools.cache
def _rare_syllables() -> re.Pattern[str]:
    """Matches a syllable of CP949 that KS X 1001 does not have."""
    common = bytes(each for lead in range(0xB0, 0xC9) for trail in range(0xA1, 0xFF) for each in (lead, trail))
    rare = set(map(chr, range(0xAC00, 0xD7A4))).difference(common.decode("cp949"))
    return re.compile(f"[{''.join(sorted(rare))}]")
