"""Answers with tiles and the style of the base map, to those whom the caller has admitted."""

import hashlib
import re
from typing import Final, cast, get_args

import msgspec
from litestar.types import ASGIApp

from tripline.basemap import style as base_style
from tripline.basemap.colours import Theme
from tripline.basemap.layers import MOST_ZOOM
from tripline.domain.refusals import BadParameter
from tripline.http import cookies, parameters
from tripline.http.answers import Answer
from tripline.http.context import Call, maps_of
from tripline.http.operations import JSON
from tripline.ports.maps import NO_MAP

MVT: Final = "application/vnd.mapbox-vector-tile"
FORM: Final = ".mvt"
KEPT_S: Final = 86_400
"""How long browsers keep tiles of a version."""
_GZIP: Final = re.compile(rb"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))", re.IGNORECASE)
_CACHE: Final = b"cache-control"
_FOR_LONG: Final = b"private, max-age=%d, immutable" % KEPT_S
_DIGITS: Final = re.compile(r"\d{1,10}", re.ASCII)


async def tile(request: Call) -> ASGIApp:
    """The tile that `z`, `x` and `y` of the path name. Raises `BadParameter`."""
    asked = request.path_params
    zoom = _whole("z", asked["z"], most=MOST_ZOOM)
    most = (1 << zoom) - 1
    column, row = _whole("x", asked["x"], most=most), _whole("y", asked["y"].removesuffix(FORM), most=most)
    base_map = maps_of(request).base_map
    if base_map is None:
        return Answer(204, {_CACHE: b"private, no-cache"})
    takes_gzip, known = _headers(request)
    version = base_map.shown().version.encode()
    # An address with the current version can be cached for long.
    is_of_version = request.scope["query_string"] == b"v=" + version
    headers = {_CACHE: _FOR_LONG if is_of_version else b"private, no-cache", b"vary": b"Accept-Encoding"}
    headers[b"etag"] = b'"%s%s"' % (version, b"" if takes_gzip else b"-plain")
    if headers[b"etag"] in known:
        return Answer(304, headers)
    tile = await base_map.tile(zoom, column, row)
    if tile is None:
        return Answer(204, {_CACHE: headers[_CACHE]})
    if tile.version.encode() != version:
        # Replaced in this very moment.
        headers = {_CACHE: b"no-store", b"vary": b"Accept-Encoding"}
    body = tile.body if takes_gzip else base_map.unpacked(tile)
    if tile.packed and takes_gzip:
        headers[b"content-encoding"] = b"gzip"
    headers |= {b"content-type": MVT.encode(), b"content-length": b"%d" % len(body)}
    return Answer(200, headers, body)


def style(request: Call, *, tiles: str) -> ASGIApp:
    """The style; `tiles`: path of the tiles. Raises `BadParameter`."""
    theme = parameters.query_text(request.query_params, "theme") or "light"
    if theme not in get_args(Theme):
        raise BadParameter("one_of", field="theme", values=", ".join(get_args(Theme)))
    base_map = maps_of(request).base_map
    shown = NO_MAP if base_map is None else base_map.shown()
    body = msgspec.json.encode(
        base_style.style(
            cast("Theme", theme),
            tiles=f"{cookies.origin(request)}{tiles}/{{z}}/{{x}}/{{y}}{FORM}?v={shown.version}",
            attribution=shown.attribution,
            bounds=shown.bounds,
            zooms=(shown.least_zoom, shown.most_zoom),
        )
    )
    etag = b'"%s"' % hashlib.sha256(body).hexdigest()[:32].encode()
    headers = {_CACHE: b"private, no-cache", b"etag": etag}
    if etag in _headers(request)[1]:
        return Answer(304, headers)
    headers |= {b"content-type": JSON.encode(), b"content-length": b"%d" % len(body)}
    return Answer(200, headers, body)


def _whole(name: str, text: str, *, most: int) -> int:
    """A number of the path. Raises `BadParameter`."""
    if _DIGITS.fullmatch(text) is None:
        raise BadParameter("integer", field=name)
    if (value := int(text)) > most:
        raise BadParameter("between", field=name, least=0, most=most)
    return value


def _headers(request: Call) -> tuple[bool, bytes]:
    """True if the request accepts gzip, and its `If-None-Match` tags; building Litestar's header map would take
    longer."""
    takes_gzip, known = False, b""
    for name, value in request.scope["headers"]:
        if name == b"accept-encoding":
            takes_gzip = takes_gzip or _GZIP.search(value) is not None
        elif name == b"if-none-match":
            known += value
    return takes_gzip, known
