"""Headings in both languages name the columns of a file."""

import unicodedata

import pytest

from tripline.language import headings
from tripline.language.catalogue import Language
from tripline.services.imports import kinds as import_kinds

VEHICLES = tuple(import_kinds.KINDS["vehicles"].sheet.columns)


@pytest.mark.parametrize("kind", list(import_kinds.KINDS))
@pytest.mark.parametrize("language", list(Language))
def test_every_column_of_a_file_has_a_heading_in_both_languages(kind, language):
    columns = import_kinds.KINDS[kind].sheet.columns

    shown = [headings.shown(column, language) for column in columns]

    assert [headings.column_of(columns, each) for each in shown] == list(columns)


@pytest.mark.parametrize("kind", list(import_kinds.KINDS))
def test_no_heading_names_two_columns(kind):
    named = [
        {headings.plain(name) for name in headings.names(column)} for column in import_kinds.KINDS[kind].sheet.columns
    ]

    assert sum(len(each) for each in named) == len(set().union(*named))


@pytest.mark.parametrize(
    ("heading", "column"),
    [
        ("vehicleNo", "vehicleNo"),
        ("VEHICLE NO.", "vehicleNo"),
        (" vehicle_no ", "vehicleNo"),
        ("차량 번호", "vehicleNo"),
        ("주행거리 (km)", "mileage"),
        ("주행거리", "mileage"),
        ("Mileage [km]", "mileage"),
        ("(mileage)", "mileage"),
        ("colour", None),
        ("", None),
        ("()", None),
        (unicodedata.normalize("NFD", "차량번호"), "vehicleNo"),
        ("\ufeff차량\u200b번호", "vehicleNo"),
    ],
)
def test_letter_case_blanks_marks_and_units_do_not_matter(heading, column):
    assert headings.column_of(VEHICLES, heading) == column


def test_heading_says_the_unit():
    assert headings.shown("mileage", Language.ENGLISH) == "Mileage (km)"
    assert headings.shown("mileage", Language.KOREAN) == "누적 주행거리(km)"
    assert headings.shown("vendor", Language.ENGLISH) == "Maker"
