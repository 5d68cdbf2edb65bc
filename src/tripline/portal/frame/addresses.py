"""Addresses of pages: redirect targets that stay on our site, paths with values in their query, places in lists."""

import base64
import re
from collections.abc import Sequence
from typing import Annotated, Final
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Meta

from tripline.http.context.base import Call
from tripline.store.browsing.pages import Place

HOME: Final = "/"
SIGN_IN: Final = "/sign-in"
NEXT: Final = "next"
"""The value of a query, or of a form, that says where to go afterwards."""
SEARCH, AFTER, BEFORE = "q", "after", "before"
"""Values of the query of a list: what is searched for, and the place behind or before which its page begins."""
SEARCH_MAX: Final = 255
"""Characters that count; nothing that is searched has more."""
_LONGEST: Final = 2_000
_PLAIN: Final = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""A path of ours: one slash, then visible ASCII without a backslash, which browsers take for a slash."""
_JSON: Final = msgspec.json.Encoder()
_PLACE: Final = msgspec.json.Decoder(tuple[str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)], str])
_ROUND: Final = ("/sign-in", "/sign-out", "/api/")
"""What nobody is sent to: back to the sign-in, or to what is no page."""


def within(address: str | None, default: str = HOME) -> str:
    """The address when it is a page of ours, else the default: whatever a request names leads to no other site."""
    if not address or len(address) > _LONGEST or _PLAIN.fullmatch(address) is None or address.startswith(_ROUND):
        return default
    return address


def of_list(address: str, path: str) -> str | None:
    """The address when it is the list at this path, in whatever state; None for any other, and for none."""
    return address if within(address).partition("?")[0] == path else None


def present(request: Call) -> str:
    """The address of this page: path and query."""
    query = request.scope["query_string"].decode("latin-1")
    return f"{_path(request)}?{query}" if query else _path(request)


def changed(request: Call, **values: object) -> str:
    """The address of this page with other values in its query; None leaves one out."""
    kept = [(name, value) for name, value in request.query_params.multi_items() if name not in values]
    kept += [(name, str(value)) for name, value in values.items() if value is not None]
    return of(_path(request), kept)


def without(request: Call, part: str) -> str:
    """The address of the page that this one is a part of: without the end of its path."""
    path, asks, query = present(request).partition("?")
    return f"{path.removesuffix(part)}{asks}{query}"


def of(path: str, query: Sequence[tuple[str, str]]) -> str:
    """The address of the page with this path (quoted) and these values in its query."""
    return f"{path}?{urlencode(query)}" if query else path


def sign_in(request: Call) -> str:
    """Where to sign in, to come back to this page; from an htmx request to the page that it was sent from."""
    asked = urlsplit(request.headers.get("hx-current-url", ""))
    sent_from = f"{asked.path}?{asked.query}" if asked.query else asked.path
    back = within(sent_from or (present(request) if request.method == "GET" else _path(request)))
    return SIGN_IN if back == HOME else f"{SIGN_IN}?{urlencode({NEXT: back})}"


def of_place(place: Place) -> str:
    """The place in a list, as a value of a query."""
    return base64.urlsafe_b64encode(_JSON.encode(place)).decode().rstrip("=")


def place(token: str | None) -> Place | None:
    """The place that the value names; of one that names none the list begins."""
    if not token:
        return None
    try:
        return Place(*_PLACE.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))))
    except (ValueError, msgspec.DecodeError):
        return None


def _path(request: Call) -> str:
    return quote(request.scope["path"])
