"""Addresses of pages: redirect targets on our own site, paths with query strings, cursors of lists."""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Meta

from tripline.http.context import Call
from tripline.store.listing.pages import Page, PageRequest, Place

HOME: Final = "/"
SIGN_IN: Final = "/sign-in"
NEXT: Final = "next"
"""Query parameter or form field with the address to go to afterwards."""
SEARCH, AFTER, BEFORE = "q", "after", "before"
"""Query parameters of a list: the search text, and the cursors after or before which the page begins."""
SEARCH_MAX: Final = 255
"""Maximum length of a search text; no searched value is longer."""
_LONGEST: Final = 2_000
_PLAIN: Final = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""A path of ours: one slash, then visible ASCII without a backslash, which browsers take for a slash."""
_JSON: Final = msgspec.json.Encoder()
_PLACE: Final = msgspec.json.Decoder(tuple[str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)], str])
_ROUND: Final = ("/sign-in", "/sign-out", "/api/")
"""Paths that are never redirect targets: the sign-in, the sign-out, and the API."""


def text(request: Call, name: str) -> str:
    """A query parameter as a search text: stripped, and without NUL characters."""
    return request.query_params.get(name, "").replace("\0", "").strip()


def within(address: str | None, default: str = HOME) -> str:
    """The address if it is a page of ours, else the default: no redirect leads to another site."""
    if not address or len(address) > _LONGEST or _PLAIN.fullmatch(address) is None or address.startswith(_ROUND):
        return default
    return address


def of_list(address: str, path: str) -> str | None:
    """The address if it is the list at this path, with any query; else None."""
    return address if within(address).partition("?")[0] == path else None


def present(request: Call) -> str:
    """The address of this page: path and query."""
    query = request.scope["query_string"].decode("latin-1")
    return f"{_path(request)}?{query}" if query else _path(request)


def changed(request: Call, **values: object) -> str:
    """The address of this page with changed query parameters; None removes one."""
    kept = [(name, value) for name, value in request.query_params.multi_items() if name not in values]
    kept += [(name, str(value)) for name, value in values.items() if value is not None]
    return of(_path(request), kept)


def without(request: Call, part: str) -> str:
    """The address of the page that contains this part: the path without the suffix."""
    path, asks, query = present(request).partition("?")
    return f"{path.removesuffix(part)}{asks}{query}"


def of(path: str, query: Sequence[tuple[str, str]]) -> str:
    """The address with this quoted path and these query parameters."""
    return f"{path}?{urlencode(query)}" if query else path


def sign_in(request: Call) -> str:
    """The sign-in address that returns to this page, or to the page that sent an htmx request."""
    asked = urlsplit(request.headers.get("hx-current-url", ""))
    sent_from = f"{asked.path}?{asked.query}" if asked.query else asked.path
    back = within(sent_from or (present(request) if request.method == "GET" else _path(request)))
    return SIGN_IN if back == HOME else f"{SIGN_IN}?{urlencode({NEXT: back})}"


def of_place(place: Place) -> str:
    """The cursor of a list as a query parameter."""
    return base64.urlsafe_b64encode(_JSON.encode(place)).decode().rstrip("=")


def place(token: str | None) -> Place | None:
    """Decode a cursor; None, the beginning of the list, for an invalid one."""
    if not token:
        return None
    try:
        return Place(*_PLACE.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))))
    except (ValueError, msgspec.DecodeError):
        return None


def page_request(query: Mapping[str, str], *, by: str, limit: int, descending: bool = False) -> PageRequest:
    """The page of a list that the query asks for."""
    back = query.get(BEFORE)
    return PageRequest(
        limit=limit, by=by, descending=descending, place=place(back or query.get(AFTER)), back=bool(back)
    )


def neighbours(found: Page[Any], beside: Callable[[str, str], str]) -> tuple[str | None, str | None]:
    """The addresses of the pages before and after this one; `beside` makes one of a query parameter and its cursor."""
    first, last = found.first if found.more_before else None, found.last if found.more_behind else None
    return first and beside(BEFORE, of_place(first)), last and beside(AFTER, of_place(last))


def _path(request: Call) -> str:
    return quote(request.scope["path"])
