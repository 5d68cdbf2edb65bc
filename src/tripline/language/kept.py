"""Reasons that are kept in English, said in the language of whoever reads them.

Why a message or a mail could not be sent is kept with it as one sentence; what a store or a bus lacks is one, too. The
English texts whose keys begin with `kept.` are those sentences; what is none of them was said by another program, and
stays in its words. Why something is so (`{why}`) may be a part of a sentence that is kept, too.

Not here: the sentences where they are made (`adapters/`, `store/database/`, `services/push/`).
"""

import functools
import re
import string
from typing import Final

from tripline.language import catalogue, phrases
from tripline.language.phrases import Phrase

KEYS: Final = "kept."
"""How the keys of the sentences begin."""
_WHY: Final = "why"


def phrase_of(text: str, *, joint: str = "; ") -> Phrase:
    """The kept sentence as a phrase; `joint` stands between it and the phrase before."""
    key = _plain().get(text)
    if key is not None:
        return phrases.phrase(key, joint=joint)
    for key, pattern in _patterns():
        found = pattern.fullmatch(text)
        if found is not None:
            values: dict[str, str | Phrase] = {**found.groupdict()}
            if _WHY in values:
                values[_WHY] = phrase_of(found[_WHY])
            return phrases.phrase(key, joint=joint, **values)
    return phrases.phrase("verbatim", joint=joint, text=text)


@functools.cache
def _plain() -> dict[str, str]:
    """Sentences without values, and their keys."""
    return {text: key for key, text in _sentences() if "{" not in text}


@functools.cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The other sentences, with something for each value."""
    return tuple((key, re.compile(_pattern(text), re.DOTALL)) for key, text in _sentences() if "{" in text)


def _sentences() -> list[tuple[str, str]]:
    texts = catalogue.of(catalogue.DEFAULT)["texts"]
    return [(key, text) for key, text in texts.items() if key.startswith(KEYS)]


def _pattern(text: str) -> str:
    parts = string.Formatter().parse(text)
    return "".join(re.escape(before) + (f"(?P<{name}>.+)" if name else "") for before, name, _, _ in parts)
