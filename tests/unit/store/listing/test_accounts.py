"""The list of accounts: what a row says, its order, search and filters, and pages both ways."""

from functools import partial
from itertools import product

import pytest
from msgspec.structs import asdict
from sqlalchemy import insert, select
from tests.support import listing, rows

from tripline.domain.access import Authority
from tripline.store.listing import accounts
from tripline.store.listing.accounts import Filters
from tripline.store.listing.pages import PageRequest
from tripline.store.tables import account

pytestmark = pytest.mark.deep

ALONE = {
    "root@x.example": Authority.SYS_ADMIN,
    "Net@X.example": Authority.CARRIER,
    "Straße@x.example": Authority.COMPANY_ADMIN,
}
"""E-mail address -> role of an account without a company."""
SEARCHES = (None, "D", "director-", "NET@", "more-3@x.example", "STRASSE", "straß", "  root", "zz")


@pytest.fixture(scope="module")
def tx():
    with rows.memory(keys_checked=False) as transaction:
        listing.fill(transaction)
        for at, (email, role) in enumerate(ALONE.items()):
            row = {"id": f"alone-{at}", "created_ms": at, "authority": role.value, "name": "Lee", "email": email}
            rest = {"password_hash": "", "password_updated_ms": 1, "enabled": role is not Authority.CARRIER}
            transaction.run(insert(account), {**row, **rest, "login": email.casefold()})
        yield transaction


def wanted(tx, filters):
    """The accounts that are to be listed, by a sentence of Python."""
    return [
        row
        for row in tx.all(select(account).order_by(account.c.login))
        if row.login.startswith((filters.search or "").strip().casefold())
        and filters.role in (None, Authority(row.authority))
        and filters.enabled in (None, bool(row.enabled))
    ]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("role", [None, *Authority])
def test_accounts_are_those_that_pass_in_the_order_of_their_addresses_both_ways(tx, search, role):
    for enabled, descending, limit in product((None, True, False), (False, True), (1, 3, 99)):
        filters = Filters(search=search, role=role, enabled=enabled)
        expected = [row.id for row in wanted(tx, filters)][:: -1 if descending else 1]
        pages = partial(accounts.LIST.page, tx, None, filters)

        assert listing.walked(pages, "email", descending=descending, limit=limit) == expected
        assert accounts.LIST.count(tx, None, filters) == len(expected)


def test_each_search_but_the_last_finds_some_accounts_and_none_finds_all(tx):
    found = [accounts.LIST.count(tx, None, Filters(search=search)) for search in SEARCHES]

    assert found[0] == accounts.LIST.count(tx, None, Filters(role=None)) > max(found[1:])
    assert all(found[:-1])
    assert found[-1] == 0


def test_account_is_shown_with_its_company_if_it_has_one(tx):
    (director,) = accounts.LIST.page(tx, None, Filters(search="director-p"), PageRequest(limit=9, by="email")).rows
    (carrier,) = accounts.LIST.page(tx, None, Filters(role=Authority.CARRIER), PageRequest(limit=9, by="email")).rows

    assert asdict(director) == {
        "id": "director-p",
        "created_ms": 96,
        "name": "Kim 04",
        "email": "director-p@x.example",
        "role": Authority.DIRECTOR,
        "enabled": True,
        "company_name": "Company p",
    }
    assert (carrier.email, carrier.enabled, carrier.company_name) == ("Net@X.example", False, None)


@pytest.mark.parametrize("filters", [Filters(), Filters(search="d", role=Authority.DRIVER, enabled=True)], ids=str)
def test_page_and_number_take_one_statement_each(tx, filters):
    asked = []
    for limit in (1, 30):
        with rows.statements(tx) as seen:
            accounts.LIST.page(tx, None, filters, PageRequest(limit=limit, by="email"))
            accounts.LIST.count(tx, None, filters)
        asked.append(len(seen))

    assert asked == [2, 2]
