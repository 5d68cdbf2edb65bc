"""The list of all accounts of the installation, by e-mail address, and how many they are.

For platform administrators, so it takes no scope. Not here: the people of a company (`people.py`), one account
(`store/accounts/directory.py`).
"""

from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, and_, bindparam, select

from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.store import prefixes
from tripline.store.accounts.accounts import login_form
from tripline.store.listing import engine
from tripline.store.listing.engine import Filter, ListQuery, ListSpec, Search
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.tables import account, company
from tripline.store.transactions import ReadTx


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which accounts to list; None: any."""

    search: str | None = None
    """Beginning of the e-mail address, in any case."""
    role: Authority | None = None
    enabled: bool | None = None


class ListedAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account as a list shows it."""

    id: UserId
    created_ms: int
    name: str
    email: str
    role: Authority
    enabled: bool
    company_name: str | None


def page(tx: ReadTx, filters: Filters, page_request: PageRequest) -> Page[ListedAccount]:
    """Return the accounts of the page; the caller checked permission."""
    return _ACCOUNTS.page(tx, _query(filters), page_request).mapped(_listed)


def count(tx: ReadTx, filters: Filters) -> int:
    """Return how many accounts the filters let pass; the caller checked permission."""
    return _ACCOUNTS.count(tx, _query(filters))


def _query(filters: Filters) -> ListQuery:
    role = None if filters.role is None else filters.role.value
    return engine.query_of(None, {"role": role, _ENABLED.get(filters.enabled, ""): True}, filters.search)


_ENABLED: Final[dict[bool | None, str]] = {True: "enabled", False: "disabled"}


def _bounds(text: str) -> tuple[str, str]:
    # Stored in the form in which addresses are compared, so one range has every letter case.
    first = login_form(text)
    return first, first + prefixes.LAST


def _shown(page: Subquery) -> Select[Any]:
    row = account.alias("shown")
    looked_up: dict[str, ColumnElement[Any]] = {"role": row.c.authority, "company_name": company.c.name}
    joined = page.join(row, row.c.login == page.c.key).outerjoin(company, company.c.id == row.c.company_id)
    return select(page.c.place, page.c.key, *engine.fields(_FIELDS, row, looked_up)).select_from(joined)


_FIELDS: Final = ListedAccount.__struct_fields__


def _listed(row: tuple[Any, ...]) -> ListedAccount:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedAccount(**{**values, "role": Authority(values["role"]), "enabled": bool(values["enabled"])})


_ACCOUNTS: Final = ListSpec(
    rows=account,
    # An address belongs to one account: as the key, too, it leaves nothing to be sorted.
    key=account.c.login,
    orders={"email": account.c.login},
    searches=(
        Search(
            names=("login_from", "login_to"),
            values=_bounds,
            where=and_(account.c.login >= bindparam("login_from"), account.c.login < bindparam("login_to")),
        ),
    ),
    values=("role",),
    filters={
        "role": Filter(where=account.c.authority == bindparam("role")),
        "enabled": Filter(where=account.c.enabled.is_(True)),
        "disabled": Filter(where=account.c.enabled.is_(False)),
    },
    shown=_shown,
)
