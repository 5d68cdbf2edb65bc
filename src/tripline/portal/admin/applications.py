"""The page on which platform administrators decide an application for a service account."""

import secrets
from functools import partial
from typing import Any, Final

from litestar.response import Response

from tripline import observe
from tripline.domain import applications, fields, people
from tripline.domain.access import Action
from tripline.domain.applications import Application, State
from tripline.domain.refusals import Refusal
from tripline.http import parameters, peers
from tripline.http.context import Call, accounts_of, context_of
from tripline.portal.frame import forms, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import visitor_in, visitor_of
from tripline.services.accounts import applications as service
from tripline.services.accounts.hash_turns import TooManyLogins
from tripline.store.transactions import ReadTx

LIST: Final = "/admin/applications"
_ONE: Final = f"{LIST}/{{applicationId}}"
_LABELS: Final = {"reason": "portal.applications.reason"}


@page("GET", _ONE, access=Action.APPLICATION_REVIEW)
async def show(request: Call) -> Response[bytes]:
    """One application, with the buttons that decide it."""
    return await _shown(request)


@page(
    "POST",
    f"{_ONE}/approve",
    access=Action.APPLICATION_REVIEW,
    refuses=(applications.AlreadyDecided, people.EmailTaken, TooManyLogins),
)
async def approve(request: Call) -> Response[bytes]:
    """Grant the service account and mail the applicant a link to set its password."""
    await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    wanted = parameters.path_id(request, "applicationId")
    # A real hash: a sign-in before the password is set then takes as long as one with a wrong password.
    nobodys = await accounts_of(request).passwords.hash(
        secrets.token_urlsafe(32), peers.requester_of(request, visitor.actor)
    )
    decided = partial(
        service.approve,
        actor=visitor.actor,
        application_id=wanted,
        password_hash=nobodys,
        ids=context.ids,
        now_ms=context.clock(),
    )
    try:
        found = await context.store.write(decided)
    except Refusal as refusal:
        return await _shown(request, error=forms.of_form(refusal))
    context.signals.notify(observe.SIGNAL_MAIL_DUE)
    return views.moved(request, LIST, notice="portal.applications.approved", email=found.email)


@page("POST", f"{_ONE}/reject", access=Action.APPLICATION_REVIEW, refuses=(applications.AlreadyDecided,))
async def reject(request: Call) -> Response[bytes]:
    """Reject the application and mail the applicant the reason."""
    form = await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    wanted = parameters.path_id(request, "applicationId")
    try:
        reason = fields.prose("reason", form.text("reason").replace("\r\n", "\n"))
        decided = partial(
            service.reject,
            actor=visitor.actor,
            application_id=wanted,
            reason=reason,
            ids=context.ids,
            now_ms=context.clock(),
        )
        found = await context.store.write(decided)
    except Refusal as refusal:
        return await _shown(request, error=forms.of_form(refusal), typed=form.typed)
    context.signals.notify(observe.SIGNAL_MAIL_DUE)
    return views.moved(request, LIST, notice="portal.applications.rejected", email=found.email)


async def _shown(request: Call, *, error: Refusal | None = None, **values: Any) -> Response[bytes]:
    wanted = parameters.path_id(request, "applicationId")

    def work(tx: ReadTx) -> tuple[Application, str | None]:
        actor = visitor_in(tx, request).actor
        found = service.read(tx, actor=actor, application_id=wanted)
        return found, service.decider(tx, actor=actor, application=found)

    found, decider = await context_of(request).store.read_short(work)
    return views.show(
        request,
        "admin/application.html",
        title=views.Plain(found.service_name),
        error=error,
        labels=_LABELS,
        application=found,
        decider=decider,
        open=found.state is State.SUBMITTED,
        **values,
    )
