"""The page behind the link of a mail: a form that sets a password, without scripts and without outside requests.

Opening the page spends nothing, because mail scanners open links too; only sending the form does. Troubles are told in
the page, in words. Nothing may keep, frame or pass on what the address holds, so the headers forbid all of it.

Not here: the same for programs (`passwords.py`).
"""

import base64
import hashlib
import html
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs

from litestar.response import Response

from tripline.api import errors, parameters, peers
from tripline.api.operations import Value, operation
from tripline.api.rim import Call, rim_of
from tripline.domain import passwords
from tripline.domain.access import Gate
from tripline.domain.refusals import BadParameter, Refusal, TryLater
from tripline.services.accounts import links, resets
from tripline.services.accounts.links import LinkUnusable
from tripline.services.passwords import TooManyLogins

HTML: Final = "text/html"
FORM: Final = "application/x-www-form-urlencoded"
_FIELDS_MAX: Final = 16
_BODY_MAX: Final = 16_384
"""Bytes of a form: two longest passwords, every byte escaped, are under 7,000. To read a mebibyte takes 0.2 s."""
_STYLE: Final = """
body{font:18px/1.5 system-ui,sans-serif;margin:0;background:#f4f5f7;color:#16202c}
main{max-width:26rem;margin:0 auto;padding:2rem 1rem}
h1{font-size:1.5rem;line-height:1.2}
label{display:block;margin-top:1rem;font-weight:600}
input{box-sizing:border-box;width:100%;font:inherit;padding:.6rem;border:2px solid #52606d;border-radius:6px}
button{margin-top:1.5rem;width:100%;font:inherit;font-weight:600;padding:.7rem;border:0;border-radius:6px;
background:#0b5cad;color:#fff}
input:focus,button:focus{outline:3px solid #f0a202;outline-offset:2px}
.error{border-left:6px solid #b3261e;background:#fff;padding:.8rem 1rem}
.hint{color:#3e4c59}
"""
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS: Final = {
    "content-security-policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex",
}


class PasswordsDiffer(BadParameter):
    """The two passwords on the form are not the same."""

    code = "password.different"


@operation(
    "GET",
    links.PATH,
    access=Gate.ANYONE,
    answer=bytes,
    answer_type=HTML,
    query=(
        Value(name="token", type=str, meaning="from the link of a mail", example="0b2oZr7Qw5m3kq1y", required=True),
    ),
    also={400: bytes},
    refuses=(LinkUnusable,),
)
async def show(request: Call) -> Response[bytes]:
    """A page with a form to set the password of a mailed link's account; opening it does not use the link up."""
    rim = rim_of(request)
    token = parameters.query_text(request.query_params, "token") or ""
    try:
        await rim.store.read_short(lambda tx: links.holder(tx, token=token, now_ms=rim.clock()))
    except LinkUnusable as refusal:
        return _useless(refusal)
    return _page("Choose your password", _form(token))


@operation(
    "POST",
    links.PATH,
    access=Gate.ANYONE,
    request=bytes,
    request_types=(FORM,),
    answer=bytes,
    answer_type=HTML,
    also={400: bytes, 429: bytes},
    refuses=(LinkUnusable, PasswordsDiffer, passwords.PasswordTooShort, TooManyLogins),
)
async def take(request: Call) -> Response[bytes]:
    """Set the password that the form holds (`token`, `password`, `again`); the link is used up."""
    rim = rim_of(request)
    token = ""
    try:
        sent = _fields(await parameters.body(request))
        token = sent.get("token", "")
        await rim.store.read_short(lambda tx: links.holder(tx, token=token, now_ms=rim.clock()))
        password = passwords.chosen("password", sent.get("password"))
        if password != sent.get("again"):
            raise PasswordsDiffer("The two passwords are not the same; type the new password twice.")
        attempts = peers.attempts_of(request)
        await resets.set_password(rim.store, token=token, password=password, attempts=attempts, passwords=rim.passwords)
    except LinkUnusable as refusal:
        return _useless(refusal)
    except Refusal as refusal:
        return _page("Choose your password", _error(refusal) + _form(token), refusal)
    return _page("Your password is set", "<p role=status>You can log in with it now. This page may be closed.</p>")


def _fields(body: bytes) -> dict[str, str]:
    """The fields of a form; the first of each name. Raises `BadParameter`."""
    if len(body) > _BODY_MAX:
        raise BadParameter("The form is too long; open the link again.")
    try:
        sent = parse_qs(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS_MAX)
    except ValueError as error:
        raise BadParameter("The form cannot be read; open the link again.") from error
    return {name: values[0] for name, values in sent.items()}


def _form(token: str) -> str:
    return (
        f'<form method="post" action="{links.PATH}">'
        f'<input type="hidden" name="token" value="{html.escape(token)}">'
        '<label for="password">New password</label>'
        '<input id="password" name="password" type="password" autocomplete="new-password" required autofocus'
        f' minlength="{passwords.SHORTEST}" maxlength="{passwords.LONGEST}" aria-describedby="rule">'
        f'<p class="hint" id="rule">At least {passwords.SHORTEST} characters.</p>'
        '<label for="again">The same password again</label>'
        '<input id="again" name="again" type="password" autocomplete="new-password" required'
        f' minlength="{passwords.SHORTEST}" maxlength="{passwords.LONGEST}">'
        "<button>Set the password</button></form>"
    )


def _useless(refusal: LinkUnusable) -> Response[bytes]:
    return _page("This link does not work any more", _error(refusal), refusal)


def _error(refusal: Refusal) -> str:
    # Refusals name the field as programs send it; people see its label.
    told = str(refusal).replace("Parameter 'password'", "The password")
    return f'<p class="error" role="alert">{html.escape(told)}</p>'


def _page(title: str, content: str, refusal: Refusal | None = None) -> Response[bytes]:
    status = HTTPStatus.OK if refusal is None else errors.ANSWERS[refusal.kind][0]
    later = {"retry-after": str(refusal.after_s)} if isinstance(refusal, TryLater) else {}
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title} - Tripline</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{title}</h1>{content}</main></body></html>"
    )
    return Response(text.encode(), status_code=status, media_type=HTML, headers={**_HEADERS, **later})


handlers: Final[list[Any]] = [show, take]
