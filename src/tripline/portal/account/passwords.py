"""Passwords without a session: requesting a link by mail, and the page behind it, which sets a new password.

Opening a link does not use it up, because mail scanners open links too; only submitting its form does.

Not here: the same for programs (`api/passwords.py`), changing a known password (`account.py`).
"""

from typing import Final
from urllib.parse import urlencode

from litestar.response import Response

from tripline import observe
from tripline.domain import fields, passwords
from tripline.domain.access import Gate
from tripline.domain.refusals import BadParameter, Refusal
from tripline.http import errors, languages, parameters, peers
from tripline.http.context import Call, accounts_of, context_of
from tripline.http.operations import Value
from tripline.portal.frame import addresses, forms, views
from tripline.portal.frame.page import page
from tripline.services.accounts import links, resets
from tripline.services.accounts.hash_turns import TooManyLogins
from tripline.services.accounts.limits import TooManyForms

FORGOTTEN: Final = "/password"
SENT: Final = "/password/sent"
_AGAIN: Final = "again_password"
_LABELS: Final = {"email": "portal.password.email", "password": "portal.password.new", _AGAIN: "portal.password.again"}
_TOKEN: Final = Value("token", str, "from the link of a mail", "0b2oZr7Qw5m3kq1y", required=True)
_FIELDS_MAX: Final = 16
_FORM_MAX: Final = 16_384
"""Bytes: two passwords of the maximum length, every byte escaped, are under 7,000."""


def chosen(name: str, form: forms.Form) -> str:
    """The new password, which the form contains twice.

    Raises as `passwords.chosen`, also when the second is missing, and `passwords.PasswordsDiffer`.
    """
    checked = fields.Checks()
    password, again = checked(passwords.chosen, name, form.secret(name)), form.secret(_AGAIN)
    if not again:
        checked.refuse(BadParameter.missing(_AGAIN))
    checked.end()
    if password != again:
        raise passwords.PasswordsDiffer(field=_AGAIN)
    return password


@page("GET", FORGOTTEN, access=Gate.ANYONE)
async def ask(request: Call) -> Response[bytes]:
    """Request a link that sets a new password."""
    return views.show(request, "passwords/forgotten.html", title="portal.password.forgotten")


@page("POST", FORGOTTEN, access=Gate.ANYONE, refuses=(TooManyForms,))
async def send(request: Call) -> Response[bytes]:
    """Mail a link to the account with this address; the answer is the same if no account exists."""
    form = await forms.read(request)
    context = context_of(request)
    language, now_ms = languages.asked_of(request), context.clock()
    try:
        email = fields.email("email", form.text("email"))
        accounts_of(request).limits.count_form(peers.address_of(request), now_ms=now_ms)
    except Refusal as refusal:
        return views.show(
            request,
            "passwords/forgotten.html",
            title="portal.password.forgotten",
            error=refusal,
            labels=_LABELS,
            headers=errors.retry_after(refusal),
            typed=form.typed,
        )
    if accounts_of(request).limits.may_reset(email, now_ms=now_ms):
        await context.store.write(
            lambda tx: resets.ask(tx, email=email, language=language, ids=context.ids, now_ms=now_ms)
        )
        context.signals.notify(observe.SIGNAL_MAIL_DUE)
    return views.moved(request, SENT)


@page("GET", SENT, access=Gate.ANYONE)
async def show_sent(request: Call) -> Response[bytes]:
    """Explain the next steps after a link was requested."""
    return views.show(request, "passwords/sent.html", title="portal.password.sent")


@page("GET", links.PATH, access=Gate.ANYONE, query=(_TOKEN,), refuses=(links.LinkUnusable,))
async def choose(request: Call) -> Response[bytes]:
    """Set the password of a mailed link's account; opening the page does not use the link up."""
    context = context_of(request)
    token = parameters.query_text(request.query_params, _TOKEN.name) or ""
    try:
        await context.store.read_short(lambda tx: links.holder(tx, token=token, now_ms=context.clock()))
    except links.LinkUnusable as refusal:
        return _useless(request, refusal)
    return _choice(request, token)


@page(
    "POST",
    links.PATH,
    access=Gate.ANYONE,
    refuses=(links.LinkUnusable, passwords.PasswordsDiffer, passwords.PasswordTooShort, TooManyLogins),
)
async def take(request: Call) -> Response[bytes]:
    """Set the submitted password and use the link up."""
    form = await forms.read(request, fields=_FIELDS_MAX, most=_FORM_MAX)
    context, token = context_of(request), form.text(_TOKEN.name)
    try:
        # Check the link first: with an unusable link, a new password is pointless.
        await context.store.read_short(lambda tx: links.holder(tx, token=token, now_ms=context.clock()))
        await resets.set_password(
            context.store,
            token=token,
            password=chosen("password", form),
            attempts=peers.attempts_of(request),
            passwords=accounts_of(request).passwords,
            ids=context.ids,
        )
    except links.LinkUnusable as refusal:
        return _useless(request, refusal)
    except Refusal as refusal:
        return _choice(request, token, error=refusal)
    return views.moved(request, addresses.SIGN_IN, notice="portal.password.done")


def _choice(request: Call, token: str, *, error: Refusal | None = None) -> Response[bytes]:
    return views.show(
        request,
        "passwords/choose.html",
        title="portal.password.choose",
        error=error,
        labels=_LABELS,
        headers={} if error is None else errors.retry_after(error),
        token=token,
        # Keep the token in the address: the language can then be changed below a refused form too.
        action=f"{links.PATH}?{urlencode({_TOKEN.name: token})}",
        least=passwords.SHORTEST,
        most=passwords.LONGEST,
    )


def _useless(request: Call, refusal: links.LinkUnusable) -> Response[bytes]:
    return views.show(request, "passwords/useless.html", title="portal.password.useless", error=refusal)
