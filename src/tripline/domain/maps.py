"""Maps as their administrator sees them: those that are imported, and the import that is running or unfinished.

Not here: the seam to whoever keeps them (`ports/maps.py`), where they lie (`adapters/maps/files.py`), reading them
(`adapters/maps/osm_file.py`).
"""

import re
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from tripline.domain.refusals import BadParameter, Kind, Refusal

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
"""Of an area."""
SERVER: Final = "valhalla"
"""Stands beside the maps that judged a trip where a Valhalla server found its roads: no area is called so."""
COUNTRY: Final = re.compile(r"([A-Z]{2})?", re.ASCII)
"""The country of roads that lie outside every country whose whole boundary is in the file; empty: unknown."""


class ImportState(StrEnum):
    """Whether an import runs, and if not, why."""

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
    """Of the area."""
    country: str
    file: str
    """Where the file lies."""
    begun_ms: int
    told_ms: int
    """When it last reported its progress."""
    step: ImportStep
    done: int = 0
    """Progress within the step: bytes received, roads read, or tiles made."""
    reason: str | None = None
    """Why it failed, an English sentence."""
    bad_file: bool = False
    """Whether it failed for what is in its file."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """An import, with its state now."""

    told: MapImport
    stage: ImportState
    can_continue: bool
    """Whether it is unfinished, and its file is on this machine and may be good."""


class Bounds(NamedTuple):
    """What lies within a map: least and greatest longitude and latitude, degrees."""

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


class MapsBusy(Refusal):
    """Maps are being changed by somebody else."""

    code = "map.busy"
    kind = Kind.CONFLICT


class ImportCancelled(Refusal):
    """Somebody cancelled the import while its file was on its way."""

    code = "map.import_cancelled"
    kind = Kind.CONFLICT


class NothingToContinue(Refusal):
    """No import of this area ended before it was done, or its file is gone."""

    code = "map.nothing_to_continue"
    kind = Kind.CONFLICT


class BadMapFile(BadParameter):
    """A file is no map."""

    code = "map.bad_file"


def fault_of_name(name: str) -> BadParameter | None:
    """Why no area can be imported under a name; None: one can."""
    if name.lower() == SERVER:
        return BadParameter("map_name_server", field="area")
    return None if NAME.fullmatch(name) else BadParameter("map_name", field="area")
