"""State that all connections of the HTTP listeners of a process share."""

from collections.abc import Callable

import msgspec

from tripline.adapters.http_bounds import Bounds, Causes, Places
from tripline.adapters.http_outlet import Outlet


class Shared(msgspec.Struct, kw_only=True):
    """Bounds, and who holds how much of them."""

    bounds: Bounds
    clock: Callable[[], int]
    causes: Causes
    bodies: Places
    answers: Places
    requests: Places
    """Requests of forwarded addresses."""
    unread: dict[Outlet, None]
    scheme: str
