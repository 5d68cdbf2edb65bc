"""Lists of vehicles and sensors: the rows inside the scope that pass the filters, in any order, page by page both ways,
whichever way they are found."""

import re
from functools import cache, partial

import pytest
from msgspec.structs import asdict
from sqlalchemy import select, update
from tests.support import listing, reaching, rows
from tests.support.listing import LOOKERS

from tripline.domain.access import Action, Reach
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.vehicles import Status
from tripline.store import scopes
from tripline.store.listing import sensors, vehicles
from tripline.store.listing.pages import PageRequest
from tripline.store.listing.sensors import Filters, Heard
from tripline.store.listing.vehicles import Whose
from tripline.store.tables import sensor, trip, vehicle, vehicle_company, vehicle_position, vehicle_user

VEHICLE_FILTERS = [
    {},
    {"search": "a"},
    {"search": "B01"},
    {"search": "none"},
    {"status": Status.ACTIVATED},
    {"with_sensor": True},
    {"with_sensor": False},
    {"driving": True},
    {"driving": False, "search": "b"},
    {"whose": Whose.OWN},
    {"whose": Whose.OTHERS},
    {"whose": Whose.DELEGATED},
    {"whose": Whose.DELEGATED, "driving": True},
    {"whose": Whose.OWN, "driving": True, "search": "a"},
    {"company_id": CompanyId("p")},
    {"company_id": CompanyId("p"), "driving": True},
    {"company_id": CompanyId("q"), "whose": Whose.OTHERS},
    {"company_id": CompanyId("q"), "whose": Whose.OWN},
    {"director_id": UserId("director-p")},
    {"director_id": UserId("director-p"), "status": Status.DEACTIVATED},
    {"holder_id": UserId("director-p")},
    {"holder_id": UserId("driver-p"), "with_sensor": True},
    {"holder_id": UserId("director-p"), "director_id": UserId("director-p"), "search": "a"},
]
SENSOR_FILTERS = [
    {},
    {"search": "sn-a"},
    {"mounted": True},
    {"mounted": False},
    {"mounted": False, "search": "SN-b", "type": "GPS"},
    {"heard": Heard.CONNECTED},
    {"heard": Heard.AWAY},
    {"heard": Heard.NEVER},
    {"heard": Heard.CONNECTED, "company_id": CompanyId("p")},
    {"type": "DTG"},
    {"company_id": CompanyId("p")},
    {"company_id": CompanyId("q"), "mounted": False},
]

ENDING = [
    "1002",
    "가1002",
    "가 1-002",
    "2가1002",
    "10가 1002",
    "002",
    "31002",
    "1002 ",
    "12나",
    "나1001",
    "0999",
    "١٢٣٤",
]
"""What numbers end with, and what finds nothing by its end."""
ENDING_VEHICLES = [
    *({"search": text} for text in ENDING),
    *(
        pytest.param({"search": "1002", **each}, marks=pytest.mark.deep)
        for each in VEHICLE_FILTERS
        if "search" not in each
    ),
]
ENDING_SENSORS = [
    *({"search": text} for text in ENDING),
    *(
        pytest.param({"search": "1002", **each}, marks=pytest.mark.deep)
        for each in SENSOR_FILTERS
        if "search" not in each
    ),
]

DELEGATED = 8
"""Single vehicles that the borrower has."""


@pytest.fixture(scope="module")
def tx():
    with rows.memory(keys_checked=False) as transaction:
        listing.fill(transaction)
        reaching.recount(transaction)
        yield transaction
    forget()


@pytest.fixture(scope="module")
def numbered():
    """The same with numbers as vehicles have them, written in more ways than one; that of every eighth begins with the
    digits that others end with."""
    with rows.memory(keys_checked=False) as transaction:
        listing.fill(transaction)
        for n in range(listing.VEHICLES):
            number = f"{n:02d}{'가나'[n % 2]}{('', ' ', '-', ' ')[n // 2 % 4]}{1000 + n % 5}"
            number = f"1002{number}" if n % 8 == 1 else number
            transaction.run(update(vehicle).where(vehicle.c.id == f"v{n}").values(vehicle_no=number))
            transaction.run(update(sensor).where(sensor.c.id == f"s{n}").values(serial_no=number))
        reaching.recount(transaction)
        yield transaction
    forget()


def forget():
    """The rows of the next transaction are others."""
    inside.cache_clear()
    known.cache_clear()


@cache
def inside(tx, table, scope):
    """The rows of the table within the scope."""
    predicate = {vehicle: scopes.vehicles, sensor: scopes.sensors}[table]
    return tx.all(select(table).where(predicate(scope.reaches)), scopes.values(scope))


@cache
def known(tx):
    """Vehicles with a sensor, trips that go on, vehicles that moved, those delegated by choice, and everybody's rights
    on vehicles."""
    moving, chosen = vehicle_position.c.driving.is_(True), ~vehicle_company.c.automatic
    return (
        {row.vehicle_id for row in tx.all(select(sensor.c.vehicle_id))},
        {row.id for row in tx.all(select(trip.c.id).where(trip.c.state != "COMPLETE", ~trip.c.parking))},
        {row.vehicle_id for row in tx.all(select(vehicle_position).where(moving))},
        {row.vehicle_id for row in tx.all(select(vehicle_company.c.vehicle_id).where(chosen))},
        {(row.vehicle_id, row.user_id) for row in tx.all(select(vehicle_user))},
    )


def is_searched_for(number, search):
    """Whether it begins so, or ends so where that is four digits or more behind anything."""
    text, bare = search or "", [re.sub("[ -]", "", each).lower() for each in (number, search or "")]
    return number.lower().startswith(text.lower()) or (
        bare[0].endswith(bare[1]) and re.search("[0-9]{4}$", bare[1]) is not None
    )


def wanted_vehicles(tx, scope, filters):
    """The vehicles that are to be listed, by a sentence of Python."""
    within = inside(tx, vehicle, scope)
    on, trips, moved, chosen, rights = known(tx)
    drives = {row.id for row in within if row.id in moved and row.latest_trip_id in trips}
    own = {row.id for row in within if row.company_id == scope.company_id}
    whose = {Whose.OWN: own, Whose.OTHERS: {row.id for row in within} - own, Whose.DELEGATED: own & chosen}
    return [
        row
        for row in within
        if is_searched_for(row.vehicle_no, filters.search)
        and filters.status in (None, Status(row.status))
        and filters.with_sensor in (None, row.id in on)
        and filters.driving in (None, row.id in drives)
        and (filters.whose is None or row.id in whose[filters.whose])
        and filters.company_id in (None, row.company_id)
        and filters.director_id in (None, row.director_id)
        and (filters.holder_id is None or (row.id, filters.holder_id) in rights)
    ]


def wanted_sensors(tx, scope, filters):
    """The sensors that are to be listed, by a sentence of Python."""
    heard = {}
    for n in range(0, listing.VEHICLES, 3):
        was = Heard.NEVER if n % 9 else Heard.AWAY
        heard[f"s{n}"] = Heard.CONNECTED if n % 2 == 0 else was
    return [
        row
        for row in inside(tx, sensor, scope)
        if is_searched_for(row.serial_no, filters.search)
        and filters.mounted in (None, row.vehicle_id is not None)
        and filters.heard in (None, heard.get(row.id, Heard.NEVER))
        and filters.type in (None, row.type)
        and filters.company_id in (None, row.company_id)
    ]


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("filtered", VEHICLE_FILTERS, ids=str)
def test_vehicles_are_those_inside_that_pass_in_each_order(tx, filtered):
    assert_vehicles(tx, filtered, {"number": "vehicle_no", "created": "created_ms"})


def assert_vehicles(tx, filtered, orders):
    """Every looker finds the vehicles inside the scope that pass, in each of the orders, and their count."""
    filters = vehicles.Filters(**filtered)
    for looker in LOOKERS:
        scope = listing.scope(looker, Action.VEHICLE_READ)
        expected = wanted_vehicles(tx, scope, filters)

        listing.assert_in_each_order(
            partial(vehicles.LIST.page, tx, scope, filters),
            expected,
            orders,
            limits=(6, 10),
        )
        assert vehicles.LIST.count(tx, scope, filters) == len(expected)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("filtered", SENSOR_FILTERS, ids=str)
def test_sensors_are_those_inside_that_pass_in_each_order(tx, filtered):
    assert_sensors(tx, filtered, {"serial": "serial_no", "created": "created_ms"})


def assert_sensors(tx, filtered, orders):
    """The same of sensors."""
    filters = Filters(**filtered)
    for scope in filter(None, (listing.scope(looker, Action.SENSOR_READ) for looker in LOOKERS)):
        expected = wanted_sensors(tx, scope, filters)

        listing.assert_in_each_order(
            partial(sensors.LIST.page, tx, scope, filters),
            expected,
            orders,
            limits=(6, 10),
        )
        assert sensors.LIST.count(tx, scope, filters) == len(expected)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("filtered", ENDING_VEHICLES, ids=str)
def test_vehicles_are_found_by_the_last_digits_of_their_number(numbered, filtered):
    assert_vehicles(numbered, filtered, {"number": "vehicle_no"})


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("filtered", ENDING_SENSORS, ids=str)
def test_sensors_are_found_by_the_last_digits_of_their_serial_number(numbered, filtered):
    assert_sensors(numbered, filtered, {"serial": "serial_no"})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1002", 12),
        ("가1002", 5),
        ("가 1-002", 5),
        ("2가1002", 5),
        ("10가 1002", 0),
        ("002", 0),
        ("31002", 0),
        ("1002 ", 7),
        ("12나", 0),
        ("나1001", 3),
        ("0999", 0),
        ("١٢٣٤", 0),
    ],
)
def test_so_many_vehicles_end_so(numbered, text, found):
    scope = listing.scope("operator", Action.VEHICLE_READ)

    assert vehicles.LIST.count(numbered, scope, vehicles.Filters(search=text)) == found


def test_everybody_sees_some_vehicles_and_nobody_all(tx):
    seen = {
        looker: {row.id for row in wanted_vehicles(tx, listing.scope(looker, Action.VEHICLE_READ), vehicles.Filters())}
        for looker in LOOKERS
    }

    assert all(0 < len(each) < listing.VEHICLES for each in seen.values())
    assert len({frozenset(each) for each in seen.values()}) == len(LOOKERS)


def test_vehicle_is_shown_with_what_it_is_connected_with(tx):
    scope, filters = listing.scope("partner", Action.VEHICLE_READ), vehicles.Filters(search=listing.NUMBERS[21])
    named = frozenset({Reach.OWN_COMPANY})
    (found,) = vehicles.LIST.page(tx, scope, filters, PageRequest(limit=9, by="number"), named).rows

    assert asdict(found) == {
        **dict.fromkeys(("vendor", "model_name", "model_year", "mission_type", "fuel_type", "category")),
        **dict.fromkeys(("driver_id", "driver_name")),
        "id": "v21",
        "seen_ms": 21,
        "speed_kmh": 50.0,
        "created_ms": 999,
        "vehicle_no": listing.NUMBERS[21],
        "mileage": 1.0,
        "status": Status.ACTIVATED,
        "company_id": "p",
        "company_name": "Company p",
        "director_id": "director-p",
        "director_name": "Kim 04",
        "sensor_count": 1,
        "serial_no": f"SN-{listing.NUMBERS[21]}",
        "delegated_to": 1,
        "driving": True,
    }
