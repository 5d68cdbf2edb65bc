"""A CSV file of any origin, read as rows of text, one row in memory at a time; and writing of small CSV files.

RFC 4180 as spreadsheets write it: UTF-8 with or without byte-order mark, CP949, or an encoding named by the sender;
lines that end in LF or CRLF; cells separated by `,` `;` or tab (the separator with the most known columns in the
header). Rows are numbered as in a spreadsheet: a cell of several lines is one row, empty rows count and are left out.

Other files are refused as a whole, with the line or row: wrong encoding, NUL, a workbook, an unclosed quote, a row of
more than `ROW_MAX` bytes, more than `COLUMNS_MAX` columns. Memory holds at most one row, even of a large or hostile
file.

Latin text may happen to be valid CP949: an accented letter in Windows-1252 and the ASCII letter behind it are read as
one of the syllables that Korean hardly uses: `Škoda` becomes `둲oda` (decision 421). One such syllable beside a Latin
letter is enough. Common characters count between small letters only, because Korean joins them to Latin abbreviations
(`LG전자`, `A동B호`).

Not here: the meaning of the cells (`csv_registrations.py`), the largest size of a file
(`services/imports/registration.py`), text in a workbook, which is typed as text (`services/exports.py`).
"""

import codecs
import csv
import functools
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, StrEnum
from typing import IO, Final, TypeAlias

import msgspec

from tripline import cooperative
from tripline.domain import keys
from tripline.domain.refusals import BadParameter, Word

WORD_PART: Final = 16
"""Maximum number of characters of a word on each side of a place in it."""
_BETWEEN_SMALL: Final = re.compile("[a-z][가-힣一-鿿豈-﫿]{1,4}[a-z]")
"""Hangul syllables or hanja between small Latin letters."""

_BEFORE_FORMULA: Final = r"""((?:^|[;\u061b\t\r\n])(?:"|[^\S\t\r\n])*+)"""
_FORMULA: Final = r"(?='*+[=+\-@\uff1d\uff0b\uff0d\uff20])"
_RUN_BY_SPREADSHEETS: Final = re.compile(_BEFORE_FORMULA + _FORMULA)
"""A formula at the start of a cell, or behind a line end or another locale's separator: with another separator a
spreadsheet reads our quotes as text and splits the cell. East Asian locales also accept full-width signs."""
_MARKED: Final = re.compile(f"{_BEFORE_FORMULA}'{_FORMULA}")

ROW_MAX: Final = 65_536
"""Bytes of one row; every field at its longest, in Korean, takes a third of it."""
COLUMNS_MAX: Final = 100
EMPTY_MAX: Final = 1_000_000
"""Empty rows that are skipped; a spreadsheet has that many."""
SEPARATORS: Final = ",;\t"

Cell: TypeAlias = str | int | float | None
"""A value to write; None leaves the cell empty."""
_BOM: Final = b"\xef\xbb\xbf"


class Foreign(Word, Enum):
    """Kinds of files mistaken for CSV."""

    ARCHIVE = "a workbook or a ZIP archive"
    WORKBOOK = "a workbook"
    PDF = "a PDF document"
    COMPRESSED = "a compressed file"
    UTF16 = "UTF-16 text"


_FOREIGN: Final = {
    b"PK\x03\x04": Foreign.ARCHIVE,
    b"\xd0\xcf\x11\xe0": Foreign.WORKBOOK,
    b"%PDF": Foreign.PDF,
    b"\x1f\x8b": Foreign.COMPRESSED,
    b"\xff\xfe": Foreign.UTF16,
    b"\xfe\xff": Foreign.UTF16,
}
"""First bytes of foreign files."""


class BadFile(BadParameter):
    """The file cannot be read as CSV: its encoding, its quotes, its header."""

    code = "import.bad_file"


class Encoding(StrEnum):
    """The encodings of a file, by the names that senders and Python have for them. A line end is one byte in each."""

    UTF_8 = "utf-8"
    CP949 = "cp949"
    WINDOWS_1250 = "windows-1250"
    WINDOWS_1252 = "windows-1252"


_BLOCK: Final = 2 * ROW_MAX
_ENCODINGS: Final = ", ".join(Encoding)


class _LongRow(Exception):  # noqa: N818  never leaves this module
    """A row has more than `ROW_MAX` bytes."""


class Line(msgspec.Struct, frozen=True):
    """One row with all its cells."""

    number: int
    cells: list[str]


class Table(msgspec.Struct, frozen=True):
    """A file: its header, the known column that each heading names, and the rows under it, read on demand."""

    encoding: Encoding
    row: int
    """Number of the header."""
    header: list[str]
    columns: tuple[str | None, ...]
    lines: Iterator[Line]

    def unknown(self) -> tuple[str, ...]:
        """The headings that name no known column."""
        headings = zip(self.header, self.columns, strict=True)
        return tuple(marked(heading) for heading, column in headings if column is None and keys.key(heading))


def read(
    file: IO[bytes],
    *,
    column_of: Callable[[str], str | None],
    encoding: Encoding | None = None,
    for_matching: bool = False,
) -> Table:
    """Read a file from its beginning, with all its cells. `encoding` is the sender's.

    `column_of` returns the column that a heading names. The separator is the one with the most known columns in the
    header, the first of equal ones. `for_matching`: of equal ones that with the most cells, since a person matches the
    columns, and marks of formulas are removed. Raises `BadFile`, at once or at the row, also when two headings name one
    column.
    """
    encoding = _encoding(file, encoding)

    def cells_with(separator: str) -> tuple[int, int]:
        try:
            _, cells = next(_records(file, encoding, separator), (0, []))
        except BadFile:
            return 0, 0
        return sum(column_of(cell) is not None for cell in cells), len(cells) if for_matching else 0

    records = _records(file, encoding, max(SEPARATORS, key=cells_with))
    first = next(records, None)
    if first is None:
        raise BadFile("empty")
    row, header = first
    if len(header) > COLUMNS_MAX:
        raise BadFile("columns_many", columns=len(header), most=COLUMNS_MAX)
    header = [(unmarked(cell) if for_matching else cell).strip() for cell in header]
    columns = tuple(column_of(heading) for heading in header)
    _require_single(header, columns)
    lines = (Line(number, [unmarked(cell) for cell in cells] if for_matching else cells) for number, cells in records)
    return Table(encoding, row, header, columns, lines)


def named(cells: Sequence[str], columns: Sequence[str | None]) -> dict[str, str]:
    """The text of each known, non-empty column of a row."""
    return {column: cell for column, cell in zip(columns, cells, strict=False) if column is not None and cell}


def has_surplus(cells: Sequence[str], columns: Sequence[str | None]) -> bool:
    """True if a row has texts beyond the header."""
    return any(cell.strip() for cell in cells[len(columns) :])


def written(rows: Iterable[Iterable[Cell]]) -> bytes:
    """The rows as CSV with a byte-order mark; no cell runs as a formula in a spreadsheet."""
    return _BOM + written_on(rows)


def written_on(rows: Iterable[Iterable[Cell]]) -> bytes:
    """Further rows of a file that `written` began."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(
        [marked(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return out.getvalue().encode()


def _encoding(file: IO[bytes], named: Encoding | None) -> Encoding:
    """The encoding of the whole file: the sender's, else UTF-8, else CP949.

    Raises `BadFile` for a file not in that encoding and, without a named encoding, when CP949 puts Korean characters
    inside words of Latin letters.
    """
    file.seek(0)
    start = file.read(4)
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise BadFile("foreign", what=what)
    has_bom = _has_bom(file)
    if named is not None:
        wrong = 1 if has_bom and named is not Encoding.UTF_8 else _first_unreadable(file, named)
        if wrong is not None:
            raise BadFile("encoding_wrong", field="encoding", line=wrong, encoding=named)
        return named
    not_utf8 = _first_unreadable(file, Encoding.UTF_8)
    if not_utf8 is None:
        return Encoding.UTF_8
    if has_bom:
        raise BadFile("not_utf8", line=not_utf8)
    not_cp949 = _first_unreadable(file, Encoding.CP949, check=_require_korean)
    if not_cp949 is not None:
        raise BadFile("encoding", field="encoding", utf8=not_utf8, cp949=not_cp949, encodings=_ENCODINGS)
    return Encoding.CP949


def _has_bom(file: IO[bytes]) -> bool:
    file.seek(0)
    return file.read(len(_BOM)) == _BOM


def _first_unreadable(
    file: IO[bytes], encoding: Encoding, *, check: Callable[[str, int], None] | None = None
) -> int | None:
    """The first line that is not text in this encoding; read in blocks, several times faster than in lines.

    `check` gets the text block by block, with the last characters of the block before, and its first line number.
    """
    file.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)()
    lines, before = 1, ""
    for block in cooperative.each(iter(lambda: file.read(_BLOCK), b"")):
        _check_block(block, lines)
        try:
            text = before + decoder.decode(block)
        except UnicodeDecodeError as error:
            # The decoder retained part of a character of the last block, which contains no line end.
            return lines + error.object[: error.start].count(b"\n")
        if check is not None:
            check(text, lines - before.count("\n"))
        lines += block.count(b"\n")
        before = text[-WORD_PART:]
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return lines
    return None


def _require_korean(text: str, line: int) -> None:
    """Raise `BadFile` when this CP949 text has a word of Latin letters in another encoding."""
    found = misread(text)
    if found is not None:
        at, word = found
        line += text[:at].count("\n")
        raise BadFile("encoding_unsure", field="encoding", line=line, word=word, encodings=_ENCODINGS)


def _check_block(block: bytes, line: int) -> None:
    if b"\0" in block:
        line += block[: block.index(b"\0")].count(b"\n")
        raise BadFile("nul", line=line)
    if len(block) == _BLOCK and b"\n" not in block:
        raise _long_line(line)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The file's lines from its beginning, with their ends, without a byte-order mark."""
    file.seek(len(_BOM) if _has_bom(file) else 0)
    number = 0
    while line := file.readline(ROW_MAX + 1):
        number += 1
        if len(line) > ROW_MAX:
            raise _long_line(number)
        yield line


def _long_line(number: int) -> BadFile:
    return BadFile("line_long", line=number, most=ROW_MAX)


class _Text:
    """Lines as text for the CSV reader, with the size of the present row so far."""

    def __init__(self, file: IO[bytes], encoding: Encoding) -> None:
        self._lines = _lines(file)
        self._encoding = encoding
        self.taken = 0

    def __iter__(self) -> "_Text":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.taken += len(line)
        if self.taken > ROW_MAX:
            raise _LongRow
        return line.decode(self._encoding)


def _records(file: IO[bytes], encoding: Encoding, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not empty, with its number."""
    text = _Text(file, encoding)
    reader = cooperative.each(csv.reader(text, delimiter=separator, strict=True))
    number = empty = 0
    while True:
        text.taken = 0
        number += 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise _not_csv(number, str(error)) from error
        except _LongRow:
            raise BadFile("row_long", row=number, most=ROW_MAX) from None
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield number, cells
        else:
            empty += 1
            if empty > EMPTY_MAX:
                raise BadFile("empty_rows", most=EMPTY_MAX)


def _not_csv(number: int, trouble: str) -> BadFile:
    """The CSV reader's error as a refusal."""
    if "end of data" in trouble:
        return BadFile("quote_open", row=number)
    if "new-line" in trouble:
        return BadFile("line_ends", row=number)
    return BadFile("quote_inside", row=number)


def _require_single(header: Sequence[str], columns: Sequence[str | None]) -> None:
    """Raise `BadFile` when two headings are equal or name the same column."""
    plain = [keys.key(heading) for heading in header]
    named = zip(plain, header, columns, strict=True)
    twice = {name: column or heading for name, heading, column in named if name and plain.count(name) > 1}
    if twice:
        raise BadFile("columns_twice", columns=", ".join(twice.values()))
    same = [heading for heading, column in zip(header, columns, strict=True) if column and columns.count(column) > 1]
    if same:
        raise BadFile("columns_same", columns=", ".join(same))


def misread(text: str) -> tuple[int, str] | None:
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


def marked(text: str) -> str:
    """Mark every place of the text where a spreadsheet could begin a formula with an apostrophe."""
    return _RUN_BY_SPREADSHEETS.sub(r"\1'", text)


def unmarked(text: str) -> str:
    """Reverse `marked`."""
    return _MARKED.sub(r"\1", text)
