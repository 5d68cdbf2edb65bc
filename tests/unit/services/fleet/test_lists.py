"""Lists as somebody may see them: rows inside the scope name nobody and nothing outside it."""

import pytest
from tests.support import listing, rows

from tripline.domain.access import Actor, Authority
from tripline.services.fleet import lists
from tripline.store.listing import people, vehicles
from tripline.store.listing.pages import PageRequest


@pytest.fixture(scope="module")
def tx():
    with rows.memory(keys_checked=False) as transaction:
        listing.fill(transaction)
        yield transaction


def actor(looker):
    authority, user_id, company_id = listing.LOOKERS[looker]
    return Actor(user_id, authority, company_id)


@pytest.mark.parametrize(
    ("looker", "vehicle_id", "names"),
    [
        ("partner", "v9", ("Kim 04", None)),
        ("operator", "v9", ("Kim 04", None)),
        ("director", "v9", ("Kim 04", None)),
        ("borrower", "v9", (None, None)),
        ("driver", "v9", (None, None)),
        ("partner", "v1", (None, "kim 05")),
        ("borrower", "v1", (None, None)),
    ],
)
def test_vehicles_name_people_to_those_who_may_see_them_alone(tx, looker, vehicle_id, names):
    found = lists.VEHICLES.page(
        tx, actor=actor(looker), filters=vehicles.Filters(), page_request=PageRequest(limit=99, by="number")
    )

    (row,) = [row for row in found.rows if row.id == vehicle_id]
    assert (row.director_name, row.driver_name) == names
    assert (row.director_id, row.driver_id) == {"v9": ("director-p", None), "v1": (None, "driver-p")}[vehicle_id]


@pytest.mark.parametrize(("looker", "number"), [("partner", listing.NUMBERS[1]), ("director", None)])
def test_people_come_with_vehicles_to_those_who_may_see_them_alone(tx, looker, number):
    asked = people.Filters(company_id=None, role=Authority.DRIVER)
    found = lists.PEOPLE.page(tx, actor=actor(looker), filters=asked, page_request=PageRequest(limit=99, by="name"))

    (driver,) = [row for row in found.rows if row.id == "driver-p"]
    assert (driver.vehicle_id, driver.vehicle_no) == ("v1", number)
