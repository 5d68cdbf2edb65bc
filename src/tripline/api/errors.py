"""The one table from troubles to answers: refusal -> (HTTP status, errorCode), and the body every error has.

Codes follow client-surface 3.3. Anything unexpected is answered 500 without its text and logged once, by route
template: never a query value, a token or a position.
"""

from typing import Final

import msgspec
from litestar.exceptions import (
    ClientException,
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
)
from litestar.response import Response
from litestar.status_codes import HTTP_413_REQUEST_ENTITY_TOO_LARGE

from tripline import observe
from tripline.api import methods
from tripline.api.rim import Call, vitals_of
from tripline.domain.refusals import Kind, Refusal, TryLater
from tripline.ports import Outage
from tripline.wire.rest import ErrorBody

GENERAL: Final = 2
AWAY: Final = "The service cannot answer at the moment; try again."
BUG: Final = "Something went wrong inside the service; the operator's log says what."
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
}
"""HTTP status and errorCode of each kind of refusal."""

_log = observe.logger("api")


def on_refusal(request: Call, refusal: Refusal) -> Response[bytes]:
    """The answer to a foreseen trouble, with its sentence."""
    status, code = ANSWERS[refusal.kind]
    headers = {"retry-after": str(refusal.after_s)} if isinstance(refusal, TryLater) else None
    return _answer(request, status, str(refusal), code, headers)


def on_outage(request: Call, outage: Outage) -> Response[bytes]:
    """503: something we need is away; the log says what."""
    _log.warning("request.outage", route=request.scope.get("path_template"), method=request.method, reason=str(outage))
    return _answer(request, 503, AWAY, GENERAL)


def on_http(request: Call, trouble: HTTPException) -> Response[bytes]:
    """The answer to what the HTTP layer refuses before a handler runs."""
    if isinstance(trouble, NotFoundException):
        return _answer(request, 404, f"There is nothing at {request.scope['path']}.", NOT_FOUND)
    if isinstance(trouble, MethodNotAllowedException):
        allowed = methods.named((trouble.headers or {}).get("allow", "").split(", "))
        message = f"{request.method} is not possible here; use {allowed}."
        return _answer(request, 405, message, BAD_PARAMETER, {"allow": allowed})
    if trouble.status_code == HTTP_413_REQUEST_ENTITY_TOO_LARGE:
        return _answer(request, 413, "The body must have at most 1 MiB.", BAD_PARAMETER)
    if isinstance(trouble, ClientException):
        return _answer(request, 400, f"The request cannot be read: {trouble.detail}", BAD_PARAMETER)
    return on_bug(request, trouble)


def on_bug(request: Call, trouble: Exception) -> Response[bytes]:
    """500 for anything unexpected; the log has the rest."""
    _log.error("request.failed", route=request.scope.get("path_template"), method=request.method, exc_info=trouble)
    return _answer(request, 500, BUG, GENERAL)


def _answer(
    request: Call, status: int, message: str, code: int, headers: dict[str, str] | None = None
) -> Response[bytes]:
    body = ErrorBody(status, message, code, vitals_of(request).clock())
    return Response(
        msgspec.json.encode(body), status_code=status, media_type="application/json;charset=UTF-8", headers=headers
    )
