"""The data folder: made private, proved writable, and held by at most one server at a time.

The lock is the kernel's (`flock`), so it ends with the process that held it, however that ended. Commands other than
`serve` take no lock; the database lets them work beside a server.
"""

import errno
import fcntl
import os
import time
from pathlib import Path
from typing import Final

DATABASE: Final = "tripline.db"
LOCK: Final = "serve.lock"
_LOOKING_S: Final = 5.0
"""How long a server waits for its lock: longer than a command holds it in `is_held`, on a busy machine too."""
_LONGEST: Final = 1_024
_AGAIN_S: Final = 0.01


class DataFolderError(Exception):
    """The folder cannot be used; the text is the one line to show."""


def prepare(folder: Path) -> Path:
    """Make the folder (mode 0700) when it is missing and prove that files can be made in it; its absolute path."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:
        raise DataFolderError(f"The data folder {folder} is a file.") from error
    except OSError as error:
        raise DataFolderError(f"The data folder {folder} cannot be made: {error.strerror}.") from error
    probe = folder / ".writable"
    try:
        probe.touch()
        probe.unlink(missing_ok=True)  # another command may have proved it at the same time
    except OSError as error:
        raise _unwritable(folder, error) from error
    return folder.resolve()


def existing(folder: Path) -> Path:
    """The absolute path of a folder some server has used. Raises `DataFolderError` when there is none, when its
    database is gone, and for another user's, which is closed."""
    try:
        is_there = (folder / DATABASE).exists() and (folder / DATABASE).stat().st_size > 0
        is_left = is_left_behind(folder)
    except OSError as error:
        raise DataFolderError(f"The data folder {folder} cannot be read: {error.strerror}.") from error
    if not is_there and is_left:
        raise lost(folder)
    if not is_there:
        raise DataFolderError(
            f"There is no Tripline data in {folder}; `tripline serve` or `tripline migrate` makes it."
        )
    return folder.resolve()


def is_left_behind(folder: Path) -> bool:
    """True if the folder has files that an installation only makes after its database."""
    log = folder / f"{DATABASE}-wal"
    return any(any((folder / name).glob("*")) for name in ("tls", "mail")) or (log.exists() and log.stat().st_size > 0)


def lost(folder: Path) -> DataFolderError:
    """The error for an installation whose database is missing or empty."""
    return DataFolderError(
        f"The data folder {folder} is of an installation, but its database {folder / DATABASE} is missing or empty;"
        " put it back from a copy, or begin with an empty one: `tripline migrate --new`."
    )


def is_read_only(folder: Path) -> bool:
    """True if the folder's file system is mounted read-only."""
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _unwritable(folder: Path, error: OSError) -> DataFolderError:
    if error.errno == errno.EROFS:
        return DataFolderError(f"The data folder {folder} is on a read-only file system; mount it for writing.")
    return DataFolderError(f"The data folder {folder} cannot be written to: {error.strerror}.")


def is_held(folder: Path) -> bool:
    """True if a server runs on the folder. Takes a shared lock for a moment to check."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def address_of(folder: Path) -> str | None:
    """The address of the API of the server that runs on the folder; None: none runs, or it serves no API."""
    try:
        if not is_held(folder):
            return None
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        _, *address = _holder(descriptor)
    finally:
        os.close(descriptor)
    return address[0] if address else None


def _holder(descriptor: int) -> list[str]:
    """The lines that a server wrote into the lock: its process, and its address once its listeners are open."""
    return os.pread(descriptor, _LONGEST, 0).decode().split() or [""]


class Hold:
    """The exclusive hold of a running server on its data folder. Released by `release` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        try:
            self._descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unwritable(folder, error) from error
        if not self._taken():
            holder = next(iter(_holder(self._descriptor)), "")
            os.close(self._descriptor)
            raise DataFolderError(
                f"The data folder {folder} is in use by another server (process {holder or 'unknown'})."
            )
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def tell(self, address: str) -> None:
        """Store the address of the server's API in the lock file, for commands (`address_of`)."""
        os.pwrite(self._descriptor, f"{os.getpid()}\n{address}\n".encode(), 0)

    def _taken(self) -> bool:
        # A shared lock beside us is a command that looks (`is_held`), and passes; an exclusive one is a server.
        deadline = time.monotonic() + _LOOKING_S
        while not self._locked(fcntl.LOCK_EX):
            if not self._locked(fcntl.LOCK_SH) or time.monotonic() > deadline:
                return False
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            time.sleep(_AGAIN_S)
        return True

    def _locked(self, how: int) -> bool:
        try:
            fcntl.flock(self._descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        os.close(self._descriptor)
