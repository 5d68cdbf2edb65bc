"""The list of services: what each holds, its orders, search and filter."""

import pytest

from tripline.store.listing import services
from tripline.store.listing.pages import PageRequest
from tripline.store.listing.services import Filters

pytestmark = pytest.mark.deep


def found(tx, *, by="service", descending=False, **filters):
    asked = Filters(**filters)
    shown = services.LIST.page(tx, None, asked, PageRequest(limit=9, by=by, descending=descending)).rows
    assert services.LIST.count(tx, None, asked) == len(shown)
    return [row.service_type for row in shown]


def test_service_is_shown_with_its_operator_and_what_it_holds(tx):
    ace, other = services.LIST.page(tx, None, Filters(), PageRequest(limit=9, by="service")).rows

    assert (ace.id, ace.service_type, ace.name, ace.created_ms) == ("ace", "ace", "Company ace", 9)
    assert (ace.companies, ace.vehicles, ace.sensors, ace.accounts, ace.enabled) == (3, 36, 36, 14, False)
    assert (other.companies, other.vehicles, other.sensors, other.accounts, other.enabled) == (1, 12, 12, 1, True)


def test_services_come_in_each_order(tx):
    assert found(tx, by="name") == ["ace", "other"]
    assert found(tx, by="created") == ["other", "ace"]
    assert found(tx, descending=True) == ["other", "ace"]


def test_services_are_found_by_their_beginning_and_by_whether_anybody_may_sign_in(tx):
    assert found(tx, search="OT") == ["other"]
    assert found(tx, search="x") == []
    assert found(tx, enabled=True) == ["other"]
    assert found(tx, enabled=False) == ["ace"]


def test_pages_follow_each_other(tx):
    first = services.LIST.page(tx, None, Filters(), PageRequest(limit=1, by="service"))
    second = services.LIST.page(tx, None, Filters(), PageRequest(limit=1, by="service", place=first.last))

    assert [row.service_type for row in (*first.rows, *second.rows)] == ["ace", "other"]
    assert (first.more_behind, second.more_behind, second.more_before) == (True, False, True)
