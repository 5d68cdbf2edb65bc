"""Notices: a page's message about the change that led to it, shown once.

A notice is transported in a cookie of the redirect. It contains the key of a text and its values, so a forged cookie
can only show our own texts. The undo button is signed with the token of the session's forms, so a forged cookie cannot
add a button.
"""

import base64
import hashlib
import hmac
from typing import Final

import msgspec
from litestar.datastructures import Cookie

from tripline.domain.refusals import Value
from tripline.http import authentication, cookies
from tripline.http.context import Call
from tripline.language import catalogue
from tripline.language.catalogue import Language

GOOD: Final = "good"
KINDS: Final = (GOOD, "info", "warning", "bad")
COOKIE: Final = "notice"
_KEPT_S: Final = 60
_LONGEST: Final = 2_000
"""Characters: browsers store 4,096 per cookie."""
_CUT: Final = 200
_JSON: Final = msgspec.json.Encoder()


class Undo(msgspec.Struct, frozen=True):
    """The form that undoes a change: its target address and its fields."""

    action: str
    values: dict[str, str] = {}


class Notice(msgspec.Struct, frozen=True):
    """A notice, ready for the page."""

    kind: str
    text: str
    undo: Undo | None = None


_SENT: Final = msgspec.json.Decoder(tuple[str, str, dict[str, str | int | float], Undo | None, str])
"""Key of the text, kind, values, undo form, and the signature of the undo form."""


def kept(request: Call, name: str, kind: str, values: dict[str, Value], undo: Undo | None = None) -> Cookie:
    """The cookie that transports the notice to the next page."""
    short = {each: value[:_CUT] if isinstance(value, str) else value for each, value in values.items()}
    sent = _JSON.encode([name, kind, short, undo, _signature(request, undo)])
    return cookies.plain(request, COOKIE, base64.urlsafe_b64encode(sent).decode(), kept_s=_KEPT_S)


def taken(request: Call, language: Language) -> Notice | None:
    """The notice in the request's cookie, in this language."""
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
    """The cookie that deletes the notice."""
    return cookies.plain(request, COOKIE, "", kept_s=0)


def _signature(request: Call, undo: Undo | None) -> str:
    """Empty without an undo form, or without a session."""
    key = authentication.csrf_of(request)
    return hmac.new(key.encode(), _JSON.encode(undo), hashlib.sha256).hexdigest() if key and undo else ""
