"""The style of the base map: a MapLibre style over its layers, light or dark.

Texts use the reader's own fonts, and features have no pictures, so the style needs no address except the tiles'.
Limits have their own layers, hidden by default: make the layers `LIMITS` visible to show them.
"""

import math
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from tripline.basemap import colours as palette
from tripline.basemap.colours import COLOURS, Colours, Theme
from tripline.basemap.layers import Layer
from tripline.domain.maps import Bounds

Part: TypeAlias = dict[str, Any]
"""A part of a style, as JSON."""
SOURCE: Final = "base"
LIMITS: Final = ("limit", "limit-label")
"""Layers of road limits."""
_PLAIN: Final = ["sans-serif"]
# MapLibre takes the weight from the first name. No font has that name, so the browser takes the second.
_BOLD: Final = ["Bold", "sans-serif"]

_CLASSES: Final = ("service", "minor", "tertiary", "secondary", "primary", "trunk", "motorway")
"""Kinds of road that have a casing, from bottom to top."""
_WIDTHS: Final[tuple[tuple[int, tuple[float, ...]], ...]] = (
    (5, (0.0, 0.0, 0.0, 0.0, 0.5, 0.8, 1.0)),
    (9, (0.0, 0.0, 0.4, 0.8, 1.2, 1.6, 2.0)),
    (12, (0.3, 0.6, 1.4, 2.0, 2.6, 3.2, 3.8)),
    (14, (1.0, 2.2, 3.4, 4.4, 5.2, 6.0, 6.6)),
    (18, (7.0, 14.0, 18.0, 21.0, 24.0, 27.0, 30.0)),
)
"""Pixels across a road of each class, by zoom."""


def style(theme: Theme, *, tiles: str, attribution: str, bounds: Bounds | None, zooms: tuple[int, int]) -> Part:
    """The style as JSON.

    `tiles`: address of a tile with `{z}`, `{x}` and `{y}`. `bounds`: the mapped area; None: no map, and the style is
    one plain colour. `zooms`: least and greatest of the tiles.
    """
    colours = COLOURS[theme]
    ground = {"id": "ground", "type": "background", "paint": {"background-color": colours.ground}}
    empty: Part = {"version": 8, "name": f"Tripline {theme}", "sources": {}, "layers": [ground]}
    if bounds is None:
        return empty
    west, south, east, north = bounds
    source = {
        "type": "vector",
        "tiles": [tiles],
        "minzoom": zooms[0],
        "maxzoom": zooms[1],
        "bounds": [west, south, east, north],
        "attribution": attribution,
    }
    width = max(east - west, 2 * (north - south), 0.01)
    return {
        **empty,
        "center": [round((west + east) / 2, 5), round((south + north) / 2, 5)],
        "zoom": round(min(max(math.log2(360 / width) + 0.5, 0), 13), 1),
        "sources": {SOURCE: source},
        "layers": [ground, *_land(colours), *_lines(colours), *_roads(colours), *_limits(colours), *_labels(colours)],
    }


def _layer(name: str, kind: str, of: Layer, *, layout: Part | None = None, paint: Part, **others: Any) -> Part:
    made = {"id": name, "type": kind, "source": SOURCE, "source-layer": of.label, "paint": paint, **others}
    return made if layout is None else {**made, "layout": layout}


def _is(key: str, *values: str) -> list[Any]:
    return ["in", ["get", key], ["literal", list(values)]]


def _by_kind(values: Mapping[str, Any], otherwise: Any) -> list[Any]:
    return ["match", ["get", "kind"], *(each for pair in values.items() for each in pair), otherwise]


def _by_zoom(*stops: tuple[int, Any], base: float = 1.5) -> list[Any]:
    return ["interpolate", ["exponential", base], ["zoom"], *(each for stop in stops for each in stop)]


def _land(colours: Colours) -> list[Part]:
    return [
        _layer("land", "fill", Layer.LANDUSE, paint={"fill-color": _by_kind(colours.land, colours.ground)}),
        _layer("water", "fill", Layer.WATER, filter=_is("kind", "water"), paint={"fill-color": colours.water}),
        _layer(
            "stream",
            "line",
            Layer.WATER,
            filter=["all", ["!", _is("kind", "water")], ["!", ["has", "tunnel"]]],
            layout={"line-cap": "round", "line-join": "round"},
            paint={
                "line-color": colours.water,
                "line-width": _by_zoom(
                    (8, _by_kind({"river": 1.0}, 0.4)), (14, _by_kind({"river": 4.0, "canal": 3.0}, 1.4)), (18, 10)
                ),
            },
        ),
        _layer(
            "building",
            "fill",
            Layer.BUILDING,
            minzoom=14,
            paint={
                "fill-color": colours.building,
                "fill-outline-color": colours.building_edge,
                "fill-opacity": ["interpolate", ["linear"], ["zoom"], 14, 0.4, 15, 1],
            },
        ),
    ]


def _lines(colours: Colours) -> list[Part]:
    return [
        _layer(
            "boundary",
            "line",
            Layer.BOUNDARY,
            layout={"line-join": "round"},
            paint={
                "line-color": colours.boundary,
                "line-dasharray": [4, 2, 1, 2],
                "line-width": ["match", ["get", "level"], [2], 1.8, [3, 4], 1.2, 0.7],
                "line-opacity": ["match", ["get", "level"], [2], 0.9, [3, 4], 0.7, 0.5],
            },
        ),
        _layer(
            "rail",
            "line",
            Layer.RAIL,
            paint={
                "line-color": colours.rail,
                "line-width": _by_zoom((9, 0.7), (14, 2.0), (18, 6)),
                "line-opacity": ["case", ["has", "tunnel"], 0.4, 1],
            },
        ),
        _layer(
            "rail-gap",
            "line",
            Layer.RAIL,
            minzoom=13,
            filter=["all", _is("kind", "rail", "narrow_gauge"), ["!", ["has", "tunnel"]]],
            paint={
                "line-color": colours.rail_gap,
                "line-width": _by_zoom((13, 0.8), (18, 4)),
                "line-dasharray": [6, 6],
            },
        ),
    ]


def _roads(colours: Colours) -> list[Part]:
    """Tunnels below ordinary roads, bridges above; in each group casings come first, so that junctions are open."""
    tunnel, bridge = ["has", "tunnel"], ["has", "bridge"]
    ways = {"tunnel": tunnel, "road": ["!", ["any", tunnel, bridge]], "bridge": bridge}
    found = []
    for name, is_here in ways.items():
        cased = ["all", _is("kind", *_CLASSES), is_here]
        order = {"line-sort-key": _by_kind({each: at for at, each in enumerate(_CLASSES)}, 0), "line-join": "round"}
        cap = {**order, "line-cap": "butt" if name == "tunnel" else "round"}
        found += [
            _layer(
                f"{name}-path",
                "line",
                Layer.ROAD,
                minzoom=13,
                filter=["all", _is("kind", "path", "track"), is_here],
                layout={"line-join": "round"},
                paint={
                    "line-color": colours.faint_text,
                    "line-opacity": 0.45,
                    "line-width": _by_zoom((13, 0.5), (18, 2.5)),
                    "line-dasharray": [3, 2],
                },
            ),
            _layer(
                f"{name}-casing",
                "line",
                Layer.ROAD,
                minzoom=7,
                filter=cased,
                layout={**cap, "line-cap": "butt"},
                paint={
                    "line-color": _by_kind(colours.casing, colours.casing["minor"]),
                    "line-width": _widths(1.0 if name == "bridge" else 0.8),
                    **({"line-dasharray": [3, 2]} if name == "tunnel" else {}),
                },
            ),
            _layer(
                name,
                "line",
                Layer.ROAD,
                filter=cased,
                layout=cap,
                paint={
                    "line-color": _by_kind(colours.road, colours.road["minor"]),
                    "line-width": _widths(0.0),
                    **({"line-opacity": 0.5} if name == "tunnel" else {}),
                },
            ),
        ]
    return found


def _widths(edge: float) -> list[Any]:
    """Widths of roads by zoom, plus this many pixels on either side."""

    def at(zoom: int, widths: tuple[float, ...]) -> list[Any]:
        across = _by_kind(dict(zip(_CLASSES, widths, strict=True)), widths[1])
        narrowed = ["*", across, ["case", ["has", "ramp"], 0.6, 1]]
        return ["+", narrowed, 2 * edge if zoom >= 12 else edge] if edge else narrowed

    return _by_zoom(*((zoom, at(zoom, widths)) for zoom, widths in _WIDTHS))


def _limits(colours: Colours) -> list[Part]:
    first, *others = palette.LIMITS
    colour = ["step", ["get", "kmh"], first[1], *(each for stop in others for each in stop)]
    return [
        _layer(
            LIMITS[0],
            "line",
            Layer.LIMIT,
            layout={"visibility": "none", "line-cap": "round", "line-join": "round"},
            paint={
                "line-color": colour,
                "line-width": _by_zoom((12, 1.2), (14, 2.5), (18, 8)),
                # Limits from tags are opaque, implied ones fainter.
                "line-opacity": ["match", ["get", "source"], "tagged", 0.9, 0.5],
            },
        ),
        _layer(
            LIMITS[1],
            "symbol",
            Layer.LIMIT,
            minzoom=14,
            layout={
                "visibility": "none",
                "symbol-placement": "line",
                "symbol-spacing": 200,
                "text-field": ["to-string", ["get", "kmh"]],
                "text-font": _BOLD,
                "text-size": 12,
                "text-rotation-alignment": "viewport",
            },
            paint={"text-color": colours.text, "text-halo-color": colours.halo, "text-halo-width": 2},
        ),
    ]


def _labels(colours: Colours) -> list[Part]:
    return [
        _text("water-name", Layer.WATER, colours.water_text, colours, ["has", "name"], 12, size=12, along=True),
        _text(
            "minor-name",
            Layer.ROAD,
            colours.faint_text,
            colours,
            ["all", ["has", "name"], _is("kind", "minor", "service", "path", "track")],
            15,
            size=11,
            along=True,
        ),
        _text(
            "road-name",
            Layer.ROAD,
            colours.text,
            colours,
            ["all", ["has", "name"], _is("kind", *_CLASSES[2:])],
            13,
            size=12,
            along=True,
        ),
        _text(
            "road-number",
            Layer.ROAD,
            colours.text,
            colours,
            ["all", ["has", "ref"], ["!", ["has", "ramp"]], _is("kind", *_CLASSES[2:])],
            8,
            size=11,
            field="ref",
            layout={"symbol-placement": "line", "symbol-spacing": 400, "text-rotation-alignment": "viewport"},
            font=_BOLD,
        ),
        _text(
            "hamlet-name",
            Layer.PLACE,
            colours.faint_text,
            colours,
            _is("kind", "suburb", "hamlet", "neighbourhood", "locality"),
            11,
            size=11,
        ),
        _text(
            "place-name",
            Layer.PLACE,
            colours.text,
            colours,
            _is("kind", "city", "town", "village"),
            3,
            size=_by_zoom(
                (5, _by_kind({"city": 13, "town": 11}, 10)), (14, _by_kind({"city": 24, "town": 19}, 15)), base=1
            ),
            font=_BOLD,
            layout={"symbol-sort-key": ["-", ["get", "population"]]},
        ),
    ]


def _text(
    name: str,
    of: Layer,
    colour: str,
    colours: Colours,
    which: list[Any],
    least_zoom: int,
    *,
    size: Any,
    field: str = "name",
    font: list[str] = _PLAIN,
    along: bool = False,
    layout: Part | None = None,
) -> Part:
    placed = {"symbol-placement": "line"} if along else {"text-max-width": 8}
    return _layer(
        name,
        "symbol",
        of,
        minzoom=least_zoom,
        filter=which,
        layout={"text-field": ["get", field], "text-font": font, "text-size": size, **placed, **(layout or {})},
        paint={"text-color": colour, "text-halo-color": colours.halo, "text-halo-width": 1.5},
    )
