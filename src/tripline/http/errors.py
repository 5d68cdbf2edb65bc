"""The one table from troubles to answers: refusal -> (HTTP status, errorCode), and the content of every error.

Codes follow spec/rest 3.3. Anything unexpected is answered 500 without its text and logged once, by route template:
never a query value, a token or a position.

Not here: the form of the answer, which the application is given (`answers.error`: JSON).
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec
from litestar.exceptions import ClientException, HTTPException, MethodNotAllowedException, NotFoundException
from litestar.response import Response
from litestar.status_codes import HTTP_413_REQUEST_ENTITY_TOO_LARGE

from tripline import observe
from tripline.domain.refusals import Kind, Refusal, TryLater
from tripline.http import languages, methods
from tripline.http.context import Call
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.ports.outages import Outage

GENERAL: Final = 2
AWAY: Final = "answer.away"
BUG: Final = "answer.bug"
TOO_LARGE: Final = "answer.too_large"
KIB: Final = 1_024
BAD_PARAMETER: Final = 31
NOT_FOUND: Final = 32

ANSWERS: Final[dict[Kind, tuple[int, int]]] = {
    Kind.AUTHENTICATION: (401, 10),
    Kind.TOKEN_EXPIRED: (401, 11),
    Kind.PERMISSION: (403, 20),
    Kind.INVALID_ARGUMENTS: (400, 30),
    Kind.BAD_PARAMETER: (400, BAD_PARAMETER),
    Kind.NOT_FOUND: (404, NOT_FOUND),
    Kind.CONFLICT: (409, GENERAL),
    Kind.TIMEOUT: (408, GENERAL),
    Kind.TOO_LARGE: (413, BAD_PARAMETER),
    Kind.TOO_MANY: (429, GENERAL),
    Kind.BUSY: (503, GENERAL),
}
"""HTTP status and errorCode of each kind of refusal."""

_log = observe.logger("api")


class Trouble(msgspec.Struct, frozen=True):
    """The content of an error answer."""

    status: int
    code: int
    """The errorCode of REST."""
    said: Callable[[Language], str]
    language: Language
    headers: Mapping[str, str] = MappingProxyType({})
    """Further headers of the answer; the language headers are added later."""
    refusal: Refusal | None = None

    @property
    def message(self) -> str:
        return self.said(self.language)


Tell: TypeAlias = Callable[[Call, Trouble], Response[bytes]]


def table(tell: Tell) -> dict[int | type[Exception], Callable[[Call, Any], Response[bytes]]]:
    """The handler of each sort of exception; `tell` makes the answer."""
    return {
        Refusal: lambda request, refusal: tell(request, _of_refusal(request, refusal)),
        Outage: lambda request, outage: tell(request, _of_outage(request, outage)),
        HTTPException: lambda request, trouble: tell(request, _of_http(request, trouble)),
        Exception: lambda request, trouble: tell(request, _of_bug(request, trouble)),
    }


def _of_refusal(request: Call, refusal: Refusal) -> Trouble:
    status, code = ANSWERS[refusal.kind]
    language = languages.asked_of(request)
    sentence = partial(catalogue.sentence, refusal)
    return Trouble(status, code, sentence, language, retry_after(refusal), refusal)


def retry_after(refusal: Refusal) -> dict[str, str]:
    """The header that says when to come again, of a refusal that holds only for a while."""
    return {"retry-after": str(refusal.after_s)} if isinstance(refusal, TryLater) else {}


def _of_outage(request: Call, outage: Outage) -> Trouble:
    """503: a service that we need is away; the log names it."""
    _log.warning("request.outage", route=request.scope.get("path_template"), method=request.method, reason=str(outage))
    return _said(request, 503, AWAY, GENERAL)


def _of_http(request: Call, trouble: HTTPException) -> Trouble:
    """An error that the HTTP layer raises before a handler runs."""
    if isinstance(trouble, NotFoundException):
        return _said(request, 404, "answer.nothing", NOT_FOUND, path=request.scope["path"])
    if isinstance(trouble, MethodNotAllowedException):
        allowed = methods.named((trouble.headers or {}).get("allow", "").split(", "))
        said = _said(request, 405, "answer.method", BAD_PARAMETER, method=request.method, allowed=allowed)
        return msgspec.structs.replace(said, headers={"allow": allowed})
    if trouble.status_code == HTTP_413_REQUEST_ENTITY_TOO_LARGE:
        most = (request.route_handler.resolve_request_max_body_size() or 0) // KIB
        return _said(request, 413, TOO_LARGE, BAD_PARAMETER, most=str(most))
    if isinstance(trouble, ClientException):
        return _said(request, 400, "answer.unreadable", BAD_PARAMETER, trouble=trouble.detail)
    return _of_bug(request, trouble)


def _of_bug(request: Call, trouble: Exception) -> Trouble:
    _log.error("request.failed", route=request.scope.get("path_template"), method=request.method, exc_info=trouble)
    return _said(request, 500, BUG, GENERAL)


def _said(request: Call, status: int, name: str, code: int, **values: str) -> Trouble:
    language = languages.asked_of(request)
    return Trouble(status, code, lambda asked: catalogue.text(name, asked, **values), language)
