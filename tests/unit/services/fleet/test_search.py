"""Finding a line by its telephone number, as people write it."""

import unicodedata

import pytest
from sqlalchemy import update
from tests.support import listing, reaching, rows

from tripline.domain import keys
from tripline.domain.access import Actor, Authority
from tripline.services.fleet import search
from tripline.store.tables import carrier_line, sensor, vehicle


@pytest.fixture(scope="module")
def tx():
    with rows.memory(keys_checked=False) as transaction:
        listing.fill(transaction)
        transaction.run(update(carrier_line).where(carrier_line.c.sensor_id == "s5").values(mdn="+821012340005"))
        yield transaction


@pytest.fixture(scope="module")
def numbered(tx):
    """The same with a vehicle and a sensor whose numbers end with four digits."""
    tx.run(update(vehicle).where(vehicle.c.id == "v25").values(vehicle_no="12가 3456"))
    tx.run(update(sensor).where(sensor.c.id == "s25").values(serial_no="IMEI-12가-3456"))
    reaching.recount(tx)
    return tx


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("010-1234-0025", ["s25"]),
        ("0101234 0025", ["s25"]),
        ("+82 10-1234", ["s5"]),
        ("821012340005", ["s5"]),
        ("21012340005", ["s5"]),
        ("8201012340005", []),
        ("-+", []),
        ("010+1234", []),
    ],
)
def test_line_is_found_by_its_number_with_blanks_dashes_and_plus(tx, text, found):
    known = search.find(tx, actor=Actor("admin-p", Authority.COMPANY_ADMIN, "p"), text=text)

    assert [each.sensor_id for each in known.lines] == found


@pytest.fixture
def keyed(tx):
    """The same with a vehicle and a sensor whose numbers are stored in forms that nobody types."""
    number, serial = unicodedata.normalize("NFD", "서울12가 7"), "\u200bImei-Ä7"
    tx.run(update(vehicle).where(vehicle.c.id == "v21").values(vehicle_no=number, number_key=keys.key(number)))
    tx.run(update(sensor).where(sensor.c.id == "s21").values(serial_no=serial, serial_key=keys.key(serial)))
    reaching.recount(tx)
    return tx


@pytest.mark.parametrize(
    ("text", "vehicles", "sensors"),
    [
        ("서울12가7", ["v21"], []),
        ("서울 12가 7", ["v21"], []),
        (unicodedata.normalize("NFD", "서울12가7"), ["v21"], []),
        ("imei-ä7", [], ["s21"]),
        ("IMEI-A\u03087\u200b", [], ["s21"]),
        ("서울12나7", [], []),
    ],
)
def test_number_is_found_in_whatever_form_it_is_typed(keyed, text, vehicles, sensors):
    known = search.find(keyed, actor=Actor("admin-p", Authority.COMPANY_ADMIN, "p"), text=text)

    assert [each.id for each in known.vehicles] == vehicles
    assert [each.id for each in known.sensors] == sensors


@pytest.mark.parametrize(
    ("text", "more", "by_phone"), [("010-1234-00", True, True), ("89820", True, False), ("0101234002", False, True)]
)
def test_more_lines_than_are_shown_are_told_of(tx, monkeypatch, text, more, by_phone):
    monkeypatch.setattr(search, "MOST", 2)

    known = search.find(tx, actor=Actor("admin-p", Authority.COMPANY_ADMIN, "p"), text=text)

    assert (known.more_lines, known.lines_by_phone) == (more, by_phone)


@pytest.mark.parametrize(
    ("text", "vehicles", "sensors", "lines", "people"),
    [
        ("3456", ["v25"], ["s25"], [], []),
        ("가 3456", ["v25"], ["s25"], [], []),
        ("12가3456", ["v25"], ["s25"], [], []),
        ("456", [], [], [], []),
        ("0025", [], [], ["s25"], []),
        ("0005", [], [], ["s5"], ["driver-p"]),
    ],
)
def test_numbers_are_found_by_their_last_digits(numbered, text, vehicles, sensors, lines, people):
    known = search.find(numbered, actor=Actor("admin-p", Authority.COMPANY_ADMIN, "p"), text=text)

    assert [each.id for each in known.vehicles] == vehicles
    assert [each.id for each in known.sensors] == sensors
    assert [each.sensor_id for each in known.lines] == lines
    assert [each.id for each in known.people] == people
