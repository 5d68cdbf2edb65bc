"""The HTTP application: the families of routes that it is given, the error table, and what surrounds each request.

Not here: which families there are (`wiring.py` gives them).
"""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, Final

from litestar import Litestar
from litestar.datastructures import State
from litestar.types import ASGIApp

from tripline.http import answers, cors, errors, middleware
from tripline.http.rim import Rim, Vitals

BODY_MAX: Final = 1_048_576
"""Bytes of a request body (G35)."""
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def create_app(
    families: Iterable[ModuleType],
    rim: Rim | Vitals,
    *,
    state: Mapping[str, Any] = _NOTHING,
    tell: errors.Tell = answers.error,
    cors_origins: Collection[str] = (),
) -> ASGIApp:
    """The application over these parts; the same one serves every HTTP listener.

    `families`: modules that export `handlers`. `state`: what these handlers find in `request.app.state` beside the rim.
    `tell` makes the answer to what goes wrong: JSON, unless a caller gives another. Scripts of `cors_origins` may call
    what is under `/api/`.
    """
    routes = routed_app(families, rim, state=state, tell=tell)
    return middleware.surrounded(cors.allowing(routes, cors_origins))


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
        request_max_body_size=BODY_MAX,
    )


class _Routes(Litestar):
    """Routes alone: Litestar would load what its plugins for other libraries need, where those are installed."""

    @staticmethod
    def _get_default_plugins(plugins: list[Any]) -> list[Any]:
        return plugins
