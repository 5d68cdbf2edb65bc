"""State that all connections of the HTTP listeners of a process share."""

from collections.abc import Callable

import msgspec

from tripline.adapters.http.bounds import Bounds, Causes
from tripline.adapters.http.outlet import Outlet
from tripline.adapters.http.places import Places
from tripline.adapters.http.turns import Turns


class Shared(msgspec.Struct, kw_only=True):
    """Bounds, and who holds how much of them."""

    bounds: Bounds
    clock: Callable[[], int]
    causes: Causes
    bodies: Places
    """Bytes of bodies in memory; unfinished ones can give way."""
    answers: Places
    """Bytes of long answers that are not read."""
    requests: Places
    """Requests of forwarded addresses."""
    unread: dict[Outlet, None]
    turns: Turns
    scheme: str
