"""The page behind the link of a mail: a form that sets a password, without scripts and without outside requests.

Opening the page spends nothing, because mail scanners open links too; only sending the form does. Troubles are told in
the page, in words. Nothing may keep, frame or pass on what the address holds, so the headers forbid all of it.

Not here: the same for programs (`passwords.py`).
"""

import base64
import functools
import hashlib
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from litestar.response import Response

from tripline.domain import passwords
from tripline.domain.access import Gate
from tripline.domain.refusals import BadParameter, Refusal
from tripline.http import errors, languages, parameters, peers
from tripline.http.operations import Value, operation
from tripline.http.rim import Call, rim_of
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.later import Later
from tripline.services.accounts import links, resets
from tripline.services.accounts.links import LinkUnusable
from tripline.services.accounts.passwords import TooManyLogins

if TYPE_CHECKING:
    import jinja2
else:
    jinja2 = Later("jinja2")

HTML: Final = "text/html"
FORM: Final = "application/x-www-form-urlencoded"
_FIELDS_MAX: Final = 16
_BODY_MAX: Final = 16_384
"""Bytes of a form: two longest passwords, every byte escaped, are under 7,000. To read a mebibyte takes 0.2 s."""
_TEMPLATES: Final = Path(__file__).with_name("templates")
_HEADERS: Final = {
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex",
}


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
        return _page(request, "page.useless", refusal=refusal)
    return _page(request, "page.choose", token=token)


@operation(
    "POST",
    links.PATH,
    access=Gate.ANYONE,
    request=bytes,
    request_types=(FORM,),
    answer=bytes,
    answer_type=HTML,
    also={400: bytes, 429: bytes},
    refuses=(LinkUnusable, passwords.PasswordsDiffer, passwords.PasswordTooShort, TooManyLogins),
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
            raise passwords.PasswordsDiffer()
        attempts = peers.attempts_of(request)
        await resets.set_password(
            rim.store, token=token, password=password, attempts=attempts, passwords=rim.passwords, ids=rim.ids
        )
    except LinkUnusable as refusal:
        return _page(request, "page.useless", refusal=refusal)
    except Refusal as refusal:
        return _page(request, "page.choose", refusal=refusal, token=token)
    return _page(request, "page.set")


def _fields(body: bytes) -> dict[str, str]:
    """The fields of a form; the first of each name. Raises `BadParameter`."""
    if len(body) > _BODY_MAX:
        raise BadParameter("form_long")
    try:
        sent = parse_qs(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS_MAX)
    except ValueError as error:
        raise BadParameter("form_unreadable") from error
    return {name: values[0] for name, values in sent.items()}


def _page(request: Call, title: str, *, refusal: Refusal | None = None, token: str | None = None) -> Response[bytes]:
    """The page: what was refused, if anything; the form when there is a token to send with it."""
    language = languages.asked_of(request)
    template, style, policy = _made()
    text = template.render(
        language=language.value,
        say=lambda name, **values: catalogue.text(name, language, **values),
        title=title,
        style=style,
        error=None if refusal is None else _error(refusal, language),
        path=links.PATH,
        token=token,
        shortest=passwords.SHORTEST,
        longest=passwords.LONGEST,
    )
    status = HTTPStatus.OK if refusal is None else errors.ANSWERS[refusal.kind][0]
    headers = {**_HEADERS, "content-security-policy": policy, **languages.headers(language)}
    if refusal is not None:
        headers |= errors.retry_after(refusal)
    return Response(str(text).encode(), status_code=status, media_type=HTML, headers=headers)


def _error(refusal: Refusal, language: Language) -> str:
    # Refusals name the field as programs send it; people see its label.
    label = catalogue.text("page.password", language) if refusal.field == "password" else None
    return catalogue.sentence(refusal, language, label=label)


@functools.cache
def _made() -> "tuple[jinja2.Template, str, str]":
    """The template, its style, and the policy that allows this style and nothing else."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (_TEMPLATES / "set_password.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return environment.get_template("set_password.html"), style, policy


handlers: Final[list[Any]] = [show, take]
