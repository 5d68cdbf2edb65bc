"""Headings in both languages name the columns of a file."""

import pytest

from tripline.services.fleet import import_kinds
from tripline.wire import csv_headings


@pytest.mark.parametrize("kind", list(import_kinds.KINDS))
def test_every_column_of_a_file_has_a_heading_in_both_languages(kind):
    columns = import_kinds.KINDS[kind].sheet.columns

    assert list(csv_headings.HEADINGS[kind]) == list(columns)
    for language in ("en", "ko"):
        shown = [csv_headings.shown(kind, column, language) for column in columns]
        assert csv_headings.matched(kind, shown) == tuple(columns)


@pytest.mark.parametrize("kind", list(import_kinds.KINDS))
def test_no_heading_names_two_columns(kind):
    named = [csv_headings._plain(name) for names in csv_headings.HEADINGS[kind].values() for name in names]

    assert sorted(named) == sorted(set(named))


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
    ],
)
def test_letter_case_blanks_marks_and_units_do_not_matter(heading, column):
    assert csv_headings.column_of("vehicles", heading) == column


def test_of_two_headings_for_one_column_the_first_counts():
    assert csv_headings.matched("vehicles", ["차량번호", "vehicleNo", "mileage"]) == ("vehicleNo", None, "mileage")
