"""Passwords that are forgotten: asking for a link by mail that sets a new one.

Not here: the same for programs (`api/passwords.py`), changing the own password (`account.py`).
"""

from typing import Any, Final

from litestar.response import Response

from tripline import observe
from tripline.domain import fields, passwords
from tripline.domain.access import Gate
from tripline.domain.refusals import Refusal
from tripline.http import errors, languages, peers
from tripline.http.rim import Call, rim_of
from tripline.portal import forms, views
from tripline.portal.page import page
from tripline.services.accounts import resets
from tripline.services.accounts.limits import TooManyForms

FORGOTTEN: Final = "/password"
SENT: Final = "/password/sent"
_LABELS: Final = {"email": "portal.password.email"}


def chosen(form: forms.Form, name: str) -> str:
    """The password that the form holds twice. Raises as `passwords.chosen`, and `passwords.PasswordsDiffer`."""
    password = passwords.chosen(name, form.secret(name))
    if password != form.secret("again_password"):
        raise passwords.PasswordsDiffer
    return password


@page("GET", FORGOTTEN, access=Gate.ANYONE)
async def ask(request: Call) -> Response[bytes]:
    """Ask for a link that sets a new password."""
    return views.show(request, None, "passwords/forgotten.html", title="portal.password.forgotten")


@page("POST", FORGOTTEN, access=Gate.ANYONE, refuses=(TooManyForms,))
async def send(request: Call) -> Response[bytes]:
    """Mail a link to the account with the address in the form; the answer is the same whether there is one or not."""
    form = await forms.read(request)
    rim = rim_of(request)
    language, now_ms = languages.asked_of(request), rim.clock()
    try:
        email = fields.email("email", form.text("email"))
        rim.limits.count_form(peers.address_of(request), now_ms=now_ms)
    except Refusal as refusal:
        return views.show(
            request,
            None,
            "passwords/forgotten.html",
            title="portal.password.forgotten",
            error=refusal,
            labels=_LABELS,
            headers=errors.retry_after(refusal),
            typed=form.typed,
        )
    if resets.may_ask(rim.limits, email=email, now_ms=now_ms):
        await rim.store.write(lambda tx: resets.ask(tx, email=email, language=language, ids=rim.ids, now_ms=now_ms))
        rim.signals.notify(observe.SIGNAL_MAIL_DUE)
    return views.moved(request, SENT)


@page("GET", SENT, access=Gate.ANYONE)
async def show_sent(request: Call) -> Response[bytes]:
    """What happens once a link was asked for."""
    return views.show(request, None, "passwords/sent.html", title="portal.password.sent")


handlers: Final[list[Any]] = [ask, send, show_sent]
