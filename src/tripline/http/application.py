"""The HTTP application: its families of routes, the error table, and the middleware around each request."""

from collections.abc import Collection, Iterable, Mapping
from types import ModuleType
from typing import Any

from litestar import Litestar
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from litestar.status_codes import HTTP_204_NO_CONTENT
from litestar.types import ASGIApp

from tripline.http import answers, errors, methods, middleware, operations
from tripline.http.context import Call


def create_app(
    families: Iterable[ModuleType],
    state: Mapping[str, Any],
    *,
    tell: errors.Tell = answers.error,
    cors_origins: Collection[str] = (),
    promises_https: bool = False,
) -> ASGIApp:
    """The application with this state, for every HTTP listener.

    `families`: modules that declare operations. `state`: the attributes of `request.app.state`, contexts and others.
    `tell`: makes the body of errors, JSON by default. Scripts of `cors_origins` may call paths under `/api/`.
    `promises_https`: answers over HTTPS carry `Strict-Transport-Security`.
    """
    routes = routed_app(families, state, tell=tell)
    return middleware.surrounded(middleware.allowing(routes, cors_origins), promises_https=promises_https)


def routed_app(
    families: Iterable[ModuleType], state: Mapping[str, Any], *, tell: errors.Tell = answers.error
) -> Litestar:
    """The routes and the error table; as `create_app`."""
    handlers = operations.handlers_of(families)
    paths = sorted({path for handler in handlers for path in handler.paths})
    return Litestar(
        [HTTPRouteHandler(paths, http_method="OPTIONS")(_options), *handlers],
        state=State(dict(state)),
        exception_handlers=errors.table(tell),
        openapi_config=None,
        logging_config=None,
        request_max_body_size=operations.BODY_MAX,
    )


async def _options(request: Call) -> ASGIResponse:
    return ASGIResponse(status_code=HTTP_204_NO_CONTENT, headers={"allow": methods.of_path(request.scope)})
