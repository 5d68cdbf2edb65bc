"""JSON of maps: the imported ones, and an import that is running or unfinished. An addition to the interface."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec

from tripline.domain.maps import ImportState, ImportStep, KnownMap, Standing
from tripline.domain.maps import Maps as EveryMap
from tripline.wire.described import about, example_of
from tripline.wire.rest.base import record_of


class Bounds(msgspec.Struct, frozen=True):
    """The bounds of a map's roads, degrees."""

    west: Annotated[float, about("least longitude", 9.47)]
    south: Annotated[float, about("least latitude", 47.05)]
    east: Annotated[float, about("greatest longitude", 9.64)]
    north: Annotated[float, about("greatest latitude", 47.27)]


class Map(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The map of an area. If its description is unreadable, only `area` and `lost` are set."""

    area: Annotated[str, about("name of the area", "liechtenstein")]
    map: Annotated[str | None, about("which map it is: as in `quality.maps`", "1f0c2b7e9a44")]
    source: Annotated[str | None, about("name of its file", "liechtenstein.osm.pbf")]
    imported_time: Annotated[int | None, about("when it was imported, epoch ms", 1735700000000)]
    roads: Annotated[int | None, about("how many roads it has", 5122)]
    places: Annotated[int | None, about("named places it has; null: imported before places were read", 36)]
    size: Annotated[int | None, about("bytes that it takes on disk", 2134017)]
    bounds: Annotated[Bounds | None, about("what its roads lie within", example_of(Bounds))]
    lost: Annotated[str | None, about("why it cannot be read, for people; null: it can", None)]


class MapImport(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A running or unfinished import."""

    area: Annotated[str, about("name of the area", "liechtenstein")]
    source: Annotated[str, about("name of its file", "liechtenstein.osm.pbf")]
    country: Annotated[str | None, about("country of roads for which the file does not tell it", None)]
    begun_time: Annotated[int, about("when it began, epoch ms", 1735700000000)]
    told_time: Annotated[int, about("when it last said how far it is, epoch ms", 1735700004000)]
    state: Annotated[ImportState, about("how it stands", "RUNNING")]
    step: Annotated[ImportStep, about("what it is at, or was when it ended", "ROADS")]
    done: Annotated[int, about("how much of the step is done: bytes that came, roads, or tiles", 4200)]
    reason: Annotated[str | None, about("why it failed, for people", None)]
    can_continue: Annotated[bool, about("whether it ended, and its file is there to go on with", False)]


class Maps(msgspec.Struct, frozen=True, rename={"under_way": "import"}):
    """Every map, and the running or unfinished import."""

    maps: Annotated[list[Map], about("the maps, by the names of their areas", [])]
    under_way: Annotated[MapImport | None, about("the import; null: there is none", None)]


def every(found: EveryMap, *, say: Callable[[str], str]) -> Maps:
    """All maps as JSON; `say` translates reasons for the reader."""
    failed = None if found.under_way is None else found.under_way.record.reason
    reason = None if failed is None else say(failed)
    under_way = None if found.under_way is None else map_import(found.under_way, reason=reason)
    return Maps([_map(each, None if each.lost is None else say(each.lost)) for each in found.known], under_way)


def map_import(found: Standing, *, reason: str | None = None) -> MapImport:
    """An import as JSON; `reason`: why it failed, in the reader's language."""
    return record_of(
        MapImport,
        found.record,
        area=found.record.name,
        source=Path(found.record.file).name,
        country=found.record.country or None,
        state=found.stage,
        reason=reason,
        can_continue=found.can_continue,
    )


def _map(found: KnownMap, lost: str | None) -> Map:
    if found.area is None:
        unknown: dict[str, Any] = dict.fromkeys(Map.__struct_fields__)
        return Map(**unknown | {"area": found.name, "lost": lost})
    return record_of(Map, found.area, area=found.name, bounds=Bounds(*found.area.bounds), lost=lost)
