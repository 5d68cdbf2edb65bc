"""The list of all accounts of the installation, by e-mail address, and how many they are.

For platform administrators, so it takes no scope.
"""

from typing import Final

import msgspec
from sqlalchemy import FromClause, and_, bindparam

from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.store import prefixes
from tripline.store.accounts.accounts import login_form
from tripline.store.listing.engine import Filter, ListSpec, Search
from tripline.store.listing.noun_list import Looked, NounList, shown
from tripline.store.tables import account, company


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which accounts to list; None: any."""

    search: str | None = None
    """Beginning of the e-mail address, in any case."""
    role: Authority | None = None
    enabled: bool | None = None


class ListedAccount(msgspec.Struct, frozen=True):
    """An account as a list shows it."""

    id: UserId
    created_ms: int
    name: str
    email: str
    role: Authority
    enabled: bool
    company_name: str | None


def _bounds(text: str) -> tuple[str, str]:
    # Stored in the form in which addresses are compared, so one range has every letter case.
    first = login_form(text)
    return first, first + prefixes.LAST


def _looked(row: FromClause) -> Looked:
    columns = {"role": row.c.authority, "company_name": company.c.name}
    return Looked(columns, [(company, company.c.id == row.c.company_id)])


_SPEC: Final = ListSpec(
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
    filters={
        "role": Filter(where=account.c.authority == bindparam("role")),
        "enabled.True": Filter(where=account.c.enabled.is_(True)),
        "enabled.False": Filter(where=account.c.enabled.is_(False)),
    },
    shown=shown(ListedAccount, account, _looked, key="login"),
)
LIST: Final[NounList[Filters, ListedAccount]] = NounList(record=ListedAccount, spec=_SPEC)
