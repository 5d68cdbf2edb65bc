"""Declares an operation: method, path, who may call it, its request and its answer.

The routes, the permission that a handler requires (`permission.py`), the OpenAPI document (`api/documents/openapi.py`)
and the reference pages are made from these declarations. A handler without one has no route.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, Final, TypeAlias

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.types import Method

from tripline.domain.access import Action, Gate
from tripline.domain.refusals import Refusal
from tripline.http.context import Call

Handler: TypeAlias = Callable[[Call], Coroutine[Any, Any, Any]]

JSON: Final = "application/json"
_KEY: Final = "operation"

BODY_MAX: Final = 1_048_576
"""Bytes of a request body (G35)."""
VISITORS_BODY_MAX: Final = 65_536
"""Bytes of a body that needs no account."""
AUTH_BODY_MAX: Final = 16_384


class Value(msgspec.Struct, frozen=True):
    """A value of the query or of a header: its published name, type (with bounds as `Meta`), meaning and an example."""

    name: str
    type: Any
    meaning: str
    example: Any
    required: bool = False


class PageOf(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is a page of records of this struct; `timed` pages go by time, the others by a name. `query`
    asks for a page."""

    record: type
    timed: bool
    query: tuple[Value, ...]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method on one path."""

    method: Method
    path: str
    """As published: `/api/tre/v1/vehicle/{vehicleId}`."""
    access: Action | Gate
    request: Any
    """Struct of the body, None when any body is ignored, or bytes for a body other than a JSON object."""
    required: tuple[str, ...]
    """Published names of the fields that the body must hold; the struct has defaults, so that the domain refuses."""
    request_types: tuple[str, ...]
    """Documented media types of the body; requests are not checked against them."""
    answer: Any
    """Struct of the answer, a `PageOf`, None for `{}`, or bytes for an answer other than JSON."""
    answer_type: str
    also: Mapping[int, Any]
    """Answers that are neither 200 nor an error: status to struct, None for an empty body."""
    in_path: tuple[Value, ...]
    query: tuple[Value, ...]
    headers: tuple[Value, ...]
    refuses: tuple[type[Refusal], ...]
    """Refusals beside the common ones of its kind of operation (token, role, ids, types)."""
    handler: Handler
    body_max: int | None
    """Bytes of a body; None: the handler reads it as it comes, and bounds it."""

    @property
    def name(self) -> str:
        """A name of its own among all operations: `vehicles.register`."""
        return f"{self.handler.__module__.rpartition('.')[2]}.{self.handler.__name__}"

    @property
    def path_ids(self) -> tuple[str, ...]:
        others = {value.name for value in self.in_path}
        names = [part[1:-1] for part in self.path.split("/") if part.startswith("{")]
        return tuple(name for name in names if name not in others)

    @property
    def text(self) -> str:
        return self.handler.__doc__ or ""


def operation(
    method: Method,
    path: str,
    *,
    access: Action | Gate,
    answer: Any,
    answer_type: str = JSON,
    also: Mapping[int, Any] = MappingProxyType({}),
    request: Any = None,
    required: Iterable[str] = (),
    request_types: tuple[str, ...] = (JSON,),
    streamed: bool = False,
    in_path: Iterable[Value] = (),
    query: Iterable[Value] = (),
    headers: Iterable[Value] = (),
    refuses: Iterable[type[Refusal]] = (),
    aliases: Iterable[str] = (),
) -> Callable[[Handler], HTTPRouteHandler]:
    """The handler as a route of this operation; its docstring is the operation's description.

    `aliases` are further paths of the same operation.
    """

    def declared(handler: Handler) -> HTTPRouteHandler:
        described = Operation(
            method=method,
            path=path,
            access=access,
            request=request,
            required=tuple(required),
            request_types=request_types,
            answer=answer,
            answer_type=answer_type,
            also=also,
            in_path=tuple(in_path),
            query=(*(answer.query if isinstance(answer, PageOf) else ()), *query),
            headers=tuple(headers),
            refuses=tuple(refuses),
            handler=handler,
            body_max=None if streamed else _body_max(path, access),
        )
        # In the router's writing, where every value is text.
        paths = [each.replace("}", ":str}") for each in (path, *aliases)]
        most, opt = described.body_max, {_KEY: described}
        return HTTPRouteHandler(paths, http_method=method, status_code=200, opt=opt, request_max_body_size=most)(
            handler
        )

    return declared


def of_handler(handler: HTTPRouteHandler) -> Operation:
    """The handler's declaration."""
    declared: Operation = handler.opt[_KEY]
    return declared


def handlers_of(families: Iterable[ModuleType]) -> list[HTTPRouteHandler]:
    """The handlers that these modules declare, in their order. A module that has them made lists them as `handlers`."""
    return [handler for family in families for handler in getattr(family, "handlers", None) or _declared_in(family)]


def declared(families: Iterable[ModuleType]) -> list[Operation]:
    """The operations of these modules."""
    return [of_handler(handler) for handler in handlers_of(families)]


def of_request(request: Call) -> Operation:
    """The operation that this request calls."""
    declared: Operation = request.route_handler.opt[_KEY]
    return declared


def _declared_in(family: ModuleType) -> list[HTTPRouteHandler]:
    found = [each for each in vars(family).values() if isinstance(each, HTTPRouteHandler)]
    return [each for each in found if of_handler(each).handler.__module__ == family.__name__]


def _body_max(path: str, access: Action | Gate) -> int:
    if path.startswith("/api/auth/"):
        return AUTH_BODY_MAX
    return VISITORS_BODY_MAX if access is Gate.ANYONE else BODY_MAX
