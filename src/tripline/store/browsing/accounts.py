"""Every account of the installation as a list: by e-mail address, and how many they are.

For platform administrators, so it takes no scope. Not here: the people of a company (`people.py`), one account
(`store/accounts/directory.py`).
"""

from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, bindparam, select

from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.store import prefixes
from tripline.store.accounts.accounts import login_form
from tripline.store.browsing.pages import ListQuery, Page, PageRequest, Source
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
    """The accounts of the page; the caller checked permission."""
    found = _QUERY.page(tx, page_request, _sources(filters), _values(filters))
    return found.mapped(_listed)


def count(tx: ReadTx, filters: Filters) -> int:
    """How many accounts the filters let pass; the caller checked permission."""
    return _QUERY.count(tx, _sources(filters), _values(filters))


class _Which(NamedTuple):
    """The filters in force; each combination has its statement."""

    searched: bool
    of_role: bool
    enabled: bool | None


def _sources(filters: Filters) -> list[Source]:
    """Along the addresses. Walking past 100,000 accounts that a filter leaves out takes 10 ms on SQLite, 25 to 40 on
    PostgreSQL."""
    which = _Which(bool(filters.search), filters.role is not None, filters.enabled)
    return [Source(_conditions, (which,), walked=True)]


def _values(filters: Filters) -> tuple[str | None, ...]:
    """In the order of `_NAMES`."""
    first = login_form(filters.search or "")
    return first, first + prefixes.LAST, None if filters.role is None else filters.role.value


def _conditions(which: _Which) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if which.searched:
        # Kept in the form in which it is compared, so one range holds every letter case.
        conditions += [account.c.login >= bindparam("login_from"), account.c.login < bindparam("login_to")]
    if which.of_role:
        conditions.append(account.c.authority == bindparam("of_role"))
    return conditions if which.enabled is None else [*conditions, account.c.enabled.is_(which.enabled)]


def _shown(page: Subquery) -> Select[Any]:
    row = account.alias("shown")
    looked_up: dict[str, ColumnElement[Any]] = {"role": row.c.authority, "company_name": company.c.name}
    columns = [looked_up[name].label(name) if name in looked_up else row.c[name] for name in _FIELDS]
    joined = page.join(row, row.c.login == page.c.key).outerjoin(company, company.c.id == row.c.company_id)
    return select(page.c.place, page.c.key, *columns).select_from(joined)


_FIELDS: Final = ListedAccount.__struct_fields__
_NAMES: Final = ("login_from", "login_to", "of_role")
# An address is one account's: as key, too, it leaves nothing to be sorted.
_QUERY: Final = ListQuery(account.c.login, {"email": account.c.login}, "email", _shown, _NAMES)


def _listed(row: tuple[Any, ...]) -> ListedAccount:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedAccount(**{**values, "role": Authority(values["role"]), "enabled": bool(values["enabled"])})
