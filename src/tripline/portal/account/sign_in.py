"""Signing in with a browser, by password or by a one-time link, and signing out.

A sign-in always gives the browser a new cookie (`services/accounts/sessions.py`). Opening a link does not use
it up, because mail scanners and previews open links too; only the button on its page does.
"""

from typing import Final

from litestar.response import Response

from tripline.domain import fields
from tripline.domain.access import Gate
from tripline.domain.refusals import BadParameter, Refusal, TryLater
from tripline.http import authentication, cookies, errors, parameters, peers
from tripline.http.context import Call, accounts_of, context_of
from tripline.http.operations import Value
from tripline.portal.frame import addresses, forms, views
from tripline.portal.frame.page import HTML, page
from tripline.portal.frame.visitors import guest_in, visitor_of
from tripline.services.accounts import links, login, sessions
from tripline.services.accounts.hash_turns import TooManyLogins
from tripline.services.accounts.links import LinkUnusable
from tripline.store.accounts import accounts, directory
from tripline.store.accounts.links import Purpose
from tripline.store.transactions import ReadTx

_NEXT: Final = Value(addresses.NEXT, str, "where to go after signing in", "/fleet/vehicles")
_TOKEN: Final = Value("token", str, "from the link", "0b2oZr7Qw5m3kq1y", required=True)
_LABELS: Final = {"email": "portal.sign_in.email", "password": "portal.sign_in.password"}


@page("GET", addresses.SIGN_IN, access=Gate.ANYONE, query=(_NEXT,))
async def show(request: Call) -> Response[bytes]:
    """Sign in; a fresh installation shows the command that creates the first account."""

    def work(tx: ReadTx) -> tuple[bool, bool]:
        return guest_in(tx, request) is not None, directory.any_made(tx)

    signed_in, any_made = await context_of(request).store.read_short(work)
    there = addresses.within(request.query_params.get(addresses.NEXT))
    if signed_in:
        return views.moved(request, there)
    if not any_made:
        return views.show(request, "sign_in/first.html", title="portal.sign_in.first")
    return _form(request, there)


@page("POST", addresses.SIGN_IN, access=Gate.ANYONE, refuses=(login.WrongCredentials, login.MustWait, TooManyLogins))
async def take(request: Call) -> Response[bytes]:
    """Sign in with e-mail address and password."""
    form = await forms.read(request)
    there = addresses.within(form.text(addresses.NEXT))
    context = context_of(request)
    checked = fields.Checks()
    email = checked(_filled, "email", form.text("email"))
    password = checked(_filled, "password", form.secret("password"))
    try:
        checked.end()
        cookie = await login.sign_in(
            context.store,
            claim=(email, password),
            attempts=peers.attempts_of(request),
            passwords=accounts_of(request).passwords,
            settings=accounts_of(request).browsers.settings,
            before=cookies.found(request),
        )
    except Refusal as refusal:
        return _form(request, there, error=refusal, email=form.text("email"))
    answer = _entered(there, cookies.given(request, cookie))
    answer.cookies.append(cookies.marked(request, accounts_of(request).tokens.mark(accounts.login_form(email))))
    return answer


@page("GET", links.SIGN_IN_PATH, access=Gate.ANYONE, query=(_TOKEN,), refuses=(LinkUnusable,))
async def show_link(request: Call) -> Response[bytes]:
    """The page of a one-time link, with the button that signs in."""
    context = context_of(request)
    token = parameters.query_text(request.query_params, _TOKEN.name) or ""
    try:
        await context.store.read_short(
            lambda tx: links.holder(tx, token=token, now_ms=context.clock(), purpose=Purpose.SIGN_IN)
        )
    except LinkUnusable as refusal:
        return _useless(request, refusal)
    return views.show(request, "sign_in/link.html", title="portal.sign_in.title", token=token)


@page("POST", links.SIGN_IN_PATH, access=Gate.ANYONE, refuses=(LinkUnusable,))
async def take_link(request: Call) -> Response[bytes]:
    """Sign in by a one-time link and use it up."""
    form = await forms.read(request)
    context = context_of(request)
    attempts = peers.attempts_of(request)
    before = cookies.found(request)
    try:
        cookie = await context.store.write(
            lambda tx: links.sign_in(
                tx,
                token=form.text(_TOKEN.name),
                client=attempts.client,
                settings=accounts_of(request).browsers.settings,
                before=before,
                now_ms=attempts.now_ms,
            )
        )
    except LinkUnusable as refusal:
        return _useless(request, refusal)
    return _entered(addresses.HOME, cookies.given(request, cookie))


@page("POST", "/sign-out", access=Gate.ACCOUNT)
async def sign_out(request: Call) -> Response[bytes]:
    """End the session of this browser."""
    await forms.read(request)
    visitor = await visitor_of(request)
    session_id = authentication.session_of(request)
    await context_of(request).store.write(lambda tx: sessions.end(tx, actor=visitor.actor, session_id=session_id))
    return _entered(addresses.SIGN_IN, cookies.taken(request))


def _filled(name: str, value: str) -> str:
    if not value:
        raise BadParameter.missing(name)
    return value


def _form(request: Call, there: str, *, error: Refusal | None = None, email: str = "") -> Response[bytes]:
    return views.show(
        request,
        "sign_in/form.html",
        title="portal.sign_in.title",
        error=error,
        labels=_LABELS,
        headers={} if error is None else errors.retry_after(error),
        wait_s=error.after_s if isinstance(error, TryLater) else 0,
        there=there,
        email=email,
    )


def _useless(request: Call, refusal: LinkUnusable) -> Response[bytes]:
    return views.show(request, "sign_in/useless.html", title="portal.sign_in.useless", error=refusal)


def _entered(there: str, header: dict[str, str]) -> Response[bytes]:
    """Redirect with another cookie, as a full page load: nothing of the previous page remains valid."""
    return Response(b"", status_code=303, media_type=HTML, headers={**views.HEADERS, "location": there, **header})
