"""The one import of a folder of maps: its state, and its uploaded file.

The state is in a small file, which every process reads. The importing process holds the lock of the folder
(`locks.py`), so an import in the file without a holder of the lock was interrupted.

Not here: the map that an import makes (`work.py`).
"""

import secrets
import shutil
import stat
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from tripline.adapters.maps import locks
from tripline.domain.maps import ImportState, ImportStep, MapImport, Standing

UPLOADS: Final = ".uploads"
WORK: Final = ".work-"
"""How the names of work folders begin."""
_STATE: Final = ".import"
_TOLD_EVERY_S: Final = 1.0
_NS_PER_MS: Final = 1_000_000


class Telling:
    """Writes the progress of an import; its owner holds the lock of the folder."""

    def __init__(self, folder: Path, told: MapImport, clock: Callable[[], int]) -> None:
        self._folder = folder
        self._clock = clock
        self._told = told
        self._at_s = 0.0
        self.step(told.step)

    @property
    def told(self) -> MapImport:
        """The state written last."""
        return self._told

    def step(self, step: ImportStep) -> None:
        """It begins with a step."""
        self._tell(replace(self._told, step=step, done=0))

    def count(self, done: int) -> None:
        """So much of the step is done. Cheap."""
        if time.monotonic() - self._at_s > _TOLD_EVERY_S:
            self._tell(replace(self._told, done=done))

    def failed(self, reason: str, *, bad_file: bool = False) -> None:
        """Record a final failure. `bad_file`: the content of the file is the cause."""
        named = reason.replace(self._told.file, Path(self._told.file).name)
        self._tell(replace(self._told, reason=named, bad_file=bad_file))

    def _tell(self, told: MapImport) -> None:
        self._told = replace(told, told_ms=self._clock())
        self._at_s = time.monotonic()
        tell(self._folder, self._told)


def standing(folder: Path) -> Standing | None:
    """The import that has not come to a good end; None: there is none."""
    is_worked_on = locks.is_changing(folder)
    told = read(folder)
    if told is None:
        return None
    if told.reason is not None:
        stage = ImportState.FAILED
    elif is_worked_on or locks.is_changing(folder):
        stage = ImportState.RUNNING
    else:
        stage = ImportState.INTERRUPTED
    return Standing(told=told, stage=stage, can_continue=stage is not ImportState.RUNNING and has_file(told))


def has_file(told: MapImport) -> bool:
    """True if the import's whole file is on this machine, and has changed since the import failed because of it."""
    try:
        found = Path(told.file).stat()
    except OSError:
        return False
    # The time of change is new however another file takes its place, by `mv` and `cp -p`, too.
    is_same = found.st_ctime_ns // _NS_PER_MS <= told.told_ms
    return stat.S_ISREG(found.st_mode) and told.step is not ImportStep.UPLOAD and not (told.bad_file and is_same)


def is_of(folder: Path, name: str) -> bool:
    """True if the current or last import is of this area."""
    told = read(folder)
    return told is not None and told.name == name


def tell(folder: Path, told: MapImport | None) -> None:
    """Write the state of the import; None removes it. The caller holds the lock of the folder."""
    if told is None:
        (folder / _STATE).unlink(missing_ok=True)
        return
    put(folder, _STATE, msgspec.json.encode(told))


def put(folder: Path, name: str, content: bytes) -> None:
    """Write a file atomically; `clear` deletes the temporary file of a killed writer."""
    fresh = folder / f"{_STATE}-{secrets.token_hex(4)}"
    fresh.write_bytes(content)
    fresh.replace(folder / name)


def forget(folder: Path) -> None:
    """Forget the import; delete its uploaded file and its work folder."""
    tell(folder, None)
    clear(folder)


def clear(folder: Path, *, keep: Collection[Path] = ()) -> None:
    """Delete the remains of imports, except these uploaded files and work folders."""
    kept = {path.resolve() for path in keep}
    for each in (*folder.glob(f"{_STATE}-*"), *folder.glob(f"{UPLOADS}/*"), *folder.glob(f"{WORK}*")):
        if each.resolve() in kept:
            continue
        if each.is_dir():
            shutil.rmtree(each, ignore_errors=True)
        else:
            each.unlink(missing_ok=True)


def read(folder: Path) -> MapImport | None:
    """The state of the current or last import."""
    try:
        return msgspec.json.decode((folder / _STATE).read_bytes(), type=MapImport)
    except (OSError, msgspec.MsgspecError):
        return None
