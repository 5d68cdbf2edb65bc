"""Lists of vehicles and sensors in REST: the rows inside the scope by number, page by page, whichever way they are
found."""

import pytest
from sqlalchemy import select
from tests.support import listing, reaching, rows
from tests.support.listing import LOOKERS
from tests.support.refused import refused

from tripline.domain.access import Action
from tripline.domain.delegations import UserRole
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.domain.sensors import Sensor
from tripline.store import lists, scopes
from tripline.store.fleet import delegations, rights, sensors, vehicles
from tripline.store.listing import vehicles as listed
from tripline.store.lists import Window
from tripline.store.tables import device_connection, sensor, vehicle, vehicle_company, vehicle_user

# One of the ways of `many` is `pytest.mark.deep` (conftest.py): the deep suite runs this file too.

pytestmark = pytest.mark.usefixtures("many")


def walked(page):
    """The ids of every page, the next one asked for by id and name, and by id alone."""
    pages = [], []
    for ids, by_name in zip(pages, (True, False), strict=True):
        window = Window(limit=4)
        while found := page(window):
            ids += [row.id for row in found]
            last = found[-1]
            name = last.serial_no if isinstance(last, Sensor) else last.vehicle_no
            window = Window(limit=4, id_offset=last.id, text_offset=name if by_name else None)
    assert pages[0] == pages[1]
    return pages[0]


def expected(found, number):
    return [row.id for row in sorted(found, key=lambda row: (getattr(row, number), row.id))]


def begins(found, number, search):
    return [row for row in found if getattr(row, number).lower().startswith(search)]


def vehicle_lists(tx, scope, company_id):
    """Each list of vehicles about the company: a function that reads a page, and its rows by a sentence of Python."""
    inside = tx.all(select(vehicle).where(scopes.vehicles(scope.reaches)), scopes.values(scope))
    delegations = tx.all(select(vehicle_company))
    received = {row.vehicle_id for row in delegations if row.to_company_id == company_id}
    given = {row.vehicle_id for row in delegations if row.from_company_id == company_id}
    director = UserId("director-p")
    return [
        (
            lambda window: vehicles.of_company(tx, scope, company_id, window),
            [row for row in inside if row.company_id == company_id],
        ),
        (
            lambda window: vehicles.delegated(tx, scope, company_id, window, received=True),
            [row for row in inside if row.id in received],
        ),
        (
            lambda window: vehicles.delegated(tx, scope, company_id, window, received=False),
            [row for row in inside if row.id in given],
        ),
        (
            lambda window: vehicles.managed_by(tx, scope, director, window),
            [row for row in inside if row.director_id == director],
        ),
    ]


@pytest.mark.parametrize("looker", LOOKERS)
def test_vehicles_of_a_company_are_those_inside_by_number(tx, looker):
    scope = listing.scope(looker, Action.VEHICLE_READ)
    for company_id in listing.COMPANIES:
        for page, inside in vehicle_lists(tx, scope, CompanyId(company_id)):
            assert walked(page) == expected(inside, "vehicle_no")
            found = [row.id for row in page(Window(limit=99, search="B"))]
            assert found == expected(begins(inside, "vehicle_no", "b"), "vehicle_no")


@pytest.mark.parametrize("looker", [looker for looker in LOOKERS if listing.scope(looker, Action.SENSOR_READ)])
def test_sensors_of_a_company_are_those_inside_by_serial_number(tx, looker):
    scope = listing.scope(looker, Action.SENSOR_READ)
    inside = tx.all(select(sensor).where(scopes.sensors(scope.reaches)), scopes.values(scope))
    there = {row.sensor_id for row in tx.all(select(device_connection).where(device_connection.c.connected))}
    for company_id in listing.COMPANIES:
        for mounted, connected in ((None, None), (True, None), (False, None), (None, True), (None, False)):
            wanted = [
                row
                for row in inside
                if row.company_id == company_id
                and mounted in (None, row.vehicle_id is not None)
                and connected in (None, row.id in there)
            ]

            def page(window, company_id=company_id, mounted=mounted, connected=connected):
                return sensors.of_company(
                    tx, scope, CompanyId(company_id), window, mounted=mounted, connected=connected, tokens=scope
                )

            assert walked(page) == expected(wanted, "serial_no")
            found = [row.id for row in page(Window(limit=99, search="sn-A"))]
            assert found == expected(begins(wanted, "serial_no", "sn-a"), "serial_no")


def test_rights_of_a_person_are_by_number(tx):
    scope = listing.scope("partner", Action.RIGHT_READ)
    held = tx.all(
        select(vehicle_user).where(vehicle_user.c.user_id == "director-p", vehicle_user.c.user_role == "DRIVER")
    )
    numbers = {row.id: listing.NUMBERS[int(row.vehicle_id[1:])] for row in held}

    found = walked(lambda window: rights.of_user(tx, scope, UserId("director-p"), UserRole.DRIVER, window))

    assert found == sorted(numbers, key=lambda key: (numbers[key], key))
    assert len(found) == 3


def test_delegations_of_a_vehicle_are_by_the_receivers_name(tx):
    operator, stranger = (listing.scope(looker, Action.VEHICLE_READ) for looker in ("operator", "stranger"))

    def page(scope):
        return delegations.of_vehicle(tx, scope, VehicleId("v1"), Window(limit=9))

    assert [row.to_company_id for row in page(operator)] == ["ace", "q"]
    assert page(stranger) == []


def test_search_finds_no_end_of_a_number(tx):
    scope = listing.scope("operator", Action.VEHICLE_READ)
    with rows.undone(tx):
        tx.run(vehicle.update().where(vehicle.c.id == "v0").values(vehicle_no="12가3456"))
        reaching.recount(tx)

        assert listed.LIST.count(tx, scope, listed.Filters(search="3456")) == 1
        assert not vehicles.of_company(tx, scope, CompanyId("ace"), Window(limit=9, search="3456"))


def test_offset_of_a_vehicle_outside_is_refused(tx):
    scope = listing.scope("borrower", Action.VEHICLE_READ)

    with refused(lists.UnknownOffset, match="does not name an item of this list"):
        vehicles.of_company(tx, scope, CompanyId("ace"), Window(limit=9, id_offset="v0"))
