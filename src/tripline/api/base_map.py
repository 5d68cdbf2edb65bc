"""The base map: its tiles, and the style in which they are drawn (docs/maps.md)."""

from typing import Final

from litestar.types import ASGIApp

from tripline.basemap.colours import Theme
from tripline.basemap.layers import MOST_ZOOM
from tripline.domain.access import Gate
from tripline.domain.refusals import BadParameter
from tripline.http import map_answers, permission
from tripline.http.context import Call
from tripline.http.operations import Value, operation

_ZOOM: Final = Value("z", int, f"zoom, 0 to {MOST_ZOOM}", 14, required=True)
_COLUMN: Final = Value("x", int, "column from the west, 0 to 2^z - 1", 8624, required=True)
_ROW: Final = Value("y", str, f"row from the north, 0 to 2^z - 1, and `{map_answers.FORM}`", "5743.mvt", required=True)
_VERSION: Final = Value("v", str, "version of the map, as the style names it", "6c9ba3d0c80111ef")
_THEME: Final = Value("theme", Theme, "`light` or `dark`; absent: light", "dark")


@operation(
    "GET",
    "/map/{z}/{x}/{y}",
    access=Gate.SIGNED_IN,
    answer=bytes,
    answer_type=map_answers.MVT,
    also={204: None, 304: None},
    in_path=(_ZOOM, _COLUMN, _ROW),
    query=(_VERSION,),
    refuses=(BadParameter,),
)
async def read_tile(request: Call) -> ASGIApp:
    """A vector tile of the base map; 204 where it has nothing. Packed with gzip for who takes that.

    The answer has a strong `ETag`; a request with the same `If-None-Match` is answered 304 without a body.
    """
    await permission.permitted(request)
    return await map_answers.tile(request)


@operation("GET", "/map/style.json", access=Gate.SIGNED_IN, answer=bytes, also={304: None}, query=(_THEME,))
async def read_style(request: Call) -> ASGIApp:
    """The base map as a MapLibre style: where its tiles are, whom to name beside it, and how it is drawn.

    Without a map it is one plain colour. The layers `limit` and `limit-label` are there and not visible. The answer has
    a strong `ETag`; a request with the same `If-None-Match` is answered 304 without a body.
    """
    await permission.permitted(request)
    return map_answers.style(request, tiles="/map")
