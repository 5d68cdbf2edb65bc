"""Headings of the columns of a file: our own names, and usual names in English and Korean (`fields.toml`).

Headings are compared by their keys (`domain/keys.py`) and without marks: `Vehicle No.` is `vehicleNo`, `차량 번호` is
`차량번호`.
"""

import functools
import re
from collections.abc import Iterable
from typing import Final

from tripline.domain import keys
from tripline.language import catalogue
from tripline.language.catalogue import Language

_REMARK: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
"""A unit or remark in parentheses or brackets."""
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")


def shown(column: str, language: Language) -> str:
    """The heading of the column, with its unit: Korean puts no blank before a parenthesis."""
    field = catalogue.of_fields()[column]
    between = "" if language is Language.KOREAN else " "
    return f"{field[language]}{between}({field['unit']})" if "unit" in field else field[language]


def column_of(columns: Iterable[str], heading: str) -> str | None:
    """The column that a heading names; None if it names no such column."""
    return _known(tuple(columns)).get(plain(heading))


def names(column: str) -> tuple[str, ...]:
    """All names of the column."""
    field = catalogue.of_fields()[column]
    return (column, *(field[language] for language in Language), *field["also"])


def plain(heading: str) -> str:
    """The heading in the form for comparison."""
    folded = keys.key(heading)
    return _BETWEEN_WORDS.sub("", _REMARK.sub("", folded)) or _BETWEEN_WORDS.sub("", folded)


@functools.cache
def _known(columns: tuple[str, ...]) -> dict[str, str]:
    return {plain(name): column for column in columns for name in names(column)}
