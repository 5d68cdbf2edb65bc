"""Notices: what a page says of the change that led to it, once.

A notice travels in a cookie of the answer that leads on. It names a text of the catalogue and the values in it, so that
whoever can set cookies of this site can have no other words shown than ours. The button that undoes the change is
signed with the token of the session's forms, which nobody else knows: no foreign cookie puts another button there.
"""

import base64
import hashlib
import hmac
from typing import Final

import msgspec
from litestar.datastructures import Cookie

from tripline.domain.refusals import Value
from tripline.http import authentication, cookies
from tripline.http.context.base import Call
from tripline.language import catalogue
from tripline.language.catalogue import Language

GOOD: Final = "good"
KINDS: Final = (GOOD, "info", "warning", "bad")
COOKIE: Final = "notice"
_KEPT_S: Final = 60
_LONGEST: Final = 2_000
"""Characters: browsers keep 4,096 of a cookie."""
_CUT: Final = 200
_JSON: Final = msgspec.json.Encoder()


class Undo(msgspec.Struct, frozen=True):
    """The form that takes the change back: where it is sent, and what it says."""

    action: str
    values: dict[str, str] = {}


class Notice(msgspec.Struct, frozen=True):
    """What is shown."""

    kind: str
    """One of `KINDS`."""
    text: str
    undo: Undo | None = None


_SENT: Final = msgspec.json.Decoder(tuple[str, str, dict[str, str | int | float], Undo | None, str])
"""Name of the text, kind, values, how to undo the change, the signature of that."""


def kept(request: Call, name: str, kind: str, values: dict[str, Value], undo: Undo | None = None) -> Cookie:
    """The cookie that carries the notice to the next page."""
    short = {each: value[:_CUT] if isinstance(value, str) else value for each, value in values.items()}
    sent = _JSON.encode([name, kind, short, undo, _signature(request, undo)])
    return _cookie(request, base64.urlsafe_b64encode(sent).decode(), _KEPT_S)


def taken(request: Call, language: Language) -> Notice | None:
    """The notice that came with the request, in this language."""
    came = request.cookies.get(COOKIE, "")
    if not came or len(came) > _LONGEST:
        return None
    try:
        name, kind, values, undo, signature = _SENT.decode(base64.urlsafe_b64decode(came))
        if kind not in KINDS or not name.startswith(catalogue.PORTAL):
            return None
        if not (signature and hmac.compare_digest(signature.encode(), _signature(request, undo).encode())):
            undo = None
        return Notice(kind, catalogue.text(name, language, **values), undo)
    except (msgspec.DecodeError, KeyError, ValueError):
        return None


def forgotten(request: Call) -> Cookie:
    """The cookie that ends the notice."""
    return _cookie(request, "", 0)


def _signature(request: Call, undo: Undo | None) -> str:
    """Empty where nothing is to be undone, or for a request without a session of ours."""
    key = authentication.csrf_of(request)
    return hmac.new(key.encode(), _JSON.encode(undo), hashlib.sha256).hexdigest() if key and undo else ""


def _cookie(request: Call, value: str, kept_s: int) -> Cookie:
    return Cookie(
        key=COOKIE,
        value=value,
        max_age=kept_s,
        path="/",
        httponly=True,
        secure=cookies.is_secure(request),
        samesite="lax",
    )
