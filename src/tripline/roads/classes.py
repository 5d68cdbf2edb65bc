"""Classes of road: the drivable ones, and the `rank` that GPS events name (spec/scoring 4)."""

from collections.abc import Mapping
from typing import Final

Tags = Mapping[str, str]
"""OpenStreetMap tags of a road, by key."""

RANKS: Final = {"motorway": 101, "trunk": 102, "primary": 103, "secondary": 104, "tertiary": 107, "residential": 107}
OTHER: Final = 108
"""The rank of every other road."""
SIDE: Final = frozenset({"service", "track", "busway"})
"""Roads beside others that a vehicle uses rarely and slowly."""
_DRIVEN: Final = {*RANKS, *SIDE, "unclassified", "living_street", "road"}
_LINK: Final = "_link"
_CLOSED: Final = {"no", "agricultural", "forestry"}
_OPENED: Final = ("psv", "bus", "hgv", "motorcar", "motor_vehicle")


def class_of(tags: Tags) -> str | None:
    """The class of a road that vehicles drive on; ramps have the class of their road. None: not drivable."""
    highway = tags.get("highway", "").removesuffix(_LINK)
    if highway not in _DRIVEN or tags.get("area") == "yes":
        return None
    told = [tags[key] for key in _OPENED if key in tags]
    closed = tags.get("motor_vehicle", tags.get("access")) in _CLOSED
    if closed and not any(each not in _CLOSED for each in told):
        return None
    return highway


def rank(road_class: str) -> int:
    """The number of a class in `info`."""
    return RANKS.get(road_class, OTHER)


def one_way(tags: Tags) -> int:
    """1: only along its line; -1: only against it; 0: both ways."""
    match tags.get("oneway"):
        case "yes" | "true" | "1":
            return 1
        case "-1" | "reverse":
            return -1
        case "no" | "false" | "0":
            return 0
    around = tags.get("junction") in ("roundabout", "circular")
    return int(around or tags.get("highway") in ("motorway", "motorway_link"))
