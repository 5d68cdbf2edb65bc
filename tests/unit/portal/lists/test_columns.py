"""Columns of lists: one declaration makes the value on a page and the cell in a file."""

from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from tripline.domain.vehicles import Status
from tripline.language.catalogue import Language
from tripline.portal.lists.columns import Column, Filter, Kind, Words, each_of

ENGLISH, KOREAN = (Words(language, ZoneInfo("Asia/Seoul")) for language in Language)
STATUS = Filter(key="status", values=each_of(Status))
DRIVING = Filter(key="driving", values={"now": True, "not": False})
STATE = Column("state", Kind.CHOICE, "status", choice=STATUS, colours={"ACTIVATED": "good"})
ROW = SimpleNamespace(
    name="Bongo <III>",
    status=Status.ACTIVATED,
    off=Status.DEACTIVATED,
    driving=False,
    fuel="LPG",
    odd="x",
    at_ms=0,
    none=None,
)


@pytest.mark.parametrize(
    ("column", "on_page", "in_file"),
    [
        (Column("name", Kind.TEXT), "Bongo <III>", "Bongo <III>"),
        (Column("n", Kind.CLIP, "none"), None, None),
        (Column("n", Kind.TEXT, lambda row, words: f"{row.fuel} {words.language}"), "LPG en", "LPG en"),
        (STATE, ("good", "Activated"), "Activated"),
        (Column("state", Kind.CHOICE, "off", choice=STATUS, colours=STATE.colours), None, "Deactivated"),
        (Column("driving", Kind.CHOICE, choice=DRIVING), (None, "Not driving"), "Not driving"),
        (Column("fuel", Kind.WORD), "LPG", "LPG"),
        (Column("fuel", Kind.WORD, "odd"), "x", "x"),
        (Column("at", Kind.AGO, "at_ms"), 0, "1970-01-01 09:00:00"),
        (Column("at", Kind.DATE, "none"), None, None),
    ],
)
def test_value_of_a_page_and_cell_of_a_file_come_from_one_declaration(column, on_page, in_file):
    assert column.shower(ENGLISH)(ROW) == on_page
    assert column.writer(ENGLISH)(ROW) == in_file


def test_texts_of_values_are_in_the_language_of_the_reader():
    assert STATE.writer(KOREAN)(ROW) != STATE.writer(ENGLISH)(ROW)
    assert STATE.shower(KOREAN)(ROW) == ("good", STATE.writer(KOREAN)(ROW))


@pytest.mark.parametrize(
    ("column", "picked", "look"),
    [
        (Column("n", Kind.TEXT, look="wide nowrap"), False, "wide nowrap"),
        (Column("n", Kind.TEXT, look="wide nowrap"), True, "nowrap"),
        (Column("n", Kind.NUMBER, look="middle"), False, "number middle"),
        (Column("n", Kind.KM), True, "number"),
    ],
)
def test_numbers_are_aligned_and_picked_columns_are_never_hidden(column, picked, look):
    assert column.look_when(picked=picked) == look
