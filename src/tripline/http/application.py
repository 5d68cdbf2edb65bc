"""The HTTP application: its families of routes, the error table, and the middleware around each request.

Not here: which families there are (`wiring/server.py` gives them).
"""

import copy
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, Final

from litestar import Litestar
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from litestar.routes import HTTPRoute
from litestar.status_codes import HTTP_204_NO_CONTENT
from litestar.types import ASGIApp

from tripline.http import answers, cors, errors, methods, middleware, operations
from tripline.http.operations import Route
from tripline.http.rim import Call, Rim, Vitals

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def create_app(
    families: Iterable[ModuleType],
    rim: Rim | Vitals,
    *,
    state: Mapping[str, Any] = _NOTHING,
    tell: errors.Tell = answers.error,
    cors_origins: Collection[str] = (),
    promises_https: bool = False,
) -> ASGIApp:
    """The application over these parts; the same one serves every HTTP listener.

    `families`: modules that export `handlers`. `state`: further attributes of `request.app.state`, beside the rim.
    `tell` makes the body of errors: JSON by default. Scripts of `cors_origins` may call paths under `/api/`.
    `promises_https`: answers over HTTPS carry `Strict-Transport-Security`.
    """
    routes = routed_app(families, rim, state=state, tell=tell)
    return middleware.surrounded(cors.allowing(routes, cors_origins), promises_https=promises_https)


def routed_app(
    families: Iterable[ModuleType],
    rim: Rim | Vitals,
    *,
    state: Mapping[str, Any] = _NOTHING,
    tell: errors.Tell = answers.error,
) -> Litestar:
    """The routes and the error table; as `create_app`."""
    return _Routes(
        [handler for family in families for handler in family.handlers],
        state=State({"rim": rim, **state}),
        exception_handlers=errors.table(tell),
        openapi_config=None,
        logging_config=None,
        request_max_body_size=operations.BODY_MAX,
    )


class _Routes(Litestar):
    """The routes of these handlers.

    Made all at once: Litestar takes one handler after the other and goes through all earlier ones each time, which for
    300 of them took longer than all else of a start. It would also load what its plugins for other libraries need,
    where those are installed.
    """

    def __init__(self, handlers: Iterable[HTTPRouteHandler], **parts: Any) -> None:
        super().__init__([], **parts)
        options = self._taken(_options)
        by_path: dict[str, list[HTTPRouteHandler]] = {}
        for handler in map(self._taken, handlers):
            for path in handler.paths:
                by_path.setdefault(path, [options]).append(handler)
        for path, of_path in by_path.items():
            route = HTTPRoute(path=path, route_handlers=of_path)
            route.create_handler_map()
            self.routes.append(route)
        self.asgi_router.construct_routing_trie()

    def _taken(self, handler: HTTPRouteHandler) -> HTTPRouteHandler:
        """The handler as one of ours: others may have it too."""
        ours = copy.copy(handler)
        ours.owner = self
        ours.on_registration(self)
        return ours

    @staticmethod
    def _get_default_plugins(plugins: list[Any]) -> list[Any]:
        return plugins


@Route(http_method="OPTIONS", status_code=200)
async def _options(request: Call) -> ASGIApp:
    """The methods of the path."""
    return ASGIResponse(status_code=HTTP_204_NO_CONTENT, headers={"allow": methods.of_path(request.scope)})
