"""Declares a page: an operation (`http/operations.py`) that answers with HTML.

Not here: rendering (`views.py`), the caller (`visitors.py`), the list of pages (`portal/families.py`).
"""

from collections.abc import Callable, Iterable
from typing import Final

from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.response import Response
from litestar.types import Method

from tripline.domain.access import Action, Gate
from tripline.domain.refusals import Refusal
from tripline.http import authentication, uploads
from tripline.http.context import Call, process_of
from tripline.http.operations import Handler, Value, operation

HTML: Final = "text/html"
FORM: Final = "application/x-www-form-urlencoded"
_READS: Final = ("GET", "HEAD")


def page(
    method: Method,
    path: str,
    *,
    access: Action | Gate,
    streamed: bool = False,
    in_path: Iterable[Value] = (),
    query: Iterable[Value] = (),
    refuses: Iterable[type[Refusal]] = (),
    answer_type: str = HTML,
    aliases: Iterable[str] = (),
) -> Callable[[Handler], HTTPRouteHandler]:
    """Declare the handler as the route of this page, served on the API port only; its docstring describes the page.

    `streamed` allows longer bodies; the handler limits them (`forms.read`).
    """
    reads = method in _READS
    declared = operation(
        method,
        path,
        access=access,
        request=None if reads else bytes,
        request_types=(FORM, uploads.FORM),
        answer=bytes,
        answer_type=answer_type,
        streamed=streamed,
        in_path=in_path,
        query=query,
        refuses=refuses,
        aliases=aliases,
    )

    def routed(handler: Handler) -> HTTPRouteHandler:
        async def answered(request: Call) -> Response[bytes]:
            if not is_served(request):
                raise NotFoundException
            if not reads:
                authentication.require_own_origin(request)
            answer: Response[bytes] = await handler(request)
            return answer

        # Not functools.wraps: its `__wrapped__` leads Litestar to the annotations of the inner handler.
        answered.__module__, answered.__name__, answered.__doc__ = handler.__module__, handler.__name__, handler.__doc__
        return declared(answered)

    return routed


def is_served(request: Call) -> bool:
    """True if the request came in on the listener of the portal."""
    api_port, listener = process_of(request).api_port, request.scope.get("server")
    return api_port is None or (listener is not None and listener[1] == api_port)
