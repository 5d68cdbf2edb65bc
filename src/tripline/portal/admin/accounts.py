"""The page of one account for platform administrators: show, disable, enable."""

from typing import Final

from litestar.response import Response

from tripline.domain.access import Action
from tripline.domain.ids import UserId
from tripline.domain.refusals import Refusal
from tripline.http import parameters
from tripline.http.context import Call, context_of
from tripline.portal.frame import forms, views
from tripline.portal.frame.notices import Undo
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import visitor_and, visitor_of
from tripline.services.accounts import directory
from tripline.store.accounts.directory import Entry

_LIST: Final = "/admin/accounts"
_ONE: Final = f"{_LIST}/{{accountId}}"


@page("GET", _ONE, access=Action.ACCOUNT_MANAGE)
async def show(request: Call) -> Response[bytes]:
    """One account, with the button that disables or enables it."""
    return await _shown(request)


@page("POST", f"{_ONE}/disable", access=Action.ACCOUNT_MANAGE, refuses=(directory.OwnAccount,))
async def disable(request: Call) -> Response[bytes]:
    """Disable the account and end its sessions and links."""
    await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    user_id, now_ms = _account_id(request), context.clock()
    try:
        found = await context.store.write(
            lambda tx: directory.bar(tx, actor=visitor.actor, user_id=user_id, now_ms=now_ms)
        )
    except Refusal as refusal:
        return await _shown(request, error=forms.of_form(refusal))
    return _changed(request, found, enabled=False)


@page("POST", f"{_ONE}/enable", access=Action.ACCOUNT_MANAGE)
async def enable(request: Call) -> Response[bytes]:
    """Enable the account again."""
    await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    user_id = _account_id(request)
    found = await context.store.write(lambda tx: directory.unbar(tx, actor=visitor.actor, user_id=user_id))
    return _changed(request, found, enabled=True)


def _changed(request: Call, before: Entry, *, enabled: bool) -> Response[bytes]:
    path, done = f"{_LIST}/{before.id}", "enabled" if enabled else "disabled"
    if before.enabled is enabled:
        return views.moved(request, path, notice=f"portal.accounts.{done}_already", email=before.email)
    undo = Undo(f"{path}/disable" if enabled else f"{path}/enable")
    return views.moved(request, path, notice=f"portal.accounts.{done}", undo=undo, email=before.email)


async def _shown(request: Call, *, error: Refusal | None = None) -> Response[bytes]:
    user_id = _account_id(request)
    visitor, found = await visitor_and(
        request, lambda tx, visitor: directory.read(tx, actor=visitor.actor, user_id=user_id)
    )
    return views.show(
        request,
        "admin/account.html",
        title=views.Plain(found.email),
        error=error,
        account=found,
        own=found.id == visitor.actor.user_id,
    )


def _account_id(request: Call) -> UserId:
    return UserId(parameters.path_id(request, "accountId"))
