"""The list of all accounts, by e-mail address. Not here: one account (`admin/accounts.py`)."""

from typing import Any, Final

from litestar.response import Response

from tripline.domain.access import Action, Authority
from tripline.http.context.base import Call
from tripline.portal.frame.page import page
from tripline.portal.lists import table_pages
from tripline.portal.lists.tables import Column, Filter, ListRequest, Table
from tripline.services.accounts import directory
from tripline.store.browsing.accounts import Filters

_PATH: Final = "/admin/accounts"


@page("GET", _PATH, access=Action.ACCOUNT_MANAGE)
async def accounts(request: Call) -> Response[bytes]:
    """The accounts of the installation."""
    return await table_pages.listed(request, ACCOUNTS)


@page("GET", f"{_PATH}/count", access=Action.ACCOUNT_MANAGE)
async def count(request: Call) -> Response[bytes]:
    """Number of accounts."""
    return await table_pages.counted(request, ACCOUNTS)


def _filters(wanted: ListRequest) -> Filters:
    chosen = wanted.chosen
    return Filters(
        search=wanted.search,
        role=Authority(chosen["role"]) if "role" in chosen else None,
        enabled=_STATES.get(chosen.get("state", "")),
    )


_STATES: Final = {"enabled": True, "disabled": False}
ACCOUNTS: Final = Table(
    noun="accounts",
    path=_PATH,
    page=lambda tx, actor, wanted, page_request: directory.listed(
        tx, actor=actor, filters=_filters(wanted), page_request=page_request
    ),
    count=lambda tx, actor, wanted: directory.count(tx, actor=actor, filters=_filters(wanted)),
    columns=(
        Column(key="email", value=lambda row, _: row.email, order="email"),
        Column(key="name", value=lambda row, _: row.name, look="wide"),
        Column(key="role", value=lambda row, words: words.option("role", row.role.value), look="middle nowrap"),
        Column(key="company", value=lambda row, _: row.company_name, look="wide"),
        Column(
            key="state",
            value=lambda row, words: words.option("state", "enabled" if row.enabled else "disabled"),
        ),
        Column(key="created", value=lambda row, words: words.time(row.created_ms), look="widest"),
    ),
    filters=(
        Filter(key="role", values=tuple(each.value for each in Authority)),
        Filter(key="state", values=tuple(_STATES)),
    ),
    icon="users",
)
handlers: Final[list[Any]] = [accounts, count]
