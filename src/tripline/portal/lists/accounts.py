"""The list of all accounts, by e-mail address."""

from typing import Final

from tripline.domain.access import Action, Authority
from tripline.portal.lists.columns import Column, Filter, Kind, each_of
from tripline.portal.lists.tables import Table
from tripline.services.accounts import directory
from tripline.store.listing.accounts import Filters

_ROLE: Final = Filter(key="role", values=each_of(Authority))
_STATE: Final = Filter(key="state", field="enabled", values={"enabled": True, "disabled": False})
ACCOUNTS: Final = Table(
    noun="accounts",
    path="/admin/accounts",
    access=Action.ACCOUNT_MANAGE,
    listing=directory.ACCOUNTS,
    which=Filters,
    columns=(
        Column("email", Kind.ADDRESS, order="email", to=lambda row, _: f"/admin/accounts/{row.id}"),
        Column("name", Kind.CLIP, look="wide"),
        Column("role", Kind.CHOICE, choice=_ROLE, look="middle nowrap"),
        Column("company", Kind.CLIP, "company_name", look="wide"),
        Column("state", Kind.CHOICE, "enabled", choice=_STATE, colours={"enabled": "good", "disabled": "idle"}),
        Column("created", Kind.DATE, "created_ms", look="widest"),
    ),
    filters=(_ROLE, _STATE),
    icon="users",
)
