"""The caller's own account sessions: who is logged in where, and ending that (spec/rest 2.1)."""

from typing import Final

from litestar.types import ASGIApp

from tripline.domain.access import Actor, Gate
from tripline.domain.refusals import NotFound
from tripline.http import answers, authentication, pages, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import Value, operation
from tripline.services.accounts import sessions as service
from tripline.store.transactions import ReadTx
from tripline.wire.rest import accounts as rest_accounts
from tripline.wire.rest.base import Page

_KEEP: Final = Value("keepCurrent", bool, "true: the session of this request goes on", True)


@operation("POST", "/api/auth/logout", access=Gate.ACCOUNT, answer=None)
async def log_out(request: Call) -> ASGIApp:
    """End the session of this request: its access tokens and its refresh token become invalid at once."""
    actor = await permission.permitted(request)
    current = authentication.session_of(request)
    await context_of(request).store.write(lambda tx: service.end(tx, actor=actor, session_id=current))
    return answers.ok({})


@operation("GET", "/api/tre/v1/sessions", access=Gate.ACCOUNT, answer=pages.timed(rest_accounts.SessionRecord))
async def list_own(request: Call) -> ASGIApp:
    """The caller's own sessions, by when they were opened."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        current, now_ms = authentication.session_of(request), context_of(request).clock()
        return reads.by_time(
            request,
            lambda span: service.listed(tx, actor=actor, now_ms=now_ms, span=span),
            record=lambda session: rest_accounts.session_record(session, current=current),
            id_of=lambda session: session.id,
        )

    return await reads.answer(request, work)


@operation("DELETE", "/api/tre/v1/session/{sessionId}", access=Gate.ACCOUNT, answer=None, refuses=(NotFound,))
async def end(request: Call) -> ASGIApp:
    """End one of the caller's own sessions: its tokens, or its browser's cookie, become invalid at once."""
    actor = await permission.permitted(request)
    session_id = parameters.path_id(request, "sessionId")
    await context_of(request).store.write(lambda tx: service.end(tx, actor=actor, session_id=session_id))
    return answers.ok({})


@operation("DELETE", "/api/tre/v1/sessions", access=Gate.ACCOUNT, answer=None, query=(_KEEP,))
async def end_all(request: Call) -> ASGIApp:
    """End all of the caller's own sessions; the current one too, unless the request keeps it."""
    actor = await permission.permitted(request)
    keeps = parameters.query_flag(request.query_params, _KEEP.name)
    kept = authentication.session_of(request) if keeps else None
    await context_of(request).store.write(lambda tx: service.end_all(tx, actor=actor, kept=kept))
    return answers.ok({})
