"""The live map: every vehicle that the visitor may see, on the base map and as a list.

The page is empty of vehicles; its script (`static/live-map.js`) fills it from the stream. Not here: the stream
(`stream.py`), which changes it has (`services/live/feed.py`).
"""

from typing import Final

import msgspec
from litestar.response import Response

from tripline.domain import positions
from tripline.domain.access import Action
from tripline.http.context import Call, context_of
from tripline.language import catalogue
from tripline.portal.frame import base_map, navigation, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_of

PATH: Final = navigation.LIVE_MAP
_TEXTS: Final = "portal.live."
_RULES: Final = msgspec.json.encode(
    {"moving": positions.MOVING_KMH, "silent": positions.SILENT_MS, "offline": positions.OFFLINE_MS}
).decode()
"""The figures of the table of states (spec/positions L5), which the script applies as time passes."""


@page("GET", PATH, access=Action.DRIVING_READ)
async def show(request: Call) -> Response[bytes]:
    """Every vehicle within reach, where it is now."""
    visitor = await visitor_of(request)
    return views.show(
        request,
        "live/map.html",
        title="portal.live.title",
        texts=_texts(visitor),
        rules=_RULES,
        zone=context_of(request).time_zone.key,
        **base_map.values(request),
    )


def _texts(visitor: Visitor) -> str:
    # The script fills in the values, so their names stand for themselves.
    names = {name: f"{{{name}}}" for name in ("age", "all", "shown", "direction", "distance", "limit", "place", "time")}
    keys = (key for key in catalogue.of_portal(visitor.language) if key.startswith(_TEXTS))
    return msgspec.json.encode({key.removeprefix(_TEXTS): visitor.say(key, **names) for key in keys}).decode()
