"""Reasons stored in English, shown in the reader's language.

A message or a mail that could not be sent is stored with the reason as one sentence; problems of a store or a bus are
such sentences, too. Their English texts have keys that begin with `kept.`; a sentence of another program has no key and
stays in its own words. The reason inside a sentence (`{why}`) may be a stored sentence, too.

Not here: making the sentences (`adapters/`, `store/database/`, `services/push/`).
"""

import functools
import re
import string
from typing import Final

from tripline.language import catalogue, phrases
from tripline.language.catalogue import Language
from tripline.language.phrases import Phrase

KEYS: Final = "kept."
_WHY: Final = "why"


def phrase_of(text: str, *, joint: str = "; ") -> Phrase:
    """The stored sentence as a phrase; `joint` separates it from the previous phrase."""
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


def said(text: str, language: Language) -> str:
    """The stored sentence in this language."""
    return phrases.said((phrase_of(text),), language)


@functools.cache
def _plain() -> dict[str, str]:
    """Sentences without values, and their keys."""
    return {text: key for key, text in _sentences() if "{" not in text}


@functools.cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The other sentences, with a pattern for each value."""
    return tuple((key, re.compile(_pattern(text), re.DOTALL)) for key, text in _sentences() if "{" in text)


def _sentences() -> list[tuple[str, str]]:
    texts = catalogue.of(catalogue.DEFAULT)["texts"]
    return [(key, text) for key, text in texts.items() if key.startswith(KEYS)]


def _pattern(text: str) -> str:
    parts = string.Formatter().parse(text)
    return "".join(re.escape(before) + (f"(?P<{name}>.+)" if name else "") for before, name, _, _ in parts)
