"""The base map that we serve: the tiles of all imported areas, or of one file that the operator names
(`ports.maps.BaseMap`).

The folder of maps is checked once a second, so an import or removal shows without a restart. Where several areas have
the same tile, at their borders and at low zooms, their tiles are merged, and the result is cached. All other tiles are
served as they are stored.
"""

import asyncio
import contextlib
import gzip
import hashlib
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from pmtiles.tile import zxy_to_tileid

from tripline import observe
from tripline.adapters.maps import pmtiles_file, stamps
from tripline.adapters.maps.pmtiles_file import TileFile, TileFileError
from tripline.basemap.layers import ATTRIBUTION
from tripline.domain.maps import Bounds
from tripline.later import Later
from tripline.ports.maps import NO_MAP, BaseMapView, MapTile
from tripline.ports.outages import Outage

if TYPE_CHECKING:
    from tripline.adapters.maps import files as map_files
    from tripline.adapters.maps import merger as map_merger
else:
    # A process that shows no maps, or one alone, needs none of these.
    map_files = Later("tripline.adapters.maps.files")
    map_merger = Later("tripline.adapters.maps.merger")

LOOKED_S: Final = 1.0
"""From one look for maps to the next."""
MOST_UNPACKED: Final = 32 * 2**20
"""Bytes of a tile, unpacked."""
MERGED_BYTES: Final = 16 * 2**20
"""Size of the cache of merged tiles, in bytes."""
_TRIES: Final = 5
"""Reads of the folder before we give up while maps are being removed."""
_MOST_CREDIT: Final = 500
_MARKUP: Final = re.compile(r"<[^>]*>?")
_log = observe.logger("app")


class _Source(NamedTuple):
    key: str
    """Changes with its content."""
    name: str
    """Of its area, or of the file."""
    file: TileFile
    credit: str
    """Whom to name beside it."""


class _Open(NamedTuple):
    stamp: object
    sources: Sequence[_Source]
    shown: BaseMapView


class BaseMaps:
    """Implements `ports.maps.BaseMap`. One for each process; used on its event loop."""

    def __init__(
        self, folder: Path, *, file: Path | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """`folder`: of imported maps; `file`: shown in place of them. Raises `TileFileError` when that cannot be."""
        self._folder = folder
        self._file = file
        self._monotonic = monotonic
        self._looked_s = float("-inf")
        self._open = _Open(None, (), NO_MAP)
        self._lost: set[str] = set()
        """Keys of sources that could not be read."""
        self._merged: dict[int, bytes] = {}
        """By tile number, for the open sources."""
        self._merging = asyncio.Lock()
        if file is not None:
            check(file)

    def shown(self) -> BaseMapView:
        return self._now().shown

    async def tile(self, zoom: int, column: int, row: int) -> MapTile | None:
        number = zxy_to_tileid(zoom, column, row)
        while True:
            now = self._now()
            found = []
            for source in now.sources:
                try:
                    body = source.file.tile(number)
                except TileFileError as error:
                    self._lose(source, error)
                    break
                if body is not None:
                    found.append(MapTile(now.shown.version, body, source.file.packed))
            else:
                return found[0] if len(found) == 1 else await self._one_of(number, found)

    def unpacked(self, tile: MapTile) -> bytes:
        try:
            return _unpacked(tile)
        except TileFileError as error:
            raise Outage(str(error)) from error

    async def _one_of(self, number: int, found: Sequence[MapTile]) -> MapTile | None:
        if not found:
            return None
        version = found[0].version
        async with self._merging:
            body = self._merged.pop(number, None) if version == self._open.shown.version else None
            if body is None:
                body = await asyncio.to_thread(_merged, found)
            if version == self._open.shown.version:
                self._merged[number] = body
                while sum(map(len, self._merged.values())) > MERGED_BYTES:
                    del self._merged[next(iter(self._merged))]
        return MapTile(version, body, packed=True)

    def _now(self) -> _Open:
        now_s = self._monotonic()
        if now_s - self._looked_s >= LOOKED_S:
            self._looked_s = now_s
            for _ in range(_TRIES):
                # A map that was replaced while it was opened is missing; then the stamp is another one.
                stamp = self._stamp()
                if stamp == self._open.stamp:
                    break
                self._reopen(stamp)
        return self._open

    def _stamp(self) -> object:
        if self._file is None:
            return stamps.stamp(self._folder)
        try:
            found = self._file.stat()
        except OSError:
            return ()
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size

    def _reopen(self, stamp: object) -> None:
        before = {source.key: source for source in self._open.sources}
        listed = list(self._listed(stamp)) if stamp else []
        self._lost &= {key for key, _, _ in listed}
        opened = []
        for key, name, place in listed:
            if key in before:
                opened.append(before[key])
            elif key not in self._lost:
                try:
                    opened.append(_opened(key, name, place, foreign=self._file is not None))
                except TileFileError as error:
                    self._tell(key, name, error)
        if self._file is not None and not opened:
            # The file is being replaced or was lost: continue to serve the open one.
            opened = list(before.values())
        for source in before.values():
            if source not in opened:
                source.file.close()
        self._keep(stamp, opened)

    def _listed(self, stamp: object) -> Iterable[tuple[str, str, Path]]:
        """Key, name and file of each source to show."""
        if self._file is not None:
            yield str(stamp), str(self._file), self._file
            return
        for area in map_files.areas(self._folder):
            place = self._folder / area.folder / map_files.TILES
            # An area without anything to see has an empty file, and one that was just replaced has none.
            if place.exists() and place.stat().st_size:
                yield area.folder, area.name, place

    def _lose(self, source: _Source, error: TileFileError) -> None:
        """Stop showing a source until it is replaced."""
        self._tell(source.key, source.name, error)
        source.file.close()
        self._keep(self._open.stamp, [each for each in self._open.sources if each is not source])

    def _tell(self, key: str, name: str, error: TileFileError) -> None:
        self._lost.add(key)
        _log.warning("map.lost", map=name, error=str(error))

    def _keep(self, stamp: object, sources: Sequence[_Source]) -> None:
        self._merged = {}
        self._open = _Open(stamp, sources, _shown(sources))


def check(file: Path) -> None:
    """Raises `TileFileError` when it cannot be shown."""
    _opened("", "", file, foreign=True).file.close()


def _opened(key: str, name: str, place: Path, *, foreign: bool) -> _Source:
    """Raises `TileFileError`."""
    file = TileFile(place)
    try:
        return _Source(key, name, file, _credit(file) if foreign else ATTRIBUTION)
    except TileFileError:
        file.close()
        raise


def _credit(file: TileFile) -> str:
    """Whom a file names. Pages show it as it is, so nothing of it may be taken for a part of the page."""
    told = _MARKUP.sub("", file.attribution()).replace("&copy;", "©")
    return re.sub(r"[<>&]", "", told).strip()[:_MOST_CREDIT] or ATTRIBUTION


def _unpacked(tile: MapTile) -> bytes:
    return pmtiles_file.unpacked(tile.body, most=MOST_UNPACKED, name="the map") if tile.packed else tile.body


def _merged(tiles: Sequence[MapTile]) -> bytes:
    """Merge several tiles into one, packed with gzip; damaged tiles are left out."""
    bodies = []
    for tile in tiles:
        with contextlib.suppress(TileFileError):
            bodies.append(_unpacked(tile))
    return gzip.compress(map_merger.merged(bodies), mtime=0)


def _shown(sources: Sequence[_Source]) -> BaseMapView:
    if not sources:
        return NO_MAP
    version = hashlib.sha256(" ".join(sorted(source.key for source in sources)).encode()).hexdigest()[:16]
    west, south, east, north = zip(*(source.file.bounds for source in sources), strict=True)
    return BaseMapView(
        version,
        Bounds(min(west), min(south), max(east), max(north)),
        min(source.file.least_zoom for source in sources),
        max(source.file.most_zoom for source in sources),
        sources[0].credit,
    )
