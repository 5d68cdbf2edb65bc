"""Marks for spreadsheets: an apostrophe before each text in a CSV file that one could run as a formula.

Not here: writing the file (`csv_files.py`); text in a workbook is typed as text (`services/exports.py`).
"""

import re
from typing import Final

_BEFORE_FORMULA: Final = r"""((?:^|[;\u061b\t\r\n])(?:"|[^\S\t\r\n])*+)"""
_FORMULA: Final = r"(?='*+[=+\-@\uff1d\uff0b\uff0d\uff20])"
_RUN_BY_SPREADSHEETS: Final = re.compile(_BEFORE_FORMULA + _FORMULA)
"""A formula at the start of a cell, or behind a line end or another locale's separator: with another separator a
spreadsheet reads our quotes as text and splits the cell. East Asian locales also accept full-width signs."""
_MARKED: Final = re.compile(f"{_BEFORE_FORMULA}'{_FORMULA}")


def marked(text: str) -> str:
    """Mark every place of the text where a spreadsheet could begin a formula with an apostrophe."""
    return _RUN_BY_SPREADSHEETS.sub(r"\1'", text)


def unmarked(text: str) -> str:
    """Reverse `marked`."""
    return _MARKED.sub(r"\1", text)
