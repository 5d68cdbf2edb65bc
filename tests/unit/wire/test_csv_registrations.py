import io
import re

import pytest
from tests.support import reference
from tests.support.refused import refused

from tripline.domain import sensors, vehicles
from tripline.domain.refusals import BadParameter
from tripline.wire import csv_files, csv_registrations

SHEETS = {"vehicles": csv_registrations.VEHICLES, "sensors": csv_registrations.SENSORS}


def test_h17_columns_are_the_fields_of_the_requests():
    assert list(SHEETS["vehicles"].columns) == [
        "vehicleNo",
        "vendor",
        "modelCode",
        "modelName",
        "modelYear",
        "missionType",
        "fuelType",
        "mileage",
        "category",
        "usage",
        "displacement",
        "additionalInfo",
    ]
    assert sorted(SHEETS["sensors"].columns) == [
        "activationRequired",
        "additionalInfo",
        "credentialsId",
        "missionType",
        "serialNo",
        "type",
        "vendor",
    ]


@pytest.mark.parametrize("noun", SHEETS)
def test_page_lists_the_columns_of_the_program(noun):
    page = (reference.ROOT / "docs" / "bulk.md").read_text("utf-8")
    section = page.partition(f"## Columns of {noun}\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (yes|no) \|", section, re.MULTILINE))

    sheet = SHEETS[noun]
    assert rows == {name: "yes" if name in sheet.required else "no" for name in sheet.columns}


@pytest.mark.parametrize(("noun", "rules"), [("vehicles", vehicles.registration), ("sensors", sensors.registration)])
def test_sample_file_holds_every_column_and_only_good_rows(noun, rules):
    sheet = SHEETS[noun]

    table = csv_files.read(io.BytesIO(sheet.sample_file()), column_of=sheet.column_of)

    assert (table.columns, table.unknown()) == (tuple(sheet.columns), ())
    assert len([sheet.record(rules, csv_files.named(line.cells, table.columns)) for line in table.lines]) == 2


def test_cells_become_the_values_that_a_request_would_hold():
    cells = {"vehicleNo": "001", "modelYear": "2018", "mileage": " 45.5e2 ", "displacement": ".5"}

    assert SHEETS["vehicles"].record(dict, cells) == {
        "vehicle_no": "001",
        "model_year": "2018",
        "mileage": 4550.0,
        "displacement": 0.5,
    }
    assert SHEETS["sensors"].record(dict, {"activationRequired": "TRUE"}) == {"activation_required": True}


@pytest.mark.parametrize("text", ["1,000", "1.000,5", "5 km", "0x10", "nan", "inf", "１２", "--1", "1_000", "=5"])
def test_cell_that_is_no_plain_number_is_refused_by_name(text):
    with refused(BadParameter, match=r"^Parameter 'mileage' must be a number"):
        SHEETS["vehicles"].record(dict, {"mileage": text})


@pytest.mark.parametrize("text", ["yes", "1", "truely"])
def test_cell_that_is_no_flag_is_refused_by_name(text):
    with refused(BadParameter, match=r"^Parameter 'activationRequired' must be true or false"):
        SHEETS["sensors"].record(dict, {"activationRequired": text})


@pytest.mark.parametrize(("text", "value"), [("4.5E+4", 45_000), ("1e8", 100_000_000), ("1E-1", 0.1)])
def test_number_with_an_exponent_within_the_range_of_its_field_is_read(text, value):
    assert SHEETS["vehicles"].record(vehicles.registration, {"vehicleNo": "A", "mileage": text}).mileage == value


@pytest.mark.parametrize("field", ["mileage", "displacement"])
@pytest.mark.parametrize("text", ["4.5E+11", "1e308", "1E400", "1e999", "9" * 400])
def test_number_beyond_the_range_of_its_field_is_refused_by_name(field, text):
    cells = {"vehicleNo": "A", "mileage": "1", field: text}

    with pytest.raises(BadParameter) as caught:
        SHEETS["vehicles"].record(vehicles.registration, cells)

    assert (caught.value.field, caught.value.case, caught.value.others) == (field, "amount", ())


def test_every_cell_at_fault_is_told_once_the_unreadable_ones_first():
    cells = {"vehicleNo": "", "fuelType": "WATER", "mileage": "many", "displacement": "-1"}

    with pytest.raises(BadParameter) as caught:
        SHEETS["vehicles"].record(vehicles.registration, cells)

    every = [caught.value, *caught.value.others]
    assert [(each.field, each.case) for each in every] == [
        ("mileage", "number"),
        ("vehicleNo", "missing"),
        ("fuelType", ""),
        ("displacement", "amount"),
    ]
