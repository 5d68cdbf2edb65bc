"""Selection of OpenStreetMap features for the base map: layer, properties and least zoom of each."""

from collections.abc import Mapping
from typing import Final

from tripline.basemap.layers import LARGEST_ZOOM, Feature, Layer, Properties

Tags = Mapping[str, str]
MOST_NAME: Final = 200
"""Longest stored name, characters."""
_ROADS: Final = {
    "motorway": ("motorway", 5),
    "trunk": ("trunk", 6),
    "primary": ("primary", 8),
    "secondary": ("secondary", 9),
    "tertiary": ("tertiary", 11),
    "unclassified": ("minor", 12),
    "residential": ("minor", 12),
    "living_street": ("minor", 13),
    "road": ("minor", 13),
    "pedestrian": ("path", 13),
    "service": ("service", 13),
    "track": ("track", 13),
    "cycleway": ("path", 14),
    "footway": ("path", 14),
    "path": ("path", 14),
    "steps": ("path", 14),
}
_RAILS: Final = {"rail": 9, "narrow_gauge": 11, "light_rail": 12, "subway": 12, "tram": 13, "funicular": 13}
_WATER_LINES: Final = {"river": 8, "canal": 10, "stream": 13}
_PLACES: Final = {"city": 5, "town": 8, "village": 10, "suburb": 11, "hamlet": 12, "neighbourhood": 13, "locality": 14}
_BOUNDARIES: Final = {"2": 3, "3": 6, "4": 6, "6": 9, "8": 11}
_LARGE_PLACES: Final = ((1_000_000, 4), (200_000, 6), (50_000, 7), (10_000, 8))
"""Population, and the least zoom of a place of that size."""
_LAND: Final = {
    ("landuse", "forest"): ("wood", 8),
    ("natural", "wood"): ("wood", 8),
    ("natural", "scrub"): ("scrub", 11),
    ("natural", "glacier"): ("ice", 7),
    ("natural", "bare_rock"): ("rock", 10),
    ("natural", "scree"): ("rock", 10),
    ("natural", "grassland"): ("grass", 11),
    ("natural", "wetland"): ("wetland", 10),
    ("landuse", "residential"): ("built", 9),
    ("landuse", "retail"): ("built", 11),
    ("landuse", "commercial"): ("built", 11),
    ("landuse", "industrial"): ("industry", 10),
    ("landuse", "farmland"): ("farm", 10),
    ("landuse", "vineyard"): ("farm", 11),
    ("landuse", "orchard"): ("farm", 11),
    ("landuse", "meadow"): ("grass", 11),
    ("landuse", "grass"): ("grass", 12),
    ("landuse", "cemetery"): ("park", 12),
    ("leisure", "park"): ("park", 11),
    ("leisure", "golf_course"): ("park", 11),
    ("leisure", "pitch"): ("pitch", 13),
}
_WATERS: Final = {("natural", "water"), ("waterway", "riverbank"), ("landuse", "reservoir"), ("landuse", "basin")}
POINT_KEYS: Final = ("place",)
"""A node without any of these keys is not shown."""
LINE_KEYS: Final = ("highway", "railway", "waterway", "boundary")
"""A way without any of these keys is not shown as a line."""
AREA_KEYS: Final = ("building", "natural", "waterway", "landuse", "leisure")
"""An area without any of these keys is not shown."""


def of_point(tags: Tags) -> Feature | None:
    """The feature of a node; None: not shown."""
    zoom, name = _PLACES.get(tags.get("place", "")), _text(tags, "name")
    if zoom is None or not name:
        return None
    digits = tags.get("population", "").replace(" ", "")[:12]
    people = int(digits) if digits.isascii() and digits.isdigit() else 0
    large = next((least for least_people, least in _LARGE_PLACES if people >= least_people), zoom)
    return Feature(Layer.PLACE, min(zoom, large), {"kind": tags["place"], "name": name, "population": people})


def of_line(tags: Tags) -> Feature | None:
    """The feature of a way as a line; None: not shown."""
    highway = tags.get("highway", "")
    if (road := _ROADS.get(highway.removesuffix("_link"))) is not None:
        if tags.get("area") == "yes":
            return None
        kind, zoom = road
        ramp = highway.endswith("_link")
        properties: Properties = {"kind": kind, **_named(tags), **_levels(tags)}
        return Feature(Layer.ROAD, max(zoom, 11) if ramp else zoom, {**properties, "ramp": 1} if ramp else properties)
    if (zoom_of_rail := _RAILS.get(tags.get("railway", ""))) is not None:
        return Feature(Layer.RAIL, zoom_of_rail, {"kind": tags["railway"], **_levels(tags)})
    if (zoom_of_water := _WATER_LINES.get(tags.get("waterway", ""))) is not None:
        return Feature(Layer.WATER, zoom_of_water, {"kind": tags["waterway"], **_named(tags), **_levels(tags)})
    level = tags.get("admin_level", "") if tags.get("boundary") == "administrative" else ""
    if level in _BOUNDARIES:
        return Feature(Layer.BOUNDARY, _BOUNDARIES[level], {"level": int(level)})
    return None


def of_area(tags: Tags) -> Feature | None:
    """The feature of an area; None: not shown."""
    if tags.get("building", "no") != "no":
        return Feature(Layer.BUILDING, LARGEST_ZOOM, {})
    if any(tags.get(key) == text for key, text in _WATERS):
        return Feature(Layer.WATER, 6, {"kind": "water", **_named(tags)})
    for key in ("natural", "landuse", "leisure"):
        if (land := _LAND.get((key, tags.get(key, "")))) is not None:
            return Feature(Layer.LANDUSE, land[1], {"kind": land[0]})
    return None


def of_limit(kmh: float, source: str) -> Feature:
    """The feature of a road's limit. `source`: the name of its `LimitSource`."""
    return Feature(Layer.LIMIT, 12, {"kmh": round(kmh), "source": source})


def _text(tags: Tags, key: str) -> str:
    return tags.get(key, "").strip()[:MOST_NAME]


def _named(tags: Tags) -> Properties:
    return {key: text for key in ("name", "ref") if (text := _text(tags, key))}


def _levels(tags: Tags) -> Properties:
    return {key: 1 for key in ("bridge", "tunnel") if tags.get(key, "no") != "no"}
