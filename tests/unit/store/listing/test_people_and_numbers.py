"""Lists of people and companies, and what a quick search finds beside vehicles and sensors."""

import pytest
from sqlalchemy import update
from tests.support import listing

from tripline.domain.access import Action, Authority, Reach, Scope
from tripline.domain.ids import CompanyId
from tripline.store.listing import companies, numbers, people
from tripline.store.listing.pages import PageRequest
from tripline.store.tables import account

pytestmark = pytest.mark.deep


def names(tx, looker, turn, **filters):
    scope = listing.scope(looker, Action.PERSON_LIST)
    asked = people.Filters(role=Authority.DRIVER, **{"company_id": None, **filters})
    found = people.LIST.page(tx, scope, asked, turn)
    return [row.name for row in found.rows], people.LIST.count(tx, scope, asked)


BY_NAME = PageRequest(limit=99, by="name")


def test_people_are_of_the_own_company_unless_another_is_named(tx):
    of_p, number = names(tx, "partner", BY_NAME)

    assert (len(of_p), number) == (10, 10)
    assert of_p == sorted(of_p)
    assert names(tx, "operator", BY_NAME) == ([], 0)
    assert names(tx, "operator", BY_NAME, company_id=CompanyId("p")) == (of_p, 10)
    assert names(tx, "borrower", BY_NAME, company_id=CompanyId("p")) == ([], 0)


@pytest.mark.parametrize("by", ["email", "created"])
def test_people_come_in_other_orders_too(tx, by):
    up, _ = names(tx, "partner", PageRequest(limit=99, by=by))
    down, _ = names(tx, "partner", PageRequest(limit=99, by=by, descending=True))

    assert up == down[::-1]
    assert up != sorted(up)


def test_people_are_found_by_the_beginning_of_a_name_and_by_their_account(tx):
    found, number = names(tx, "partner", BY_NAME, search="kim 0")
    disabled, _ = names(tx, "partner", BY_NAME, enabled=False)

    assert found == ["Kim 06", "Kim 08", "kim 05", "kim 07", "kim 09"]
    assert number == 5
    assert disabled == ["Kim 10", "kim 05"]


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("by", ["name", "email", "created"])
@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("Driver-P@", {"kim 05"}),
        ("010-1234-0005", {"kim 05"}),
        ("010 1234 000", {"kim 05", "Kim 06", "kim 07", "Kim 08", "kim 09"}),
        ("kim 0", {"kim 05", "Kim 06", "kim 07", "Kim 08", "kim 09"}),
        ("director-p", set()),
        ("777", set()),
    ],
)
def test_people_are_found_by_address_and_telephone_number_too(tx, search, found, by):
    seen, number = names(tx, "partner", PageRequest(limit=99, by=by), search=search)

    assert (set(seen), len(seen), number) == (found, len(found), len(found))


def test_people_who_are_found_by_everything_are_listed_once_page_by_page(tx):
    before = {"name": "kim 05", "login": "driver-p@x.example", "phone": "010-1234-0005"}
    tx.run(update(account).where(account.c.id == "driver-p").values(name="010", login="010@x", phone="010-1"))

    def page(turn):
        scope = listing.scope("partner", Action.PERSON_LIST)
        return people.LIST.page(tx, scope, people.Filters(company_id=None, role=Authority.DRIVER, search="010"), turn)

    try:
        walks = [listing.walked(page, by, descending=down, limit=3) for by in ("name", "email") for down in (0, 1)]
    finally:
        tx.run(update(account).where(account.c.id == "driver-p").values(**before))

    assert [(len(each), len(set(each)), "driver-p" in each) for each in walks] == [(10, 10, True)] * 4


def test_people_are_shown_with_what_they_drive_and_may(tx):
    scope = listing.scope("partner", Action.PERSON_LIST)
    asked = people.Filters(company_id=None, role=Authority.DRIVER, search="kim 05")
    (driver,) = people.LIST.page(tx, scope, asked, BY_NAME).rows
    asked = people.Filters(company_id=None, role=Authority.DIRECTOR)
    (director,) = people.LIST.page(tx, scope, asked, BY_NAME).rows

    assert (driver.rights, driver.managed, driver.vehicle_id, driver.vehicle_no) == (2, 0, "v1", listing.NUMBERS[1])
    assert (director.rights, director.managed, director.vehicle_id) == (4, 4, None)


@pytest.mark.parametrize(
    ("reaches", "filters", "seen"),
    [
        ({Reach.ANY}, {}, ["ace", "other", "p", "q"]),
        ({Reach.ANY}, {"operators": True}, ["ace", "other"]),
        ({Reach.ANY}, {"search": "company o"}, ["other"]),
        ({Reach.OWN_COMPANY, Reach.PARTNERS}, {"service_type": "ace"}, ["ace", "p", "q"]),
        ({Reach.OWN_COMPANY, Reach.PARTNERS}, {"service_type": "ace", "operators": False}, ["p", "q"]),
        ({Reach.OWN_COMPANY}, {"service_type": "ace"}, ["ace"]),
    ],
)
def test_companies_are_those_inside_by_name_with_their_numbers(tx, reaches, filters, seen):
    scope = Scope("test", frozenset(reaches), None, CompanyId("ace"))
    asked = companies.Filters(**filters)
    found = companies.LIST.page(tx, scope, asked, BY_NAME)

    assert [row.id for row in found.rows] == seen
    assert companies.LIST.count(tx, scope, asked) == len(seen)
    assert all((row.vehicles, row.sensors) == (12, 12) for row in found.rows)


@pytest.mark.parametrize(
    ("looker", "beginning", "seen"),
    [
        ("operator", "0101234000", {"s0", "s5"}),
        ("operator", "01012340", {"s0", "s5", "s10", "s20", "s25", "s30", "s40", "s45"}),
        ("partner", "89820", {"s5", "s25", "s45"}),
        ("director", "8982", {"s5", "s45"}),
        ("partner", "450080", {"s5", "s25", "s45"}),
        ("director", "4500800", {"s5", "s45"}),
        ("partner", "777", set()),
        ("operator", "0025", {"s25"}),
        ("partner", "340025", {"s25"}),
        ("partner", "80025", {"s25"}),
        ("partner", "0010", set()),
        ("partner", "025", set()),
        ("partner", "89820025", {"s25"}),
    ],
)
def test_sensors_are_found_by_numbers_of_their_line(tx, looker, beginning, seen):
    scope = listing.scope(looker, Action.SENSOR_READ)

    assert {found.sensor_id for found in numbers.lines(tx, scope, beginning, limit=99)} == seen


@pytest.mark.parametrize(
    ("looker", "text", "seen"),
    [
        ("partner", "KIM 1", {"Kim 10", "kim 11", "Kim 12", "kim 13", "Kim 14"}),
        ("partner", "driver-p@x", {"kim 05"}),
        ("partner", "Director-P", {"Kim 04"}),
        ("partner", "0101234000", {"Kim 04", "kim 05", "Kim 06", "kim 07", "Kim 08", "kim 09"}),
        ("partner", "010-1234-0005", {"kim 05"}),
        ("operator", "010 1234 0004", {"Kim 04"}),
        ("partner", "0005", {"kim 05"}),
        ("partner", "34-0005", {"kim 05"}),
        ("partner", "340005", {"kim 05"}),
        ("partner", "940005", set()),
        ("partner", "005", set()),
        ("operator", "0004", {"Kim 04"}),
        ("stranger", "0005", set()),
        ("borrower", "kim", set()),
        ("stranger", "010", set()),
    ],
)
def test_people_are_found_by_name_address_and_telephone_number(tx, looker, text, seen):
    scope = listing.scope(looker, Action.PERSON_LIST)

    assert {found.name for found in numbers.people(tx, scope, text, limit=99)} == seen


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("01012345678", ["01-012-345678", "01-0123-45678", "010-123-45678", "010-1234-5678", "01012345678"]),
        ("010-12", ["01-012", "010-12", "01012"]),
        ("12", []),
        ("12가3456", []),
    ],
)
def test_telephone_number_is_looked_for_as_typed_and_in_its_usual_groups(text, forms):
    assert sorted(numbers.phone_forms(text)) == forms
