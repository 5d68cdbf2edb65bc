"""Every account of the installation: find, disable, enable, and admit by a one-time link.

For platform administrators (`domain/access.py` checks) and commands of the data folder's owner.

Not here: new accounts (`registry.py`), people of a company (`services/fleet/`).
"""

from typing import Final

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.ids import UserId
from tripline.domain.refusals import Invalid, NotFound
from tripline.services import listings
from tripline.services.accounts import links
from tripline.store.accounts import directory as rows
from tripline.store.accounts import links as link_rows
from tripline.store.accounts import sessions
from tripline.store.accounts.directory import Entry
from tripline.store.listing import accounts
from tripline.store.transactions import ReadTx, WriteTx


class OwnAccount(Invalid):
    """A platform administrator was about to disable the account in use."""

    code = "account.own"


ACCOUNTS: Final = listings.permitted(Action.ACCOUNT_MANAGE, accounts.LIST)
"""The list of accounts."""


def read(tx: ReadTx, *, actor: Actor, user_id: UserId) -> Entry:
    """The account with this id. Raises `Forbidden`, `NotFound`."""
    access.scope_of(actor, Action.ACCOUNT_MANAGE)
    found = rows.find(tx, user_id)
    if found is None:
        raise NotFound("account_id")
    return found


def bar(tx: WriteTx, *, actor: Actor, user_id: UserId, now_ms: int) -> Entry:
    """The account as it was before the actor disabled it. Raises `OwnAccount`, and as `read`."""
    found = read(tx, actor=actor, user_id=user_id)
    if found.id == actor.user_id:
        raise OwnAccount()
    disable(tx, user_id=found.id, now_ms=now_ms)
    return found


def unbar(tx: WriteTx, *, actor: Actor, user_id: UserId) -> Entry:
    """The account as it was before the actor enabled it. Raises as `read`."""
    found = read(tx, actor=actor, user_id=user_id)
    enable(tx, user_id=found.id)
    return found


def of_email(tx: ReadTx, *, email: str) -> Entry:
    """The account with this e-mail address, enabled or not. Raises `NotFound`."""
    found = rows.find_by_email(tx, email)
    if found is None:
        raise NotFound("account_email", email=email)
    return found


def disable(tx: WriteTx, *, user_id: UserId, now_ms: int) -> None:
    """Bar the account from now on: its sessions and links end."""
    rows.enable(tx, user_id, enabled=False)
    sessions.revoke_all(tx, user_id)
    link_rows.forget_user(tx, user_id)


def enable(tx: WriteTx, *, user_id: UserId) -> None:
    """Enable the account; its owner must log in again."""
    rows.enable(tx, user_id, enabled=True)


def sign_in_link(tx: WriteTx, *, email: str, base: str, now_ms: int) -> str:
    """A one-time link that signs the account in, below the server's address `base`. Raises `NotFound`."""
    found = of_email(tx, email=email)
    if not found.enabled:
        raise NotFound("account", email=email)
    hours, purpose = links.SIGN_IN_HOURS, link_rows.Purpose.SIGN_IN
    token = links.make(tx, user_id=found.id, hours=hours, purpose=purpose, now_ms=now_ms)
    return f"{base.rstrip('/')}{links.SIGN_IN_PATH}?token={token}"
