"""Responses of pages: a template as a page, or the block that a script requested; a redirect; a file.

The headers of every page forbid external content and framing.

Not here: the Jinja environment (`environment.py`), the frame's contents (`navigation.py`), pages for errors
(`troubles.py`).
"""

import hashlib
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

import msgspec
from litestar.response import Response, Stream

from tripline.domain.refusals import Refusal, Value
from tripline.http import authentication, errors, languages
from tripline.http.context import Call, context_of
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.portal.frame import addresses, environment, figures, navigation, notices, visitors
from tripline.portal.frame.environment import FormError
from tripline.portal.frame.forms import Typed
from tripline.portal.frame.notices import Undo
from tripline.portal.frame.page import HTML
from tripline.portal.frame.visitors import SYSTEM

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""No script, style or handler inside a page, and no eval (https://www.w3.org/TR/CSP3/)."""
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    # Not `no-referrer`: browsers would send forms with an empty `Origin`.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
    "x-robots-tag": "noindex",
}
CONTENT: Final = "content"
"""The default block for requests of a script."""
WAS: Final = "was"
"""Query parameter with the state that a live part shows."""
_HTMX: Final = "hx-request"
_VARY: Final = "Accept-Language, Cookie, HX-Request"
_JSON: Final = msgspec.json.Encoder()
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Plain(str):
    """A title that is data, not the key of a text."""

    __slots__ = ()


def show(
    request: Call,
    template: str,
    *,
    title: str,
    status: int | None = None,
    fragment: str = CONTENT,
    error: Refusal | None = None,
    labels: Mapping[str, str] = _NOTHING,
    headers: Mapping[str, str] = _NOTHING,
    **values: Any,
) -> Response[bytes]:
    """Render the page for the visitor, if one was looked up; for a script's request only the block `fragment`.

    `title` is the key of a text, or `Plain`. `error` is the refusal of the form that the page shows again, and `labels`
    the form's labels of fields, as keys of texts. `values` go to the template.
    """
    language, context = languages.asked_of(request), context_of(request)
    page = environment.Page(
        language=language,
        figures=figures.of(language, context.time_zone),
        now_ms=context.clock(),
        csrf=authentication.csrf_of(request),
        error=None if error is None else _form_error(error, language, labels),
    )
    given = _surroundings(request, language)
    given["title"] = title if isinstance(title, Plain) else catalogue.text(title, language)
    given["error"] = page.error
    given |= values
    given["part"] = fragment if is_partial(request) else None
    text = environment.render(template, page, given)
    if status is None:
        status = HTTPStatus.OK if error is None else errors.ANSWERS[error.kind][0]
    told = {**HEADERS, "content-language": language.value, "vary": _VARY, **headers}
    answer = Response(text.encode(), status_code=status, media_type=HTML, headers=told)
    if notices.COOKIE in request.cookies:
        answer.cookies.append(notices.forgotten(request))
    return answer


def without_company(request: Call, *, title: str) -> Response[bytes]:
    """The page for accounts without a company, in place of a page about one with this title."""
    return show(request, "without_company.html", title=title)


def moved(
    request: Call,
    address: str,
    *,
    notice: str | None = None,
    notice_kind: str = notices.GOOD,
    undo: Undo | None = None,
    **values: Value,
) -> Response[bytes]:
    """Redirect to another page of ours. It shows the notice (a text with these values), and a button for `undo`."""
    if is_partial(request):
        there = _JSON.encode({"path": address, "target": f"#{CONTENT}"}).decode()
        answer = Response(b"", media_type=HTML, headers={**HEADERS, "hx-location": there})
    else:
        answer = Response(b"", status_code=303, media_type=HTML, headers={**HEADERS, "location": address})
    if notice is not None:
        answer.cookies.append(notices.kept(request, notice, notice_kind, values, undo))
    return answer


def data(record: Any) -> Response[bytes]:
    """A record as JSON, for our scripts."""
    return Response(_JSON.encode(record), media_type="application/json", headers=HEADERS)


def download(content: bytes, *, name: str, media_type: str) -> Response[bytes]:
    """A file to download."""
    return Response(content, media_type=media_type, headers=HEADERS | _kept_as(name))


def streamed(pieces: AsyncIterator[bytes], *, name: str, media_type: str) -> Stream:
    """A file to download, streamed."""
    return Stream(pieces, media_type=media_type, headers=HEADERS | _kept_as(name))


def is_partial(request: Call) -> bool:
    """True if a script requests a part of the page, instead of a browser the whole."""
    sent = request.headers
    return _HTMX in sent and "hx-boosted" not in sent and "hx-history-restore-request" not in sent


def target_of(request: Call) -> str:
    """Id of the element that the requested part replaces; empty if unknown."""
    target: str = request.headers.get("hx-target", "")
    return target


def state_of(*values: Any) -> str:
    """A digest of a live part's values, to detect changes."""
    return hashlib.blake2s(_JSON.encode(values), digest_size=8).hexdigest()


def is_shown(request: Call, state: str) -> bool:
    """True if the requested live part already shows this state."""
    return is_partial(request) and request.query_params.get(WAS) == state


def unchanged() -> Response[bytes]:
    """Leave the part unchanged."""
    return Response(b"", status_code=HTTPStatus.NO_CONTENT, media_type=HTML, headers=HEADERS)


def _surroundings(request: Call, language: Language) -> dict[str, Any]:
    visitor = visitors.known(request)
    notice = notices.taken(request, language)
    return {
        "visitor": visitor,
        "navigation": navigation.navigation(request, visitor),
        "is_open": lambda path: navigation.is_open(request, visitor, path),
        "notices": () if notice is None else (notice,),
        "language": language.value,
        "theme": SYSTEM if visitor is None else visitor.theme,
        "path": request.scope["path"],
        "query": dict(request.query_params),
        "here": lambda **values: addresses.changed(request, **values),
        "leads": lambda path: navigation.leads_to(request, visitor, path),
        "typed": Typed(),
    }


def _form_error(error: Refusal, language: Language, labels: Mapping[str, str]) -> FormError:
    every = [(each.field, _sentence(each, language, labels)) for each in (error, *error.others)]
    return FormError(every[0][1], error.code, {field: sentence for field, sentence in every if field is not None})


def _sentence(error: Refusal, language: Language, labels: Mapping[str, str]) -> str:
    label = catalogue.text(labels.get(error.field or "", "portal.frame.this_value"), language)
    return catalogue.sentence(error, language, label=label)


def _kept_as(name: str) -> dict[str, str]:
    return {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
