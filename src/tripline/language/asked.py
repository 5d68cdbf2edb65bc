"""The language that a request asks for in `Accept-Language` (RFC 9110, 12.5.4)."""

import re
from typing import Final

from tripline.language.catalogue import DEFAULT, Language

_RANGE: Final = re.compile(
    r"\s*([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*|\*)\s*(?:;\s*[qQ]=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?"
)
_OURS: Final = frozenset(Language)
RANGES_MAX: Final = 32
"""Maximum number of ranges read; browsers send fewer than ten."""


def asked(header: str | None) -> Language:
    """The language with the highest quality, the one named first of equals; English when none of ours is requested.

    An unreadable range is left out.
    """
    qualities: dict[str, float] = {}
    for part in (header or "").split(",")[:RANGES_MAX]:
        found = _RANGE.fullmatch(part)
        if found is not None:
            primary = found[1].lower().partition("-")[0]
            qualities[primary] = max(qualities.get(primary, 0.0), float(found[2] or 1))
    rest = qualities.get("*", 0.0)
    named = [each for each in qualities if each in _OURS]
    # After the named ones, the languages that a wildcard may accept; the default is the first of these.
    candidates = [Language(each) for each in named] + [each for each in (DEFAULT, *Language) if each not in named]
    best = max(candidates, key=lambda each: qualities.get(each, rest))
    return best if qualities.get(best, rest) > 0 else DEFAULT
