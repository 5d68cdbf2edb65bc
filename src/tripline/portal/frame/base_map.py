"""Values of `templates/map.html`, the place for the base map on a page.

Not here: tiles and style (`api/base_map.py`), drawing (`static/base-map.js`).
"""

from typing import Any

from tripline.http.context import Call, maps_of
from tripline.ports.maps import NO_MAP


def values(request: Call) -> dict[str, Any]:
    """Bounds of the imported maps (west, south, east, north; None: no map), and their attribution."""
    base_map = maps_of(request).base_map
    shown = NO_MAP if base_map is None else base_map.shown()
    return {"bounds": shown.bounds, "attribution": shown.attribution}
