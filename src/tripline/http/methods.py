"""The methods of a path as `Allow` names them (RFC 9110 10.2.1): one order, and HEAD wherever GET is."""

from collections.abc import Iterable
from typing import Final

from litestar.routes import HTTPRoute
from litestar.types import Scope

ORDER: Final = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")


def named(methods: Iterable[str]) -> str:
    """The value of `Allow` for a path with these methods."""
    known = {*methods, "OPTIONS"}
    if "GET" in known:
        known.add("HEAD")
    return ", ".join(method for method in ORDER if method in known)


def of_path(scope: Scope) -> str:
    """The value of `Allow` for the path of a request that found its route."""
    routes = [route for route in scope["litestar_app"].routes if route.path_format == scope["path_template"]]
    return named(method for route in routes if isinstance(route, HTTPRoute) for method in route.methods)
