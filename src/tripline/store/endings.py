"""Searches by the end of a number: an index over the last four characters finds candidates, which are then compared in
full.

People know a vehicle by the four digits that its number ends with, and a telephone or a serial number by its last
digits. Blanks and hyphens are written here and there, so that they do not count; nor does letter case.
"""

from typing import Any, Final

from sqlalchemy import ColumnElement, bindparam, func

from tripline.store.tables.base import LAST, last, lowered

SEARCH: Final = "of_search"
"""The value with the text as it was typed."""
TEXT: Final = "of_ending"
"""The value that holds the searched ending."""
FOUR: Final = "of_last"
"""The value with the last four characters of that."""
NAMES: Final = (SEARCH, TEXT, FOUR)
_NOT_COUNTED: Final = (" ", "-")


def of(text: str | None) -> str | None:
    """The text as ends of numbers are compared; None: it does not end with four digits."""
    bare = (text or "").lower()
    for each in _NOT_COUNTED:
        bare = bare.replace(each, "")
    four = bare[-LAST:]
    return bare if len(four) == LAST and four.isascii() and four.isdecimal() else None


def values(text: str | None) -> tuple[str | None, str | None, str | None]:
    """In the order of `NAMES`."""
    ending = of(text)
    return text, ending, None if ending is None else ending[-LAST:]


def found(number: Any) -> ColumnElement[bool]:
    """Condition on a column's last four characters, which an index can serve."""
    condition: ColumnElement[bool] = last(number) == bindparam(FOUR)
    return condition


def ends(number: Any) -> ColumnElement[bool]:
    """That a column ends with the text, of rows that something else finds."""
    bare: ColumnElement[str] = lowered(number)
    for each in _NOT_COUNTED:
        bare = func.replace(bare, each, "")
    text = bindparam(TEXT, type_=number.type)
    # If the number is shorter than the text, both databases return a part too short to be equal.
    return func.substr(bare, func.length(bare) - func.length(text) + 1) == text
