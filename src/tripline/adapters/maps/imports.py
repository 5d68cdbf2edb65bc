"""The one import of a folder of maps, as it is told: how far it is, and the file that was uploaded for it.

How far it is stands in a small file, which every process reads. Whoever works on an import holds the lock of the folder
(`locks.py`), so that an import in the file without a holder was interrupted.

Not here: what an import makes (`work.py`).
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
    """Tells how far an import is; its owner holds the lock of the folder."""

    def __init__(self, folder: Path, told: MapImport, clock: Callable[[], int]) -> None:
        self._folder = folder
        self._clock = clock
        self._told = told
        self._at_s = 0.0
        self.step(told.step)

    @property
    def told(self) -> MapImport:
        """What was told last."""
        return self._told

    def step(self, step: ImportStep) -> None:
        """It begins with a step."""
        self._tell(replace(self._told, step=step, done=0))

    def count(self, done: int) -> None:
        """So much of the step is done. Cheap."""
        if time.monotonic() - self._at_s > _TOLD_EVERY_S:
            self._tell(replace(self._told, done=done))

    def failed(self, reason: str, *, bad_file: bool = False) -> None:
        """It failed, and does not go on by itself. `bad_file`: for what is in its file."""
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
    """Whether the whole file of an import is on this machine, and another one than what the import failed for."""
    try:
        found = Path(told.file).stat()
    except OSError:
        return False
    # The time of change is new however another file takes its place, by `mv` and `cp -p`, too.
    is_same = found.st_ctime_ns // _NS_PER_MS <= told.told_ms
    return stat.S_ISREG(found.st_mode) and told.step is not ImportStep.UPLOAD and not (told.bad_file and is_same)


def is_of(folder: Path, name: str) -> bool:
    """Whether the import that was told last is of this area."""
    told = read(folder)
    return told is not None and told.name == name


def tell(folder: Path, told: MapImport | None) -> None:
    """Have this be what is told of an import; None: there is none. Whoever tells it holds the lock of the folder."""
    if told is None:
        (folder / _STATE).unlink(missing_ok=True)
        return
    put(folder, _STATE, msgspec.json.encode(told))


def put(folder: Path, name: str, content: bytes) -> None:
    """Write a file in one step; what is left of one whose writer was killed goes with what imports leave (`clear`)."""
    fresh = folder / f"{_STATE}-{secrets.token_hex(4)}"
    fresh.write_bytes(content)
    fresh.replace(folder / name)


def forget(folder: Path) -> None:
    """Forget the import, with the file that was uploaded for it and what was made of it."""
    tell(folder, None)
    clear(folder)


def clear(folder: Path, *, keep: Collection[Path] = ()) -> None:
    """Delete what imports left behind, but for these uploaded files and work folders."""
    kept = {path.resolve() for path in keep}
    for each in (*folder.glob(f"{_STATE}-*"), *folder.glob(f"{UPLOADS}/*"), *folder.glob(f"{WORK}*")):
        if each.resolve() in kept:
            continue
        if each.is_dir():
            shutil.rmtree(each, ignore_errors=True)
        else:
            each.unlink(missing_ok=True)


def read(folder: Path) -> MapImport | None:
    """What an import told last."""
    try:
        return msgspec.json.decode((folder / _STATE).read_bytes(), type=MapImport)
    except (OSError, msgspec.MsgspecError):
        return None
