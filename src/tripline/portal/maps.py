"""The base map, to be looked at, and the maps that cannot be read.

Not here: tiles and style (`api/base_map.py`), drawing (`static/map.js`).
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from litestar.response import Response

from tripline.domain.access import Action
from tripline.http.rim import Call, rim_of
from tripline.portal import views
from tripline.portal.page import page
from tripline.portal.visitors import visitor_of
from tripline.ports.maps import NO_MAP, LostMap


@page("GET", "/admin/maps", access=Action.INSTALLATION_READ)
async def show(request: Call) -> Response[bytes]:
    """The base map as pages draw it, and which maps of areas are lost."""
    rim = rim_of(request)
    visitor = await visitor_of(request)
    shown = NO_MAP if rim.base_map is None else rim.base_map.shown()
    lost: Sequence[LostMap] = () if rim.roads is None else await asyncio.to_thread(rim.roads.lost)
    return views.show(
        request,
        visitor,
        "admin/maps.html",
        title="portal.maps.title",
        bounds=shown.bounds,
        attribution=shown.attribution,
        lost=lost,
    )


handlers: Final[list[Any]] = [show]
