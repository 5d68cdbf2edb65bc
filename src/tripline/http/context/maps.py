"""Maps: imports, and the base map of pages."""

import msgspec

from tripline.http.context.base import Call
from tripline.ports.maps import BaseMap, MapKeeper


class Maps(msgspec.Struct, frozen=True, kw_only=True):
    """The parts for maps."""

    keeper: MapKeeper
    """Imports and removes maps."""
    base_map: BaseMap | None = None
    """The map that pages show; None: none."""


def maps_of(request: Call) -> Maps:
    """Return the parts for maps."""
    maps: Maps = request.app.state["maps"]
    return maps
