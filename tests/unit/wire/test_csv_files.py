import csv
import io
import tracemalloc
from typing import NamedTuple

import pytest

from tripline.domain import keys
from tripline.language.catalogue import sentence
from tripline.wire import csv_files
from tripline.wire.csv_files import Encoding

KNOWN = {"vehicleno": "vehicleNo", "mileage": "mileage"}
HEADER = b"vehicleNo,mileage\n"
NAME_IT = "Parameter 'encoding' must name the encoding of the file (utf-8, cp949, windows-1250, windows-1252)"
COLUMN_OF = {"vehicleNo": "vehicleNo", "plate": "vehicleNo", "mileage": "mileage"}.get


class Row(NamedTuple):
    """The known texts of a row."""

    number: int
    cells: dict[str, str]
    surplus: bool


def column_of(heading):
    return KNOWN.get(keys.key(heading))


def read(content, encoding=None):
    table = csv_files.read(io.BytesIO(content), column_of=column_of, encoding=encoding)
    of = table.columns
    return table, [
        Row(line.number, csv_files.named(line.cells, of), csv_files.has_surplus(line.cells, of)) for line in table.lines
    ]


def table(content):
    return [(row.number, row.cells) for row in read(content)[1]]


def refusal(content):
    with pytest.raises(csv_files.BadFile) as refused:
        read(content)
    return sentence(refused.value)


class Endless(io.RawIOBase):
    """A file of 10 GB that nobody has: one pattern over and over."""

    SIZE = 10 * 2**30

    def __init__(self, start, pattern):
        self.at = 0
        self.start, self.pattern = start, pattern

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=io.SEEK_SET):
        assert (offset, whence) == (0, io.SEEK_SET)
        self.at = 0
        return 0

    def readinto(self, buffer):
        size = min(len(buffer), self.SIZE - self.at)
        if self.at < len(self.start):
            size = min(size, len(self.start) - self.at)
            buffer[:size] = self.start[self.at : self.at + size]
        else:
            repeated = self.pattern * (size // len(self.pattern) + 1)
            buffer[:size] = repeated[:size]
        self.at += size
        return size


def test_names_in_any_order_letter_case_and_blanks_are_columns():
    header, rows = read(b" MILEAGE ,vehicleno\n5,A1\n")

    assert (header.encoding, header.row, header.header) == (Encoding.UTF_8, 1, ["MILEAGE", "vehicleno"])
    assert (header.columns, header.unknown()) == (("mileage", "vehicleNo"), ())
    assert rows == [Row(2, {"mileage": "5", "vehicleNo": "A1"}, surplus=False)]


@pytest.mark.parametrize("heading", ["vehicle No", "vehicleNo\u200b", "\u00a0VEHICLENO", "\ufeffvehicleNo"])
def test_headings_are_compared_without_blanks_and_invisible_characters(heading):
    content = f"mileage,{heading}\n5,A1\n".encode()

    assert read(content)[0].columns == ("mileage", "vehicleNo")
    assert refusal(f"vehicleNo,mileage,{heading}\n".encode()) == "The header names these columns twice: vehicleNo."


def test_unknown_columns_are_named_and_their_cells_left_out():
    header, rows = read(b"vehicleNo,colour,mileage,,=cmd\nA1,red,5,x,y\n")

    assert header.unknown() == ("colour", "'=cmd")
    assert rows == [Row(2, {"mileage": "5", "vehicleNo": "A1"}, surplus=False)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp949"])
def test_h17_korean_text_is_read_in_every_encoding(encoding):
    content = "vehicleNo,mileage\r\n12가3456,5\r\n34나5678,6\r\n".encode(encoding)

    assert table(content) == [
        (2, {"vehicleNo": "12가3456", "mileage": "5"}),
        (3, {"vehicleNo": "34나5678", "mileage": "6"}),
    ]


def test_text_that_is_utf8_in_one_line_and_cp949_in_another_is_refused_by_line():
    content = HEADER + "가,1\n".encode() + "하,1\n".encode("cp949") + "글,1\n".encode()

    assert refusal(content) == f"{NAME_IT}: it is neither UTF-8 (line 3) nor CP949 (line 2)."


@pytest.mark.parametrize(
    "text",
    [
        "12가3456",
        "LG전자",
        "BMW코리아",
        "KT와LG",
        "A동B호",
        "현대Ioniq",
        "신형suv",
        "a 뷁 b",
        "찦차",
        "똠방각하",
        "가a나",
    ],
)
def test_korean_text_beside_latin_letters_is_cp949(text):
    header, rows = read(HEADER + f"{text},1\n".encode("cp949"))

    assert (header.encoding, rows[0].cells["vehicleNo"]) == (Encoding.CP949, text)


@pytest.mark.parametrize(
    ("text", "encoding", "word"),
    [
        ("Škoda", "windows-1252", "둲oda"),
        ("Škoda", "windows-1250", "둲oda"),
        ("depot’s", "windows-1252", "depot뭩"),
        ("Žižkov", "windows-1250", "럌엒ov"),
        ("Größe", "windows-1252", "Gr秤e"),
        ("DEPOT’S", "windows-1252", "DEPOT뭆"),
    ],
)
def test_text_of_latin_letters_that_is_read_as_korean_asks_for_its_encoding(text, encoding, word):
    content = HEADER + b"A,1\n" + f"{text},1\n".encode(encoding)

    assert refusal(content) == f"{NAME_IT}: read as CP949, line 3 has the word {word}."
    assert read(content, Encoding(encoding))[1][1].cells["vehicleNo"] == text
    assert read(content, Encoding.CP949)[1][1].cells["vehicleNo"] == word


@pytest.mark.parametrize("behind", range(-3, 4))
def test_word_across_two_blocks_asks_for_its_encoding(behind):
    word = "depot’s,1\n".encode("windows-1252")
    lines = b"A,1\n" * (csv_files._BLOCK // 4 + 8)
    at = csv_files._BLOCK - word.index(b"\x92") + behind
    content = HEADER + lines[: at - len(HEADER)]
    content = content[: content.rindex(b"\n") + 1]
    content += b" " * (at - len(content)) + word

    assert "has the word depot뭩" in refusal(content)


@pytest.mark.parametrize(
    ("content", "encoding", "line"),
    [
        (HEADER + "가,1\n".encode("cp949"), Encoding.UTF_8, 2),
        (HEADER + b"A,1\n\x81,1\n", Encoding.WINDOWS_1252, 3),
        (b"\xef\xbb\xbf" + HEADER, Encoding.CP949, 1),
    ],
)
def test_file_that_is_not_in_the_named_encoding_is_refused_by_line(content, encoding, line):
    with pytest.raises(csv_files.BadFile) as refused:
        read(content, encoding)

    assert refused.value.case == "encoding_wrong"
    assert refused.value.field == "encoding"
    assert refused.value.values["line"] == line


def test_first_heading_behind_a_byte_order_mark_may_be_quoted():
    assert table(b'\xef\xbb\xbf"vehicleNo","mileage"\nA,1\n') == [(2, {"vehicleNo": "A", "mileage": "1"})]


def test_text_with_byte_order_mark_that_is_not_utf8_is_refused_by_line():
    content = b"\xef\xbb\xbf" + HEADER + "하,1\n".encode("cp949")

    assert refusal(content) == "The file begins as UTF-8, but line 2 is not."


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separator_is_the_one_that_makes_the_header_known(separator):
    content = f"vehicleNo{separator}mileage\nA,B{separator}1\n".replace("A,B", '"A,B"').encode()

    assert table(content) == [(2, {"vehicleNo": "A,B", "mileage": "1"})]


def test_quoted_cells_hold_separators_quotes_and_line_ends():
    assert table(b'vehicleNo,mileage\r\n"a, ""b""\r\nc",1\r\nd,2\r\n') == [
        (2, {"vehicleNo": 'a, "b"\r\nc', "mileage": "1"}),
        (3, {"vehicleNo": "d", "mileage": "2"}),
    ]


def test_empty_rows_are_left_out_and_counted():
    content = b"\n" + HEADER + b"\nA,1\n , \n,\nB,2"

    assert table(content) == [(4, {"vehicleNo": "A", "mileage": "1"}), (7, {"vehicleNo": "B", "mileage": "2"})]


def test_cells_are_not_trimmed_and_empty_ones_are_not_there():
    assert table(HEADER + b" A ,\n") == [(2, {"vehicleNo": " A "})]


def test_row_shorter_than_the_header_lacks_its_last_cells():
    assert table(HEADER + b"A\n") == [(2, {"vehicleNo": "A"})]


def test_row_longer_than_the_header_has_a_surplus_unless_it_is_empty():
    _, rows = read(HEADER + b"A,1,,\nB,2,3\n")

    assert [row.surplus for row in rows] == [False, True]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b" , \n"])
def test_empty_file_is_refused(content):
    assert refusal(content) == "The file is empty; its first row must name the columns."


def test_empty_rows_up_to_the_bound_are_passed_over_and_one_more_is_refused(monkeypatch):
    monkeypatch.setattr(csv_files, "EMPTY_MAX", 3)

    assert table(HEADER + b"\n\n,\nA,1\n") == [(5, {"vehicleNo": "A", "mileage": "1"})]
    assert refusal(HEADER + b"\n\n,\nA,1\n\n") == "The file has more than 3 empty rows."


def test_character_cut_by_a_block_is_read_and_a_cut_off_end_is_refused():
    lines = "가,1\n".encode() * csv_files.ROW_MAX

    assert len(table(HEADER + lines)) == csv_files.ROW_MAX
    assert refusal(HEADER + lines + "가".encode()[:2]) == (
        f"{NAME_IT}: it is neither UTF-8 (line 65538) nor CP949 (line 2)."
    )


def test_column_named_twice_is_refused():
    assert refusal(b"vehicleNo,mileage,VEHICLENO\n") == "The header names these columns twice: vehicleNo."


def test_columns_up_to_the_bound_are_read_and_one_more_is_refused():
    at = ",".join(["vehicleNo", *(f"c{number}" for number in range(csv_files.COLUMNS_MAX - 1))])

    assert len(read(f"{at}\n".encode())[0].unknown()) == 99
    assert refusal(f"{at},one\n".encode()) == "The header has 101 columns; the maximum is 100."


def test_a_thousand_columns_are_refused():
    header = ",".join(f"c{number}" for number in range(1000))

    assert refusal(f"{header}\n".encode()) == "The header has 1000 columns; the maximum is 100."


def test_line_up_to_the_bound_is_read_and_one_byte_more_is_refused():
    room = csv_files.ROW_MAX - len(b"A,1\n")

    assert table(HEADER + b"A" * (room + 1) + b",1\n")[0][1]["mileage"] == "1"
    assert refusal(HEADER + b"A" * (room + 2) + b",1\n") == (
        "Line 2 is longer than 65,536 bytes: this is not a CSV file of registrations."
    )


def test_row_of_many_lines_is_bounded_too():
    assert refusal(HEADER + b'"' + (b"x\n" * (csv_files.ROW_MAX // 2)) + b'",1\n') == (
        "Row 2 has more than 65,536 bytes; a quote is probably opened and never closed."
    )


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"PK\x03\x04rest", "a workbook or a ZIP archive"),
        (b"\xd0\xcf\x11\xe0rest", "a workbook"),
        (b"%PDF-1.7", "a PDF document"),
        (b"\x1f\x8b\x08", "a compressed file"),
        ("vehicleNo,mileage\n".encode("utf-16"), "UTF-16 text"),
    ],
)
def test_files_of_another_kind_are_refused_by_their_first_bytes(start, what):
    assert refusal(start) == f"This is {what}; save it as CSV (UTF-8) and send that."


def test_nul_is_refused_by_line():
    assert refusal(HEADER + b"A\0,1\n") == (
        "Line 2 contains a NUL byte: the file is not text, or it is UTF-16; save it as CSV (UTF-8)."
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'"A,1\nB,2\n', "Row 2 is not CSV: a quote is opened and never closed."),
        (b"A,1\rB,2\n", "Row 2 is not CSV: lines must end in LF or CRLF."),
        (
            b'"A"b,1\n',
            "Row 2 is not CSV: a quote is in the middle of a cell; quote the whole cell and double the quotes inside.",
        ),
    ],
)
def test_text_that_is_not_csv_is_refused_by_row(content, why):
    assert refusal(HEADER + content) == why


@pytest.mark.parametrize(
    ("start", "pattern"),
    [(b"", b"a"), (HEADER, b"x"), (HEADER + b'"', b"y\n"), (b"", b","), (HEADER, b"\0")],
    ids=["one line", "a line after the header", "an open quote", "separators", "NUL"],
)
def test_ten_gigabytes_of_nonsense_are_refused_in_little_memory(start, pattern, monkeypatch):
    if b"\n" in pattern:  # is read to its end once, to learn its encoding
        monkeypatch.setattr(Endless, "SIZE", 8 * 2**20)
    file = io.BufferedReader(Endless(start, pattern))
    tracemalloc.start()

    with pytest.raises(csv_files.BadFile):
        list(csv_files.read(file, column_of=column_of).lines)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 2**20


def test_written_file_is_read_back_and_runs_nothing():
    content = csv_files.written([["vehicleNo", "mileage"], ["=1+1", "5"], ["@x", "6"], ['q"uo,te', "7"]])

    assert [cells["vehicleNo"] for _, cells in table(content)] == ["'=1+1", "'@x", 'q"uo,te']


def whole_table(content):
    found = csv_files.read(io.BytesIO(content), column_of=COLUMN_OF, for_matching=True)
    return found.header, [(line.number, line.cells) for line in found.lines]


def test_table_has_every_column_and_cell():
    assert whole_table(b" vehicleNo ,colour,\nA,red\n\nB,,x,y\n") == (
        ["vehicleNo", "colour", ""],
        [(2, ["A", "red"]), (4, ["B", "", "x", "y"])],
    )


@pytest.mark.parametrize(
    ("content", "header"),
    [
        (b"vehicleNo;a,b;mileage\n", ["vehicleNo", "a,b", "mileage"]),
        (b"nothing;of\tours\n", ["nothing", "of\tours"]),
        (b"a;b;c,d\n", ["a", "b", "c,d"]),
    ],
)
def test_separator_of_a_table_is_that_of_known_columns_and_else_of_most_cells(content, header):
    assert whole_table(content)[0] == header


def test_mark_of_what_was_downloaded_is_taken_off():
    cells = ["=1", "+2", "-3", "@4", "plain", "'quoted'", "'"]

    assert whole_table(csv_files.written([list("abcdefg"), cells]))[1] == [(2, cells)]


FORMULAS = [
    ("=1+1", "'=1+1"),
    ("+82 10", "'+82 10"),
    (" @x", " '@x"),
    ("＝1+1", "'＝1+1"),
    ("x;=cmd|' /C calc'!A0", "x;'=cmd|' /C calc'!A0"),
    ("x; -1;@y", "x; '-1;'@y"),
    ("x\t=cmd", "x\t'=cmd"),
    ("\t=cmd", "\t'=cmd"),
    ("x\n+1\r\n=2", "x\n'+1\r\n'=2"),
    ("x؛=cmd", "x؛'=cmd"),
    ('x;"=cmd|0!A0;y', "x;\"'=cmd|0!A0;y"),
    ("x;'=already", "x;''=already"),
    ("'=already", "''=already"),
    ("a-b=c@d", "a-b=c@d"),
    ("x;y=1", "x;y=1"),
    ("it's; 'quoted'", "it's; 'quoted'"),
    ("", ""),
]
"""Texts, and how a file holds them: no reader that splits cells at `;`, tab or a line end finds a formula."""


@pytest.mark.parametrize(("text", "held"), FORMULAS)
def test_formula_behind_any_separator_of_a_locale_is_marked_in_a_file(text, held):
    _, rows = read(csv_files.written([["vehicleNo", "mileage"], [text, "5"]]))

    assert rows[0].cells.get("vehicleNo", "") == held


@pytest.mark.parametrize("separator", [",", ";", "\t", "؛"])
def test_no_spreadsheet_of_any_locale_finds_a_formula_in_a_written_file(separator):
    content = csv_files.written([[text for text, _ in FORMULAS]] * 2).decode("utf-8-sig")

    cells = [cell for row in csv.reader(io.StringIO(content, newline=""), delimiter=separator) for cell in row]

    assert [cell for cell in cells if cell.lstrip(' "').startswith(tuple("=+-@＝"))] == []


@pytest.mark.parametrize("text", [text for text, _ in FORMULAS if text])
def test_marked_text_comes_back_as_it_was(text):
    assert whole_table(csv_files.written([["a", "b"], [text, "1"]]))[1] == [(2, [text, "1"])]


def test_long_runs_of_blanks_and_separators_are_marked_in_time():
    text = "\t" * 100_000 + " " * 100_000 + "'" * 100_000 + ";" * 100_000

    assert csv_files.marked(text) == text


@pytest.mark.parametrize(
    ("header", "case", "columns"),
    [
        ("vehicleNo,mileage,VEHICLENO", "columns_twice", "VEHICLENO"),
        ("vehicleNo,mileage,colour, Colour ", "columns_twice", "Colour"),
        ("vehicleNo,mileage,plate", "columns_same", "vehicleNo, plate"),
    ],
)
def test_table_with_a_repeated_column_is_refused(header, case, columns):
    with pytest.raises(csv_files.BadFile) as refused:
        whole_table(header.encode() + b"\nA,1,B,C\n")

    assert (refused.value.case, refused.value.values) == (case, {"columns": columns})


def test_table_may_have_several_columns_without_a_name():
    assert whole_table(b"vehicleNo,, \nA,1,2\n")[0] == ["vehicleNo", "", ""]


def test_table_without_a_header_or_with_too_many_columns_is_refused():
    for content, case in ((b"", "empty"), (b"," * 100 + b"x\n", "columns_many")):
        with pytest.raises(csv_files.BadFile) as refused:
            whole_table(content)
        assert refused.value.case == case
