"""Visitors: the account that opens a page, its values for every page, and its role's permissions."""

import contextlib
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from tripline.domain import access
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.refusals import Kind, Refusal, Value
from tripline.http import authentication, cookies, languages, permission
from tripline.http.context import Call, context_of
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.ports.outages import Outage
from tripline.services.accounts.tokens import TokenUnreadable
from tripline.store.accounts import accounts as store
from tripline.store.accounts.accounts import Account, Company
from tripline.store.transactions import ReadTx

T = TypeVar("T")

SYSTEM: Final = "system"
"""The theme of the visitor's system."""
_LOOKING: Final = "tripline.visitor"
_NOBODY: Final = (Kind.AUTHENTICATION, Kind.TOKEN_EXPIRED)


class Visitor(msgspec.Struct, frozen=True, kw_only=True):
    """The account that opens a page."""

    actor: Actor
    name: str
    email: str
    company: Company | None
    language: Language
    theme: str
    """`system`, `light` or `dark`."""

    @property
    def role(self) -> Authority:
        return self.actor.authority

    def may(self, action: Action) -> bool:
        """True if the role may do the action on some rows."""
        return self.role in access.RULES[action]

    def say(self, name: str, /, **values: Value) -> str:
        return catalogue.text(name, self.language, **values)


def visitor_in(tx: ReadTx, request: Call) -> Visitor:
    """The visitor, whose role must be permitted to use the page: the first check of every page.

    Raises as `permission.permitted_in`.
    """
    visitor = _account_in(tx, request)
    permission.require_role(request, visitor.actor)
    return visitor


def _account_in(tx: ReadTx, request: Call) -> Visitor:
    actor = authentication.actor_in(tx, request)
    return _looking(request, actor, authentication.account_of(request) or store.own_account(tx, actor.user_id))


def _looking(request: Call, actor: Actor, account: Account | None) -> Visitor:
    """Create the visitor for this account and store it in the request. Raises `TokenUnreadable` without an account."""
    if account is None:
        raise TokenUnreadable("account_gone")
    if account.language in frozenset(Language):
        request.scope[languages.CHOSEN] = Language(account.language)  # type: ignore[typeddict-unknown-key]
    visitor = Visitor(
        actor=actor,
        name=account.name,
        email=account.email,
        company=account.company,
        language=languages.asked_of(request),
        theme=account.theme or SYSTEM,
    )
    request.scope[_LOOKING] = visitor  # type: ignore[typeddict-unknown-key]
    return visitor


async def visitor_of(request: Call) -> Visitor:
    """As `visitor_in`, in a statement of its own."""
    actor = await authentication.actor(request)
    account = authentication.account_of(request)
    if account is None:
        account = await context_of(request).store.read_short(lambda tx: store.own_account(tx, actor.user_id))
    visitor = _looking(request, actor, account)
    permission.require_role(request, actor)
    return visitor


async def visitor_and(request: Call, work: Callable[[ReadTx, Visitor], T], *, short: bool = True) -> tuple[Visitor, T]:
    """The visitor as of `visitor_in`, and what the work reads for that visitor in the same transaction; not `short`: in
    many rows, off the event loop.
    """

    def both(tx: ReadTx) -> tuple[Visitor, T]:
        visitor = visitor_in(tx, request)
        return visitor, work(tx, visitor)

    store = context_of(request).store
    return await (store.read_short if short else store.read)(both)


def guest_in(tx: ReadTx, request: Call) -> Visitor | None:
    """The visitor of a public page; None without a sign-in."""
    try:
        return visitor_in(tx, request)
    except Refusal as refusal:
        if refusal.kind not in _NOBODY:
            raise
        return None


async def seek(request: Call) -> None:
    """Look up the visitor of an unknown address, for `known`; leave it open if that fails."""
    if cookies.found(request) is None:
        return
    with contextlib.suppress(Refusal, Outage):
        await context_of(request).store.read_short(lambda tx: _account_in(tx, request))


def known(request: Call) -> Visitor | None:
    """The visitor, if an earlier step of this request looked it up."""
    visitor: Visitor | None = request.scope.get(_LOOKING)  # type: ignore[assignment]
    return visitor
