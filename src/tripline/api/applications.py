"""Applications for a service account: submitted without an account, reviewed by platform administrators.

Follows spec/interface (Authentication 1) and spec/rest 8.5.
"""

import secrets
from typing import Final

from litestar.types import ASGIApp

from tripline import observe
from tripline.domain import applications, fields, people
from tripline.domain.access import Action, Actor, Gate
from tripline.http import answers, changes, languages, pages, parameters, peers, permission, reads
from tripline.http.context import Call, accounts_of, context_of
from tripline.http.operations import Value, operation
from tripline.services.accounts import applications as service
from tripline.services.accounts.hash_turns import TooManyLogins
from tripline.services.accounts.limits import TooManyForms
from tripline.store.transactions import ReadTx
from tripline.wire.rest import accounts as rest_accounts
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest import read_only as rest_read_only
from tripline.wire.rest.base import Page

_STATE: Final = Value("state", str, "SUBMITTED, APPROVED or REJECTED; all when absent", "SUBMITTED")


@operation(
    "POST",
    "/api/noauth/application",
    access=Gate.ANYONE,
    request=rest_accounts.ApplicationRequest,
    required=("serviceName", "companyName", "contactName", "mobile", "email", "introduction"),
    answer=None,
    refuses=(TooManyForms,),
)
async def submit(request: Call) -> ASGIApp:
    """Apply for a service account; the result comes by mail.

    The answer is the same whether the address has an account, an application under review, or neither; a second
    application with an address changes nothing while the first is under review.
    """
    context = context_of(request)
    body = await parameters.json_object(request)
    sent = rest_bodies.read(body, rest_accounts.ApplicationRequest)
    rest_read_only.not_registered(body, rest_accounts.ApplicationRequest, rest_accounts.ApplicationRecord)
    form = applications.form(**rest_accounts.said(sent))
    language = languages.asked_of(request)
    now_ms = context.clock()
    accounts_of(request).limits.count_form(peers.address_of(request), now_ms=now_ms)
    await context.store.write(
        lambda tx: service.submit(tx, form=form, language=language, ids=context.ids, now_ms=now_ms)
    )
    return answers.ok({})


@operation(
    "GET",
    "/api/tre/v1/applications",
    access=Action.APPLICATION_REVIEW,
    answer=pages.timed(rest_accounts.ApplicationRecord),
    query=(_STATE,),
)
async def list_all(request: Call) -> ASGIApp:
    """Applications by the time they were sent in."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        state = applications.state_named(parameters.query_text(request.query_params, "state"))
        return reads.by_time(
            request,
            lambda span: service.listed(tx, actor=actor, state=state, span=span),
            record=rest_accounts.application_record,
            id_of=lambda application: application.id,
        )

    return await reads.answer(request, work)


@operation(
    "GET",
    "/api/tre/v1/application/{applicationId}",
    access=Action.APPLICATION_REVIEW,
    answer=rest_accounts.ApplicationRecord,
)
async def read(request: Call) -> ASGIApp:
    """One application."""
    actor = await permission.permitted(request)
    wanted = parameters.path_id(request, "applicationId")
    found = await context_of(request).store.read_short(lambda tx: service.read(tx, actor=actor, application_id=wanted))
    return answers.ok(rest_accounts.application_record(found))


@operation(
    "POST",
    "/api/tre/v1/application/{applicationId}/approve",
    access=Action.APPLICATION_REVIEW,
    answer=rest_accounts.ApplicationRecord,
    refuses=(applications.AlreadyDecided, people.EmailTaken, TooManyLogins),
)
async def approve(request: Call) -> ASGIApp:
    """Grant the service account; a mail with a link to set its password goes to the applicant."""
    context = context_of(request)
    actor = await permission.permitted(request)
    wanted = parameters.path_id(request, "applicationId")
    # A hash like any other: a log-in before the password is set takes the time of one with a wrong password.
    nobodys = await accounts_of(request).passwords.hash(secrets.token_urlsafe(32), peers.requester_of(request, actor))
    found = await context.store.write(
        lambda tx: service.approve(tx, **changes.by(request, actor), application_id=wanted, password_hash=nobodys)
    )
    context.signals.notify(observe.SIGNAL_MAIL_DUE)
    return answers.ok(rest_accounts.application_record(found))


@operation(
    "POST",
    "/api/tre/v1/application/{applicationId}/reject",
    access=Action.APPLICATION_REVIEW,
    request=rest_accounts.Rejection,
    required=("reason",),
    answer=rest_accounts.ApplicationRecord,
    refuses=(applications.AlreadyDecided,),
)
async def reject(request: Call) -> ASGIApp:
    """Refuse the service account; a mail with the reason goes to the applicant."""
    context = context_of(request)
    actor = await permission.permitted(request)
    wanted = parameters.path_id(request, "applicationId")
    await context.store.read_short(lambda tx: service.read(tx, actor=actor, application_id=wanted))
    sent = rest_bodies.read(await parameters.json_object(request), rest_accounts.Rejection)
    reason = fields.prose("reason", sent.reason)
    found = await context.store.write(
        lambda tx: service.reject(tx, **changes.by(request, actor), application_id=wanted, reason=reason)
    )
    context.signals.notify(observe.SIGNAL_MAIL_DUE)
    return answers.ok(rest_accounts.application_record(found))
