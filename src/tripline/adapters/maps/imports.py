"""The one import of a folder of maps: its state, and its uploaded file.

The state is in a small file, which every process reads. The importing process holds the lock of the folder
(`locks.py`), so an import in the file without a holder of the lock was interrupted.
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


class Recorder:
    """Writes the progress of an import; its owner holds the lock of the folder."""

    def __init__(self, folder: Path, record: MapImport, clock: Callable[[], int]) -> None:
        self._folder = folder
        self._clock = clock
        self.record = record
        """The state written last."""
        self._at_s = 0.0
        self.step(record.step)

    def step(self, step: ImportStep) -> None:
        self._write(replace(self.record, step=step, done=0))

    def count(self, done: int) -> None:
        """So much of the step is done. Cheap."""
        if time.monotonic() - self._at_s > _TOLD_EVERY_S:
            self._write(replace(self.record, done=done))

    def failed(self, reason: str, *, bad_file: bool = False) -> None:
        """Record a final failure. `bad_file`: the content of the file is the cause."""
        named = reason.replace(self.record.file, Path(self.record.file).name)
        self._write(replace(self.record, reason=named, bad_file=bad_file))

    def _write(self, record: MapImport) -> None:
        self.record = replace(record, told_ms=self._clock())
        self._at_s = time.monotonic()
        write(self._folder, self.record)


def standing(folder: Path) -> Standing | None:
    """The import that has not come to a good end; None: there is none."""
    is_worked_on = locks.is_changing(folder)
    record = read(folder)
    if record is None:
        return None
    if record.reason is not None:
        stage = ImportState.FAILED
    elif is_worked_on or locks.is_changing(folder):
        stage = ImportState.RUNNING
    else:
        stage = ImportState.INTERRUPTED
    return Standing(record=record, stage=stage, can_continue=stage is not ImportState.RUNNING and has_file(record))


def has_file(record: MapImport) -> bool:
    """True if the import's whole file is on this machine, and has changed since the import failed because of it."""
    try:
        found = Path(record.file).stat()
    except OSError:
        return False
    # The time of change is new however another file takes its place, by `mv` and `cp -p`, too.
    is_same = found.st_ctime_ns // _NS_PER_MS <= record.told_ms
    return stat.S_ISREG(found.st_mode) and record.step is not ImportStep.UPLOAD and not (record.bad_file and is_same)


def is_of(folder: Path, name: str) -> bool:
    """True if the current or last import is of this area."""
    record = read(folder)
    return record is not None and record.name == name


def write(folder: Path, record: MapImport | None) -> None:
    """Write the state of the import; None removes it. The caller holds the lock of the folder."""
    if record is None:
        (folder / _STATE).unlink(missing_ok=True)
        return
    put(folder, _STATE, msgspec.json.encode(record))


def put(folder: Path, name: str, content: bytes) -> None:
    """Write a file atomically; `clear` deletes the temporary file of a killed writer."""
    fresh = folder / f"{_STATE}-{secrets.token_hex(4)}"
    fresh.write_bytes(content)
    fresh.replace(folder / name)


def forget(folder: Path) -> None:
    """Forget the import; delete its uploaded file and its work folder."""
    write(folder, None)
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
