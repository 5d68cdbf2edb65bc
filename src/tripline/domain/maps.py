"""Maps as their administrator sees them: imported ones, and the running or unfinished import."""

import re
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from tripline.domain.refusals import BadParameter, Conflict

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
"""Name of an area."""
SERVER: Final = "valhalla"
"""Recorded beside the maps that judged a trip when a Valhalla server found its roads; no area may have this name."""
COUNTRY: Final = re.compile(r"([A-Z]{2})?", re.ASCII)
"""The country of roads outside every country whose whole boundary is in the file; empty: unknown."""


class ImportState(StrEnum):
    """State of an import."""

    RUNNING = "RUNNING"
    INTERRUPTED = "INTERRUPTED"
    """The process that worked on it ended before the import was done."""
    FAILED = "FAILED"


class ImportStep(StrEnum):
    """The steps of an import, in order."""

    UPLOAD = "UPLOAD"
    ROADS = "ROADS"
    TILES = "TILES"
    PLACE = "PLACE"


class MapImport(msgspec.Struct, frozen=True, kw_only=True):
    """An import. A folder of maps has at most one."""

    name: str
    """Name of the area."""
    country: str
    file: str
    """Location of the file."""
    begun_ms: int
    told_ms: int
    """When it last reported its progress."""
    step: ImportStep
    done: int = 0
    """Progress within the step: bytes received, roads read, or tiles made."""
    reason: str | None = None
    """Why it failed, an English sentence."""
    bad_file: bool = False
    """True when it failed because of the file's contents."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """An import with its present state."""

    record: MapImport
    stage: ImportState
    can_continue: bool
    """True when it is unfinished, and its file is on this machine and may be good."""


class Bounds(NamedTuple):
    """Bounds of a map: least and greatest longitude and latitude, degrees."""

    west: float
    south: float
    east: float
    north: float


class Area(msgspec.Struct, frozen=True, kw_only=True):
    """An imported area, as its description says."""

    name: str
    format: Annotated[int, Meta(ge=1)]
    folder: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]*\Z")]
    map: str
    """Identifies the map: the first digits of the SHA-256 of its file."""
    source: str
    """Name of the file."""
    imported_ms: int
    roads: int
    places: int | None = None
    """The number of named places; None: imported by a version that did not read them."""
    size: int = 0
    """Total size of its files, bytes; set by `map_files.put`."""
    bounds: Bounds
    """Of its roads."""


class KnownMap(msgspec.Struct, frozen=True, kw_only=True):
    """The map of an area."""

    name: str
    area: Area | None
    """None: not even its description can be read."""
    lost: str | None
    """Why it cannot be read; None: it can."""


class Maps(msgspec.Struct, frozen=True):
    """Everything in a folder of maps."""

    known: list[KnownMap]
    """By name."""
    under_way: Standing | None
    """The running or unfinished import."""


class MapsBusy(Conflict):
    """Another process is changing the maps."""

    code = "map.busy"


class ImportCancelled(Conflict):
    """The import was cancelled while its file was being received."""

    code = "map.import_cancelled"


class NothingToContinue(Conflict):
    """The area has no unfinished import, or its file is gone."""

    code = "map.nothing_to_continue"


class BadMapFile(BadParameter):
    """The file is not a map."""

    code = "map.bad_file"


def fault_of_name(name: str) -> BadParameter | None:
    """Return why an area may not have this name; None: it may."""
    if name.lower() == SERVER:
        return BadParameter("map_name_server", field="area")
    return None if NAME.fullmatch(name) else BadParameter("map_name", field="area")
