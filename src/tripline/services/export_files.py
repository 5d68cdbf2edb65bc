"""Files of exports on their way, written a few thousand rows at a time: CSV, and workbooks.

Not here: which rows (`exports.py`).
"""

import io
import re
import string
import tempfile
import zipfile
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Final

from tripline import cooperative
from tripline.later import Later
from tripline.wire import csv_files
from tripline.wire.csv_files import Cell

if TYPE_CHECKING:
    import xlsxwriter
else:
    xlsxwriter = Later("xlsxwriter")

PART: Final = 2**20
"""Bytes of a piece of a file."""


class Csv:
    """A CSV file on its way, in UTF-8 with a byte-order mark, that no spreadsheet takes for formulas."""

    def __init__(self) -> None:
        self._write = csv_files.written
        self._ready: list[bytes] = []

    def __enter__(self) -> "Csv":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def add(self, sheet: Sequence[Sequence[Cell]]) -> None:
        """Write these rows."""
        self._ready.append(self._write(cooperative.each(sheet)))
        self._write = csv_files.written_on

    def ready(self) -> list[bytes]:
        """The bytes written so far."""
        ready, self._ready = self._ready, []
        return [b"".join(ready)]

    def end(self) -> None:
        """End the rows."""

    def rest(self) -> list[bytes]:
        """Nothing: all was ready before."""
        return []


class Xlsx:
    """A workbook of one sheet on its way, in a file of its own that has no name; text stays text.

    XlsxWriter makes everything but the rows: its own take 65 µs for one of six texts, ours 18.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed at the end of the block around it
        self._book = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED)
        with zipfile.ZipFile(_empty_book()) as empty:
            for name in empty.namelist():
                if name != _SHEET:
                    self._book.writestr(name, empty.read(name))
            head, self._tail = empty.read(_SHEET).split(_ROWS)
        self._sheet = self._book.open(_SHEET, "w", force_zip64=True)
        self._sheet.write(head.replace(_SIZE, b"") + b"<sheetData>")
        self._at = 0

    def __enter__(self) -> "Xlsx":
        return self

    def __exit__(self, *_: object) -> None:
        self._sheet.close()
        self._book.close()
        self._file.close()

    def add(self, sheet: Sequence[Sequence[Cell]]) -> None:
        """Write these rows, up to the limit of a sheet."""
        fitting = sheet[: _ROWS_MAX - self._at]
        rows = [_row(number, cells) for number, cells in enumerate(cooperative.each(fitting), self._at + 1)]
        self._sheet.write("".join(rows).encode())
        self._at += len(fitting)

    def ready(self) -> list[bytes]:
        """Nothing, before the end."""
        return []

    def end(self) -> None:
        """End the rows, and put the workbook together."""
        self._sheet.write(b"</sheetData>" + self._tail)
        self._sheet.close()
        self._book.close()
        self._file.seek(0)

    def rest(self) -> list[bytes]:
        """The next piece of the file."""
        piece = self._file.read(PART)
        return [piece] if piece else []


_SHEET: Final = "xl/worksheets/sheet1.xml"
_ROWS: Final = b"<sheetData/>"
_SIZE: Final = b'<dimension ref="A1"/>'
"""How large XlsxWriter finds the sheet without rows; readers do without it."""
_ROWS_MAX: Final = 1_048_576
"""Of a sheet (ECMA-376, and Excel's own limit), as the number of characters of a text."""
_TEXT_MAX: Final = 32_767
_MARKED: Final = re.compile("[&<>\x00-\x08\x0b-\x1f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")
"""Markup of XML, characters that it forbids, and text like an escape `_xHHHH_` (ECMA-376, ST_Xstring)."""
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_COLUMNS: Final = tuple(a + b for a in ("", *string.ascii_uppercase) for b in string.ascii_uppercase)
"""Names of columns: A to Z, AA to ZZ."""


def _empty_book() -> IO[bytes]:
    """A workbook with one sheet, whose first row stays in sight."""
    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"in_memory": True})
    book.add_worksheet().freeze_panes(1, 0)
    book.close()
    return file


def _row(number: int, cells: Sequence[Cell]) -> str:
    """A row as XML (ECMA-376, 18.3.1.73)."""
    written = [
        f'<c r="{name}{number}" t="inlineStr"><is><t xml:space="preserve">{_text(cell)}</t></is></c>'
        if isinstance(cell, str)
        else f'<c r="{name}{number}"><v>{cell!r}</v></c>'
        for name, cell in zip(_COLUMNS, cells, strict=False)
        if cell is not None
    ]
    return f'<row r="{number}">{"".join(written)}</row>'


def _text(text: str) -> str:
    return _MARKED.sub(_unmarked, text[:_TEXT_MAX])


def _unmarked(found: re.Match[str]) -> str:
    marked = found[0]
    if len(marked) > 1:
        return f"_x005F{marked}"
    return _ENTITIES.get(marked) or f"_x{ord(marked):04X}_"
