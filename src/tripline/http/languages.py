"""The language of an answer that holds a sentence: the one asked for, and the headers that say so."""

from typing import Final

from litestar.datastructures import Cookie

from tripline.http import cookies
from tripline.http.context import Call
from tripline.language.asked import asked
from tripline.language.catalogue import Language

CHOSEN: Final = "tripline.language"
"""Key of the request's scope for the account's language, set once the account is identified."""

COOKIE: Final = "language"
"""Where a browser keeps the language that its user chose without signing in."""

_KEPT_S: Final = 31_536_000


def asked_of(request: Call) -> Language:
    """The language that the account behind the request chose, else the one kept by its browser, else the one that the
    request asks for in `Accept-Language`; English unless it is another of ours."""
    chosen: Language | None = request.scope.get(CHOSEN)  # type: ignore[assignment]
    if chosen is not None:
        return chosen
    if (of_browser := request.cookies.get(COOKIE)) in frozenset(Language):
        return Language(of_browser)
    return asked(", ".join(request.headers.getall("accept-language", [])))


def kept(request: Call, language: str) -> Cookie:
    """The cookie with the language that a user chose without signing in."""
    return cookies.plain(request, COOKIE, language, kept_s=_KEPT_S)


def headers(language: Language) -> dict[str, str]:
    """The language headers of an answer."""
    return {"content-language": language.value, "vary": "Accept-Language"}
