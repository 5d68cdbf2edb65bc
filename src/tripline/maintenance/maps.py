"""Imported maps: creating one from a file, listing and removing them, with or without running servers.

Not here: reading the file (`adapters/maps/osm_file.py`), the folder of maps (`adapters/maps/files.py`), files of a
killed import (`adapters/maps/work.py`).
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tripline import clock
from tripline.adapters.maps import cancels, files, imports, locks, osm_file, tiles
from tripline.adapters.maps import features as map_features
from tripline.adapters.maps import work as map_work
from tripline.adapters.maps.files import LostAreaError
from tripline.adapters.maps.imports import Recorder
from tripline.adapters.maps.locks import NoAreaError
from tripline.adapters.maps.osm_file import MapFileError, UnreadFileError
from tripline.adapters.maps.work import Source, Work
from tripline.domain.maps import Area, Bounds, ImportStep, MapImport, Standing
from tripline.roads.index import UNITS, RoadIndex, Texts
from tripline.roads.places import Collector


def imported(
    folder: Path,
    file: Path,
    *,
    name: str,
    country: str,
    progress: Callable[[int], None],
    cancelled: Callable[[], None] | None = None,
    held: int | None = None,
) -> Area:
    """Make a map of the file; it replaces an existing one of this name.

    A killed import of the same file is resumed. `progress`: called with the number of roads, then tiles, made so far.
    `country`: the country of roads outside every country that is complete in the file. `cancelled`: called on another
    thread to end this process after a cancellation; None: not cancellable. `held`: the folder's lock, if already
    taken for this import. Raises `MapFileError`, `NoAreaError`; an existing map is unchanged then.
    """
    with _changing(folder, held):
        source = Source(file.absolute())
        now_ms = clock.now_ms()
        about = MapImport(
            name=name,
            country=country,
            file=str(source.file),
            begun_ms=_begun_ms(folder, name, source.file, now_ms),
            told_ms=now_ms,
            step=ImportStep.ROADS,
        )
        with _recording(folder, about) as recorder:
            area = _made(folder, source, recorder, progress, cancelled)
        imports.forget(folder)
        return area


def _begun_ms(folder: Path, name: str, file: Path, now_ms: int) -> int:
    """The begin of the file's upload, or of a killed import of it; else now."""
    record = imports.read(folder)
    if record is None or record.reason is not None or record.name != name or Path(record.file).absolute() != file:
        return now_ms
    return record.begun_ms


def listed(folder: Path) -> list[Area]:
    """All maps with a readable description, by name."""
    return files.areas(folder)


def lost(folder: Path) -> list[LostAreaError]:
    """The unreadable maps, by name."""
    return list(files.lost(folder))


def under_way(folder: Path) -> Standing | None:
    """The import that is running or has failed."""
    return imports.standing(folder)


def removed(folder: Path, name: str) -> None:
    """Delete a map. Raises `NoAreaError`."""
    with _changing(folder):
        files.remove(folder, name)


@contextmanager
def _changing(folder: Path, held: int | None = None) -> Iterator[None]:
    """Lock the folder of maps against changes, and finish interrupted ones. Raises `NoAreaError`."""
    try:
        with locks.changing(cancels.take(folder) if held is None else held):
            yield
    except OSError as error:
        raise _unwritten(error) from error


@contextmanager
def _recording(folder: Path, about: MapImport) -> Iterator[Recorder]:
    """Publish the state of an import and its failure."""
    try:
        recorder = Recorder(folder, about, clock.now_ms)
        try:
            yield recorder
        except OSError as error:
            recorder.failed(str(_unwritten(error)))
            raise
        except (MapFileError, NoAreaError) as error:
            is_of_file = isinstance(error, MapFileError)
            recorder.failed(str(error), bad_file=is_of_file and not isinstance(error, UnreadFileError))
            if is_of_file:
                imports.clear(folder)
            raise
    except OSError as error:
        raise _unwritten(error) from error


def _unwritten(error: OSError) -> NoAreaError:
    return NoAreaError(f"The maps cannot be written: {error.strerror}.")


def _made(
    folder: Path,
    source: Source,
    recorder: Recorder,
    progress: Callable[[int], None],
    cancelled: Callable[[], None] | None,
) -> Area:
    about = recorder.record

    def count(done: int) -> None:
        progress(done)
        recorder.count(done)

    def read() -> None:
        places = Collector()
        builder = osm_file.read(source.file, scratch=work.scratch, progress=count, places=places)
        files.write(work.place, *builder.built(otherwise=about.country))
        files.write_places(work.place, places.built())

    others = [area for area in files.areas(folder) if area.name != about.name]
    if len(others) >= files.MOST_AREAS:
        raise NoAreaError(f"There are {len(others)} maps already; remove one first.")
    with map_work.begun(folder, source, country=about.country) as work:
        with cancels.heeded(folder, about.name, cancelled):
            work.step("roads", read)
            index, texts = files.opened(work.place)
            places = files.opened_places(work.place)
            bounds = _bounds(index)
            recorder.step(ImportStep.TILES)
            work.step("tiles", lambda: _draw(source.file, work, index, texts, bounds=bounds, progress=count))
        recorder.step(ImportStep.PLACE)
        area = Area(
            name=about.name,
            format=files.FORMAT,
            folder=work.moved(folder, about.name),
            map=source.map,
            source=source.file.name,
            imported_ms=clock.now_ms(),
            roads=index.link.size,
            places=None if places is None else places.lat.size,
            bounds=bounds,
        )
        return files.put(folder, area)


def _draw(
    file: Path, work: Work, index: RoadIndex, texts: Texts, *, bounds: Bounds, progress: Callable[[int], None]
) -> None:
    """Make the tiles of the base map."""
    with tempfile.TemporaryFile(dir=work.scratch) as opened:
        features = map_features.Features(opened)
        map_features.read(file, features, scratch=work.scratch)
        map_features.limits(index, texts, features)
        tiles.write(features.stored(), work.place / files.TILES, bounds=bounds, progress=progress)


def _bounds(index: RoadIndex) -> Bounds:
    ends = index.lon.min(), index.lat.min(), index.lon.max(), index.lat.max()
    return Bounds(*(float(each) / UNITS for each in ends))
