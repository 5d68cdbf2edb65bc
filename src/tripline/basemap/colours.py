"""The colours of the base map, light and dark.

Roads stand out in order of importance: a motorway more than a street. Texts have a contrast of 4.5 and more against
their halo.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

Theme: TypeAlias = Literal["light", "dark"]


class Colours(NamedTuple):
    """The colours of one theme."""

    ground: str
    land: Mapping[str, str]
    """By `kind` of land."""
    water: str
    water_text: str
    building: str
    building_edge: str
    rail: str
    rail_gap: str
    boundary: str
    road: Mapping[str, str]
    """By `kind` of road."""
    casing: Mapping[str, str]
    """By `kind` of road: the lines on either side."""
    text: str
    faint_text: str
    halo: str


_LIGHT: Final = Colours(
    ground="#f4f2ee",
    land={
        "wood": "#cfe3c3",
        "scrub": "#dbe6cd",
        "ice": "#eef5f8",
        "rock": "#e3dfd9",
        "grass": "#e2edd3",
        "wetland": "#d9e7dd",
        "built": "#e9e5df",
        "industry": "#e6e0e4",
        "farm": "#f0ecd9",
        "park": "#d3e8c9",
        "pitch": "#c5e2c6",
    },
    water="#a9cfe4",
    water_text="#3b7394",
    building="#dcd5cc",
    building_edge="#c8bfb4",
    rail="#a8a5a2",
    rail_gap="#f7f6f4",
    boundary="#9a86a8",
    road={
        "motorway": "#f0a35e",
        "trunk": "#f5bb78",
        "primary": "#f9d58a",
        "secondary": "#fbeab0",
        "tertiary": "#ffffff",
        "minor": "#ffffff",
        "service": "#ffffff",
    },
    casing={
        "motorway": "#c5762f",
        "trunk": "#cb8c45",
        "primary": "#cfa24f",
        "secondary": "#cdb56e",
        "tertiary": "#c9c3ba",
        "minor": "#d3cec6",
        "service": "#d9d5ce",
    },
    text="#3a3733",
    faint_text="#67625b",
    halo="#fbfaf8",
)
_DARK: Final = Colours(
    ground="#1d2126",
    land={
        "wood": "#22372d",
        "scrub": "#232e29",
        "ice": "#2b343b",
        "rock": "#282a2d",
        "grass": "#222d29",
        "wetland": "#1f2d2e",
        "built": "#25292e",
        "industry": "#29292f",
        "farm": "#262b27",
        "park": "#21332a",
        "pitch": "#24382d",
    },
    water="#1a425c",
    water_text="#7fb2cf",
    building="#2d3238",
    building_edge="#3a4047",
    rail="#5b6068",
    rail_gap="#262a30",
    boundary="#7c6b8a",
    road={
        "motorway": "#c07a3a",
        "trunk": "#a8733f",
        "primary": "#937548",
        "secondary": "#77694e",
        "tertiary": "#6a6f77",
        "minor": "#585d65",
        "service": "#4a4f56",
    },
    casing={
        "motorway": "#2a1d10",
        "trunk": "#261d12",
        "primary": "#241f15",
        "secondary": "#211f18",
        "tertiary": "#16191d",
        "minor": "#171a1e",
        "service": "#181b1f",
    },
    text="#d9dce0",
    faint_text="#a3a9b1",
    halo="#171a1e",
)
COLOURS: Final[dict[Theme, Colours]] = {"light": _LIGHT, "dark": _DARK}

LIMITS: Final = ((0, "#2f7ed8"), (31, "#16a085"), (51, "#7aa51e"), (71, "#e0a100"), (91, "#e2701b"), (111, "#c0392b"))
"""Least limit, km/h, and its colour, in both themes."""
