"""Files of exports, written a few thousand rows at a time: CSV and workbooks.

Not here: reading the rows (`exports.py`).
"""

import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
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
    """A CSV file in UTF-8 with a byte-order mark, safe from formulas in spreadsheets."""

    def __init__(self) -> None:
        self._write = csv_files.written
        self._ready: list[bytes] = []

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
        """Return no more pieces: all were ready before."""
        return []

    def close(self) -> None:
        """Do nothing: no file is open."""


class Xlsx:
    """A workbook of one sheet, in a temporary folder; text stays text.

    XlsxWriter keeps one row in memory (`constant_memory`) and truncates rows and texts at the limits of a sheet.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tripline-export-")
        self._path = Path(self._folder.name) / "book.xlsx"
        self._book = xlsxwriter.Workbook(str(self._path), {"constant_memory": True, "tmpdir": self._folder.name})
        self._sheet = self._book.add_worksheet()
        self._sheet.freeze_panes(1, 0)
        self._at = 0
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()
        """A cancelled export closes the workbook while a thread may still write rows."""

    def add(self, sheet: Sequence[Sequence[Cell]]) -> None:
        """Write these rows."""
        with self._lock:
            for row, cells in enumerate(cooperative.each(sheet), self._at):
                for column, cell in enumerate(cells):
                    if isinstance(cell, str):
                        self._write_text(row, column, cell)
                    elif cell is not None:
                        self._sheet.write_number(row, column, cell)
            self._at += len(sheet)

    def ready(self) -> list[bytes]:
        """Return no pieces before the end."""
        return []

    def end(self) -> None:
        """End the rows, and assemble the workbook."""
        with self._lock:
            self._book.close()
            self._file = self._path.open("rb")

    def rest(self) -> list[bytes]:
        """The next piece of the file."""
        piece = b"" if self._file is None else self._file.read(PART)
        return [piece] if piece else []

    def close(self) -> None:
        """Remove the folder."""
        with self._lock, self._folder:
            if self._file is None:
                self._book.close()
            else:
                self._file.close()

    def _write_text(self, row: int, column: int, text: str) -> None:
        if text.startswith("<r>") and text.endswith("</r>"):
            # write_string would parse this as the XML of a rich text; as three runs it is escaped.
            self._sheet.write_rich_string(row, column, text[:1], text[1:2], text[2:])
        else:
            self._sheet.write_string(row, column, text)
