"""Empty database files of SQLite for tests, each used again by later tests together with its open connections.

A test's path is a symbolic link to such a file. What a test commits is in the write-ahead log only: without the log the
file is as it was, so emptying takes a fraction of a millisecond, and no connection parses the schema again. A file that
was changed itself, or has a connection that somebody still uses, is given up.
"""

import atexit
import itertools
import os
import shutil
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from tripline.store.database import sqlite

MOST_LENT: Final = 8
"""A test that makes more databases than this gets plain files."""
_HEADERS: Final = bytes(96)
"""In place of both headers of the log's index: whoever looks next reads the log anew
(https://sqlite.org/walformat.html, 2.1)."""


class _Connection(sqlite3.Connection):
    """A connection that goes back to its file instead of being closed."""

    home: "PooledFile | None" = None
    functions: frozenset[str] = frozenset()

    def create_function(self, name: str, *arguments: Any, **how: Any) -> None:
        """Have it once: to set it again would make every prepared statement void."""
        if name not in self.functions:
            super().create_function(name, *arguments, **how)
            self.functions |= {name}

    def close(self) -> None:
        """Give it back."""
        if self.home is None:
            super().close()
        elif self not in self.home.free:
            self.rollback()
            self.set_progress_handler(None, 0)
            self.execute("PRAGMA query_only=OFF")
            self.home.free.append(self)


class PooledFile:
    """A file of the pool, its log and the log's index."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self.free: list[_Connection] = []
        self._made: list[_Connection] = []
        path.write_bytes(content)
        os.utime(path, (0, 0))  # every change is later
        self._keeper = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
        self._version = self._schema_version()
        # Never closed while somebody has the file open: that would end SQLite's locks on it.
        self._files = [os.open(f"{path}{suffix}", os.O_RDWR) for suffix in ("", "-wal", "-shm")]
        self._changed = self._last_change()

    def connect(self) -> sqlite3.Connection:
        """A connection that nobody else uses."""
        if self.free:
            return self.free.pop()
        made = _new_connection(self.path, factory=_Connection)
        made.home = self
        self._made.append(made)
        return made

    def is_untouched(self) -> bool:
        """True if nothing was committed since it was emptied."""
        return os.fstat(self._files[1]).st_size == 0 and self._last_change() == self._changed

    def emptied(self) -> bool:
        """Forget what was committed; False if that cannot be."""
        if len(self.free) < len(self._made) or self._last_change() != self._changed:
            return False
        if self._schema_version() != self._version:
            return False  # a connection could take a later test's schema for the one that it knows
        self.replace_log(b"")
        return self._keeper.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0

    def log(self) -> bytes:
        """Everything that was committed."""
        return os.pread(self._files[1], os.fstat(self._files[1]).st_size, 0)

    def replace_log(self, log: bytes) -> None:
        """Let this be what was committed."""
        os.ftruncate(self._files[1], 0)
        os.pwrite(self._files[1], log, 0)
        os.pwrite(self._files[2], _HEADERS, 0)

    def close(self) -> None:
        """Give it up; connections still in use close for good when they are closed."""
        for connection in self._made:
            connection.home = None
        for connection in (*self.free, self._keeper):
            connection.close()
        for file in self._files:
            os.close(file)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def _last_change(self) -> tuple[int, int]:
        found = os.fstat(self._files[0])
        return found.st_mtime_ns, found.st_size

    def _schema_version(self) -> int:
        version: int = self._keeper.execute("PRAGMA schema_version").fetchone()[0]
        return version


_lent: dict[str, PooledFile] = {}
"""By the paths that tests know."""
_free: list[PooledFile] = []


def lend(path: Path, content: bytes) -> bool:
    """Put a link to an empty file at the path; False if there are too many."""
    file = _lent.pop(str(path), None)
    path.unlink(missing_ok=True)
    if file is not None:
        _take_back(file)
    if len(_lent) == MOST_LENT:
        return False
    file = _free.pop() if _free else PooledFile(_folder() / f"{next(_numbers)}.db", content)
    path.symlink_to(file.path)
    _lent[str(path)] = file
    return True


def at(path: Path) -> PooledFile | None:
    """The file of the pool to which the path leads."""
    file = _lent.get(str(path))
    return file if file is not None and path.is_symlink() and path.readlink() == file.path else None


def lent() -> list[str]:
    """The paths in use."""
    return list(_lent)


def give_back(paths: list[str]) -> None:
    """Let others use these files, unless they are not what they were."""
    for path in paths:
        _take_back(_lent.pop(path))


def _take_back(file: PooledFile) -> None:
    if file.emptied():
        _free.append(file)
    else:
        file.close()


def _connect(path: Path | str) -> sqlite3.Connection:
    file = at(Path(path))
    return _new_connection(path) if file is None else file.connect()


@cache
def _folder() -> Path:
    shared = Path("/dev/shm")  # in memory, so that nothing of it is ever written to a disk
    folder = tempfile.mkdtemp(prefix="tripline-pool-", dir=shared if shared.is_dir() else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


_numbers = itertools.count()
_new_connection = sqlite.connect
sqlite.connect = _connect
