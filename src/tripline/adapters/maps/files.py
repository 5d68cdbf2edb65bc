"""The areas in the folder of maps (setting `map.dir`): a description of each, and a folder with its index and tiles.

`NAME.json` describes an area and names its folder. An import writes a new folder and then replaces the description in
one step: readers find the old map or the new one, never a mixture. A folder is never changed; arrays that are open stay
readable when it is deleted.
"""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from tripline.adapters.maps import imports, locks
from tripline.adapters.maps.locks import NoAreaError
from tripline.domain.maps import NAME, Area
from tripline.roads.index import RoadIndex, Texts
from tripline.roads.places import Places

FORMAT: Final = 4
"""The format of the files. An area of another format has to be imported anew."""
MOST_AREAS: Final = 256
"""Areas beyond this number are ignored."""
TILES: Final = "tiles.pmtiles"
"""The file with the base map of an area."""
_TEXTS: Final = "texts.json"


class LostAreaError(NoAreaError):
    """An area was imported, and cannot be read any more. `why`: part of a sentence, kept (`language/kept.py`)."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"The map of {name} cannot be read: {why}.")
        self.name = name
        self.why = why


def fingerprint(file: Path) -> str:
    """The first digits of the file's SHA-256, to identify its content."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:12]


def described(folder: Path) -> Iterator[Area | LostAreaError]:
    """Every area, sorted by name; in place of a description that cannot be read, the reason."""
    files = sorted(file for file in folder.glob("*.json") if NAME.fullmatch(file.stem))
    for file in files[:MOST_AREAS]:
        try:
            yield msgspec.json.decode(file.read_bytes(), type=Area)
        except FileNotFoundError:
            continue  # removed a moment ago
        except (OSError, msgspec.MsgspecError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            yield LostAreaError(file.stem, f"its description {file} cannot be read ({why})")


def areas(folder: Path) -> list[Area]:
    """The areas whose description can be read, sorted by name."""
    return [each for each in described(folder) if isinstance(each, Area)]


def lost(folder: Path) -> Iterator[LostAreaError]:
    """The areas that cannot be read, sorted by name. Opens descriptions only."""
    for each in described(folder):
        error = fault(folder, each)
        if error is not None:
            yield error


def fault(folder: Path, told: Area | LostAreaError) -> LostAreaError | None:
    """Why an area cannot be read, by its description and the size of its files; None: it can. Cheap."""
    if isinstance(told, LostAreaError):
        return told
    if told.format != FORMAT:
        return LostAreaError(told.name, "another version of Tripline imported it")
    place = folder / told.folder
    try:
        size = sum(file.stat().st_size for file in place.iterdir())
    except FileNotFoundError:
        return LostAreaError(told.name, f"its folder {place} is gone")
    except OSError as error:
        return LostAreaError(told.name, f"its folder {place} cannot be read ({error.strerror})")
    if size != told.size:
        return LostAreaError(told.name, f"its files in {place} have {size:,} bytes, not {told.size:,}")
    return None


def load(folder: Path, area: Area) -> tuple[RoadIndex, Texts]:
    """The index of an area; its arrays are mapped from disk. Raises `LostAreaError`."""
    if (error := fault(folder, area)) is not None:
        raise error
    place = folder / area.folder
    try:
        return opened(place)
    except (OSError, ValueError, msgspec.MsgspecError) as damage:
        raise LostAreaError(area.name, f"its files in {place} are damaged ({damage})") from damage


def write(place: Path, index: RoadIndex, texts: Texts) -> None:
    """Write an index into a folder."""
    for name in RoadIndex.__struct_fields__:
        np.save(place / f"{name}.npy", getattr(index, name))
    (place / _TEXTS).write_bytes(msgspec.json.encode(texts))


def opened(place: Path) -> tuple[RoadIndex, Texts]:
    """Open the files of `write`; the arrays are mapped from disk. Raises `OSError`, `ValueError`,
    `msgspec.MsgspecError`."""
    texts = msgspec.json.decode((place / _TEXTS).read_bytes(), type=Texts)
    # As plain arrays: those of the class `memmap` take twice as long to index.
    return RoadIndex(
        **{name: np.asarray(np.load(place / f"{name}.npy", mmap_mode="r")) for name in RoadIndex.__struct_fields__}
    ), texts


def write_places(place: Path, places: Places) -> None:
    """Write a table of places into a folder."""
    for name in Places.__struct_fields__:
        np.save(place / f"places_{name}.npy", getattr(places, name))


def opened_places(place: Path) -> Places | None:
    """Open the files of `write_places`, mapped from disk; None: the map has none. Raises `OSError`, `ValueError`."""
    if not (place / "places_names.npy").exists():
        return None
    return Places(**{name: np.load(place / f"places_{name}.npy", mmap_mode="r") for name in Places.__struct_fields__})


def put(folder: Path, area: Area) -> Area:
    """Replace the former area of this name, once the files are in its folder and on disk; returns it with its size."""
    place = folder / area.folder
    put = msgspec.structs.replace(area, size=sum(file.stat().st_size for file in place.iterdir()))
    described = place / "area.json"
    described.write_bytes(msgspec.json.encode(put))
    locks.sync(described)
    described.replace(folder / f"{area.name}.json")
    locks.sync(folder)
    clear(folder, area.name)
    return put


def is_known(folder: Path, name: str) -> bool:
    """True if the area has a map, in any state, or an unfinished or failed import."""
    return _is_there(folder, name) or imports.is_of(folder, name)


def remove(folder: Path, name: str) -> None:
    """Forget an area, and an import of it that ended. Raises `NoAreaError`."""
    if not is_known(folder, name):
        raise NoAreaError(f"There is no map called {name}.")
    if imports.is_of(folder, name):
        imports.forget(folder)
    if _is_there(folder, name):
        (folder / f"{name}.json").unlink()
        locks.sync(folder)
    clear(folder, name)


def clear(folder: Path, name: str) -> None:
    """Delete folders of an area that its description does not name: former maps and remains of killed imports."""
    in_use = {area.folder for area in areas(folder)}
    for each in folder.glob(f"{name}.*"):
        if each.is_dir() and each.name not in in_use:
            shutil.rmtree(each, ignore_errors=True)


def _is_there(folder: Path, name: str) -> bool:
    return NAME.fullmatch(name) is not None and (folder / f"{name}.json").exists()
