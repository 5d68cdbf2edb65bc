"""Every account of the installation, as platform administrators see it: found, disabled, enabled.

Not here: people of a company (`people.py`), the own account (`account.py`).
"""

from typing import Any, Final

from litestar.response import Response

from tripline.domain import fields
from tripline.domain.access import Action, Authority
from tripline.domain.ids import UserId
from tripline.domain.refusals import Refusal
from tripline.http import parameters
from tripline.http.rim import Call, rim_of
from tripline.portal import forms, views
from tripline.portal.notices import Undo
from tripline.portal.page import page
from tripline.portal.visitors import visitor_in, visitor_of
from tripline.services.accounts import directory
from tripline.store.accounts.directory import Which
from tripline.store.transactions import ReadTx

LIST: Final = "/admin/accounts"
_ONE: Final = "/admin/accounts/{accountId}"
_SHOWN: Final = 50
"""Accounts on a page."""
_STATES: Final = {"enabled": True, "disabled": False}


@page("GET", LIST, access=Action.ACCOUNT_MANAGE)
async def show_all(request: Call) -> Response[bytes]:
    """Accounts of every kind, by e-mail address."""
    query = request.query_params
    role = fields.one_of("role", parameters.query_text(query, "role"), list(Authority))
    state = fields.one_of("state", parameters.query_text(query, "state"), list(_STATES))
    which = Which(
        beginning=parameters.query_text(query, "q"),
        authority=None if role is None else Authority(role),
        enabled=None if state is None else _STATES[state],
    )
    after = parameters.query_text(query, "after")

    def work(tx: ReadTx) -> Any:
        visitor = visitor_in(tx, request)
        return visitor, directory.listed(tx, actor=visitor.actor, which=which, after=after, limit=_SHOWN + 1)

    visitor, found = await rim_of(request).store.read(work)
    return views.show(
        request,
        visitor,
        "admin/accounts.html",
        title="portal.accounts.title",
        accounts=found[:_SHOWN],
        following=found[_SHOWN - 1].login if len(found) > _SHOWN else None,
        roles=[each.value for each in Authority],
        role=role,
        states=list(_STATES),
        state=state,
        search=which.beginning or "",
    )


@page("GET", _ONE, access=Action.ACCOUNT_MANAGE)
async def show(request: Call) -> Response[bytes]:
    """One account, with the button that disables or enables it."""
    return await _shown(request)


@page("POST", f"{_ONE}/disable", access=Action.ACCOUNT_MANAGE, refuses=(directory.OwnAccount,))
async def disable(request: Call) -> Response[bytes]:
    """Bar the account: its sessions and links end."""
    await forms.read(request)
    rim, visitor = rim_of(request), await visitor_of(request)
    user_id, now_ms = _account_id(request), rim.clock()
    try:
        found = await rim.store.write(lambda tx: directory.bar(tx, actor=visitor.actor, user_id=user_id, now_ms=now_ms))
    except Refusal as refusal:
        if refusal.kind in forms.NOT_OF_FORM:
            raise
        return await _shown(request, error=refusal)
    path = f"{LIST}/{user_id}"
    undo = Undo(f"{path}/enable")
    return views.moved(request, path, notice="portal.accounts.disabled", undo=undo, email=found.email)


@page("POST", f"{_ONE}/enable", access=Action.ACCOUNT_MANAGE)
async def enable(request: Call) -> Response[bytes]:
    """Let the account be used again."""
    await forms.read(request)
    rim, visitor = rim_of(request), await visitor_of(request)
    user_id = _account_id(request)
    found = await rim.store.write(lambda tx: directory.unbar(tx, actor=visitor.actor, user_id=user_id))
    path = f"{LIST}/{user_id}"
    undo = Undo(f"{path}/disable")
    return views.moved(request, path, notice="portal.accounts.enabled", undo=undo, email=found.email)


async def _shown(request: Call, *, error: Refusal | None = None) -> Response[bytes]:
    user_id = _account_id(request)

    def work(tx: ReadTx) -> Any:
        visitor = visitor_in(tx, request)
        return visitor, directory.read(tx, actor=visitor.actor, user_id=user_id)

    visitor, found = await rim_of(request).store.read_short(work)
    return views.show(
        request,
        visitor,
        "admin/account.html",
        title=views.Plain(found.email),
        error=error,
        account=found,
        own=found.id == visitor.actor.user_id,
    )


def _account_id(request: Call) -> UserId:
    return UserId(parameters.path_id(request, "accountId"))


handlers: Final[list[Any]] = [show_all, show, disable, enable]
