"""Lists as an actor may see them: checked for the page and for the count, with the arguments that the store needs."""

from typing import Any

import pytest

from tripline.domain.access import Action, Actor, Authority, Forbidden, Scope
from tripline.domain.ids import CompanyId, UserId
from tripline.services import listings
from tripline.store.listing.pages import Page, PageRequest

TX: Any = object()
REQUEST = PageRequest(limit=3, by="name")
EMPTY: Page[str] = Page(rows=[], first=None, last=None, more_before=False, more_behind=False)
PLATFORM = Actor(UserId("root"), Authority.SYS_ADMIN, None)
ADMIN = Actor(UserId("a"), Authority.COMPANY_ADMIN, CompanyId("c"))


class Rows:
    """Notes what a list asks of the store."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def page(self, *given: Any) -> Page[str]:
        self.asked.append(given)
        return EMPTY

    def count(self, *given: Any) -> int:
        self.asked.append(given)
        return 7


def test_rows_in_reach_are_read_and_counted_within_the_scope_of_the_action() -> None:
    rows = Rows()
    listing = listings.within(Action.VEHICLE_READ, rows)

    assert listing.page(TX, actor=ADMIN, filters="f", page_request=REQUEST) is EMPTY
    assert listing.count(TX, actor=ADMIN, filters="f") == 7
    (_, scope, *page), (_, again, *count) = rows.asked
    assert isinstance(scope, Scope)
    assert (scope, page, count) == (again, ["f", REQUEST], ["f"])


def test_rows_of_the_installation_are_read_and_counted_for_those_with_permission_alone() -> None:
    rows = Rows()
    listing = listings.permitted(Action.ACCOUNT_MANAGE, rows)

    with pytest.raises(Forbidden):
        listing.page(TX, actor=ADMIN, filters="f", page_request=REQUEST)
    with pytest.raises(Forbidden):
        listing.count(TX, actor=ADMIN, filters="f")
    assert rows.asked == []
    listing.page(TX, actor=PLATFORM, filters="f", page_request=REQUEST)
    assert rows.asked == [(TX, None, "f", REQUEST)]
