"""Makes a map step by step in a work folder of its source file: a restarted import continues after its last finished
step.

A step is finished when its files are on disk and a mark records it. The name of the work folder contains the file,
the country, the format and the program version; another import never reuses it.
"""

import hashlib
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Final

from tripline.adapters.maps import files, imports, locks, osm_file
from tripline.adapters.maps.osm_file import MapFileError, UnreadFileError

_DONE: Final = ".done"
_SCRATCH: Final = "scratch"


class Source:
    """The file of an import, which must not change meanwhile."""

    def __init__(self, file: Path) -> None:
        """Raises `MapFileError`."""
        osm_file.look(file)
        self.file = file
        self._seen = self._look()
        self.map = files.fingerprint(file)
        """Which map it is: the beginning of the SHA-256 of the file."""

    def check(self) -> None:
        """Raise `UnreadFileError` when it changed."""
        if self._look() != self._seen:
            raise UnreadFileError(f"{self.file} changed while it was imported.")

    def _look(self) -> tuple[int, int, int]:
        try:
            found = self.file.stat()
        except OSError as error:
            raise UnreadFileError(f"{self.file} cannot be read: {error.strerror}.") from error
        return found.st_ino, found.st_size, found.st_mtime_ns


class Work:
    """The work folder of an import."""

    def __init__(self, place: Path, source: Source) -> None:
        self.place = place
        self.scratch = place / _SCRATCH
        """Temporary files of a single step."""
        self._source = source

    def step(self, name: str, make: Callable[[], None]) -> None:
        """Have files made in the work folder, unless that was done before. Raises `MapFileError`."""
        done = self.place / f"{name}{_DONE}"
        if done.exists():
            return
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        make()
        self._source.check()
        shutil.rmtree(self.scratch)
        for each in self.place.iterdir():
            locks.sync(each)
        locks.sync(self.place)
        done.touch()
        locks.sync(self.place)

    def moved(self, folder: Path, name: str) -> str:
        """Make a new folder of the files, for an area of this name; its name. From here on the work begins anew."""
        place = folder / f"{name}.{secrets.token_hex(6)}"
        self.place.rename(place)
        for each in place.glob(f"*{_DONE}"):
            each.unlink()
        locks.sync(place)
        return place.name


@contextmanager
def begun(folder: Path, source: Source, *, country: str) -> Iterator[Work]:
    """The work folder of this import with its finished steps; other work folders are deleted."""
    of = f"{country} {files.FORMAT} {metadata.version('tripline')}"
    place = folder / f"{imports.WORK}{source.map}-{hashlib.sha256(of.encode()).hexdigest()[:6]}"
    imports.clear(folder, keep={place, source.file})
    place.mkdir(exist_ok=True)
    try:
        yield Work(place, source)
    except (MapFileError, OSError):
        # The results of a bad file are useless, and a full disk needs the space.
        shutil.rmtree(place, ignore_errors=True)
        raise
