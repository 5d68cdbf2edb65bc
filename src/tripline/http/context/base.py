"""The context of every handler, and its request.

Handlers are `async def f(request: Call) -> Answer` and begin with `context = context_of(request)`.

Not here: the parts of single families (`accounts.py` and the files beside it).
"""

from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import msgspec
from litestar import Request

from tripline.domain.ids import TimeIds
from tripline.http.request_store import RequestStore
from tripline.ports.clocks import Clock
from tripline.ports.signals import Signals

Call: TypeAlias = Request[Any, Any, Any]
"""One HTTP request."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that every handler may use."""

    store: RequestStore
    """The store for requests; each account reads and writes in its turn."""
    ids: TimeIds
    clock: Clock
    signals: Signals
    time_zone: ZoneInfo
    """Zone of text times (startDt, endDt, eventDt)."""


def context_of(request: Call) -> Context:
    """Return the parts that every handler may use."""
    context: Context = request.app.state["context"]
    return context
