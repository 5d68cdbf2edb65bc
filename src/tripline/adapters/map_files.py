"""The areas of the folder of maps (setting `map.dir`): one description each, and a folder with what was made of it.

`NAME.json` describes an area and says in which folder it lies. An import writes a new folder and then puts the
description in place of the former one, in one step: whoever reads finds the former map or the new one, never a mixture.
A folder is never changed; arrays that are open stay readable when it goes.
"""

import fcntl
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import msgspec
import numpy as np
from msgspec import Meta

from tripline.roads.index import RoadIndex, Texts

FORMAT: Final = 2
"""Of the files; an area of another one has to be imported anew."""
NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
MOST_AREAS: Final = 256
"""That are looked at."""
TILES: Final = "tiles.pmtiles"
"""The file with the base map of an area."""
_TEXTS: Final = "texts.json"
_LOCK: Final = ".lock"


class Area(msgspec.Struct, frozen=True, kw_only=True):
    """An imported area."""

    name: str
    format: Annotated[int, Meta(ge=1)]
    folder: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]*\Z")]
    map: str
    """Which map it is: the beginning of the SHA-256 of the file."""
    source: str
    """Name of the file."""
    imported_ms: int
    roads: int
    size: int = 0
    """Of its files together, bytes; told by `keep`."""
    bounds: tuple[float, float, float, float]
    """Least and greatest latitude, least and greatest longitude of its roads, degrees."""


class NoAreaError(Exception):
    """An area is not there, or cannot be read or changed; the text is the one line to show."""


class LostAreaError(NoAreaError):
    """An area was imported, and cannot be read any more."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"The map of {name} cannot be read: {why}.")
        self.name = name
        self.why = why


def fingerprint(file: Path) -> str:
    """The first digits of the file's SHA-256, which differ from those of any other file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:12]


def described(folder: Path) -> Iterator[Area | LostAreaError]:
    """All that are there, by name; of those whose description cannot be read, why."""
    files = sorted(file for file in folder.glob("*.json") if NAME.fullmatch(file.stem))
    for file in files[:MOST_AREAS]:
        try:
            yield msgspec.json.decode(file.read_bytes(), type=Area)
        except FileNotFoundError:
            continue  # removed a moment ago
        except (OSError, msgspec.MsgspecError) as error:
            yield LostAreaError(file.stem, f"{file}: {error}")


def areas(folder: Path) -> list[Area]:
    """Those whose description can be read, by name."""
    return [each for each in described(folder) if isinstance(each, Area)]


def lost(folder: Path) -> Iterator[LostAreaError]:
    """Those that cannot be read, by name. Reads no more than descriptions."""
    for each in described(folder):
        if isinstance(each, LostAreaError):
            yield each
            continue
        try:
            look(folder, each)
        except LostAreaError as error:
            yield error


def look(folder: Path, area: Area) -> None:
    """See whether its files are there as they were written, by their size. Cheap. Raises `LostAreaError`."""
    if area.format != FORMAT:
        raise LostAreaError(area.name, "another version of Tripline imported it")
    try:
        size = sum(file.stat().st_size for file in (folder / area.folder).iterdir())
    except OSError as error:
        raise LostAreaError(area.name, str(error)) from error
    if size != area.size:
        raise LostAreaError(area.name, f"its files in {folder / area.folder} have {size} bytes, not {area.size}")


def load(folder: Path, area: Area) -> tuple[RoadIndex, Texts]:
    """Its index; the arrays stay on disk until something of them is needed. Raises `LostAreaError`."""
    look(folder, area)
    place = folder / area.folder
    try:
        texts = msgspec.json.decode((place / _TEXTS).read_bytes(), type=Texts)
        arrays = {name: np.load(place / f"{name}.npy", mmap_mode="r") for name in RoadIndex.__struct_fields__}
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise LostAreaError(area.name, str(error)) from error
    return RoadIndex(**arrays), texts


@contextmanager
def changing(folder: Path) -> Iterator[None]:
    """Keep other commands from changing the folder of maps. Raises `NoAreaError` when somebody does already.

    The lock is the kernel's, so it ends with the process that held it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise NoAreaError(f"Another command changes the maps in {folder} right now.") from error
        yield
    finally:
        os.close(descriptor)


@contextmanager
def new_folder(folder: Path, name: str) -> Iterator[Path]:
    """A folder for a map that is being made; it goes unless the map is kept."""
    made = folder / f"{name}.{secrets.token_hex(6)}"
    made.mkdir()
    try:
        yield made
    finally:
        if made.name not in {area.folder for area in areas(folder)}:
            shutil.rmtree(made, ignore_errors=True)


def keep(folder: Path, area: Area, index: RoadIndex, texts: Texts) -> Area:
    """Write an index into the area's folder, which is new, and put it in place of the former one; the area."""
    place = folder / area.folder
    for name in RoadIndex.__struct_fields__:
        with (place / f"{name}.npy").open("wb") as opened:
            np.save(opened, getattr(index, name))
            os.fsync(opened.fileno())
    _write(place / _TEXTS, msgspec.json.encode(texts))
    _sync_folder(place)
    kept = msgspec.structs.replace(area, size=sum(file.stat().st_size for file in place.iterdir()))
    _write(place / "area.json", msgspec.json.encode(kept))
    (place / "area.json").replace(folder / f"{area.name}.json")
    _sync_folder(folder)
    _clear(folder, area.name)
    return kept


def remove(folder: Path, name: str) -> None:
    """Forget an area. Raises `NoAreaError`."""
    if NAME.fullmatch(name) is None:
        raise NoAreaError(f"There is no map called {name}.")
    try:
        (folder / f"{name}.json").unlink()
    except FileNotFoundError as error:
        raise NoAreaError(f"There is no map called {name}.") from error
    _sync_folder(folder)
    _clear(folder, name)


def _clear(folder: Path, name: str) -> None:
    """Delete folders of an area that no description names: former maps, and those of imports that were killed."""
    in_use = {area.folder for area in areas(folder)}
    for each in folder.glob(f"{name}.*"):
        if each.is_dir() and each.name not in in_use:
            shutil.rmtree(each, ignore_errors=True)


def _write(file: Path, body: bytes) -> None:
    with file.open("wb") as opened:
        opened.write(body)
        opened.flush()
        os.fsync(opened.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
