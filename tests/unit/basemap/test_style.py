"""The style: what MapLibre needs of it, and that it draws what tiles have, by names that they use."""

import re

import pytest

from tripline.basemap import features, style
from tripline.basemap.layers import LARGEST_ZOOM, Layer

TILES = "http://here/map/{z}/{x}/{y}.mvt?v=1"
BOUNDS = (9.47, 47.05, 9.63, 47.28)
THEMES = pytest.mark.parametrize("theme", ["light", "dark"])


def drawn(theme, **named):
    return style.style(theme, **{"tiles": TILES, "attribution": "© X", "bounds": BOUNDS, "zooms": (3, 14)} | named)


def texts(of):
    """Every text in a part of a style."""
    if isinstance(of, str):
        yield of
    elif isinstance(of, dict):
        for key, value in of.items():
            yield key
            yield from texts(value)
    elif isinstance(of, list | tuple):
        for each in of:
            yield from texts(each)


@THEMES
def test_tiles_are_all_that_is_loaded(theme):
    made = drawn(theme)

    assert made["sources"] == {
        "base": {
            "type": "vector",
            "tiles": [TILES],
            "minzoom": 3,
            "maxzoom": 14,
            "bounds": list(BOUNDS),
            "attribution": "© X",
        }
    }
    assert [text for text in texts(made) if "://" in text] == [TILES]
    assert not made.keys() & {"glyphs", "sprite"}


@THEMES
def test_every_layer_of_tiles_is_drawn_and_no_other(theme):
    layers = drawn(theme)["layers"]

    assert {each["source-layer"] for each in layers if "source-layer" in each} == {layer.label for layer in Layer}
    names = [each["id"] for each in layers]
    assert len(names) == len(set(names))
    assert names[0] == "ground"
    assert {each.get("source", "base") for each in layers} == {"base"}


@THEMES
def test_limits_alone_are_not_visible(theme):
    layers = drawn(theme)["layers"]

    hidden = [each["id"] for each in layers if each.get("layout", {}).get("visibility") == "none"]
    assert tuple(hidden) == style.LIMITS
    assert hidden == [each["id"] for each in layers if each.get("source-layer") == "limit"]


def test_buildings_begin_where_tiles_have_them():
    (building,) = (each for each in drawn("light")["layers"] if each["id"] == "building")

    assert building["minzoom"] == LARGEST_ZOOM


@THEMES
def test_every_kind_that_tiles_tell_is_drawn(theme):
    made = drawn(theme)
    named = {
        layer: set(texts([each for each in made["layers"] if each.get("source-layer") == layer]))
        for layer in ("landuse", "road", "place", "water")
    }

    assert {kind for kind, _ in features._LAND.values()} <= named["landuse"]
    assert {kind for kind, _ in features._ROADS.values()} <= named["road"]
    assert set(features._PLACES) <= named["place"]
    assert {"water", "river", "canal"} <= named["water"]


def light_of(colour):
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@THEMES
def test_texts_stand_out_from_what_is_around_them(theme):
    for layer in drawn(theme)["layers"]:
        if layer["type"] == "symbol":
            lights = sorted(light_of(layer["paint"][each]) for each in ("text-color", "text-halo-color"))
            assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 4.5, layer["id"]


@THEMES
def test_colours_are_written_as_such(theme):
    colours = [text for text in texts(drawn(theme)) if text.startswith("#")]

    assert len(colours) > 40
    assert all(re.fullmatch(r"#[0-9a-f]{6}", each) for each in colours)


def test_themes_differ_in_colours_alone():
    def shape(of):
        if isinstance(of, dict):
            return {key: shape(value) for key, value in of.items() if key != "name"}
        if isinstance(of, list):
            return [shape(each) for each in of]
        return "colour" if isinstance(of, str) and of.startswith("#") else of

    assert shape(drawn("light")) == shape(drawn("dark"))
    assert drawn("light") != drawn("dark")


def test_it_opens_on_all_that_there_is():
    made = drawn("light")

    assert made["center"] == [9.55, 47.165]
    assert 9 <= made["zoom"] <= 11
    assert drawn("light", bounds=(-180.0, -85.0, 180.0, 85.0))["zoom"] <= 1
    assert drawn("light", bounds=(9.5, 47.1, 9.5, 47.1))["zoom"] == 13


@THEMES
def test_without_a_map_it_is_one_plain_colour(theme):
    made = drawn(theme, bounds=None)

    assert made["sources"] == {}
    assert [each["type"] for each in made["layers"]] == ["background"]
