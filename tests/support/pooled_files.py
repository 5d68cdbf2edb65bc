"""Empty database files of SQLite for tests, each used again by later tests together with its open connections.

A test's path is a symbolic link to such a file. Opening a new one takes 10 ms, for each connection parses the schema;
deleting what a test left takes less than one. A file that was changed otherwise than by commits, or has a connection
that somebody still uses, is given up.
"""

import atexit
import contextlib
import itertools
import shutil
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from tripline.store.database import sqlite

MOST_LENT: Final = 8
"""A test that makes more databases than this gets plain files."""


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
    """A file of the pool and its connections."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self.free: list[_Connection] = []
        self._made: list[_Connection] = []
        path.write_bytes(content)
        self._keeper = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
        self._keeper.execute("PRAGMA synchronous=OFF")
        tables = self._keeper.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        # One statement for all tables: most have no row, and to delete none takes longer than to see that.
        self._which = " UNION ALL ".join(
            f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM \"{name}\")" for (name,) in tables
        )
        self._known = self._state()

    def connect(self) -> sqlite3.Connection:
        """A connection that nobody else uses."""
        if self.free:
            return self.free.pop()
        made = _new_connection(self.path, factory=_Connection)
        made.home = self
        self._made.append(made)
        return made

    def emptied(self) -> bool:
        """Delete every row; False if the file cannot be as it was: a connection is in use, or the schema or, but for
        commits, the file was changed."""
        if len(self.free) < len(self._made) or self._state() != self._known:
            return False
        with contextlib.suppress(sqlite3.Error):
            self._keeper.execute("BEGIN IMMEDIATE")
            for (name,) in self._keeper.execute(self._which).fetchall():
                self._keeper.execute(f'DELETE FROM "{name}"')
            self._keeper.execute("COMMIT")
            self._keeper.executescript("PRAGMA incremental_vacuum")  # `execute` would free one page
            busy = self._keeper.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            self._known = self._state()
            return not busy
        return False

    def close(self) -> None:
        """Give it up; connections still in use close for good when they are closed."""
        for connection in self._made:
            connection.home = None
        for connection in (*self.free, self._keeper):
            connection.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def _state(self) -> tuple[int, ...]:
        """What no test changes by commits that are still in the log."""
        found = self.path.stat()
        versions = (self._keeper.execute(f"PRAGMA {each}_version").fetchone()[0] for each in ("schema", "user"))
        return found.st_mtime_ns, found.st_size, found.st_ino, *versions


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


def _connect(path: str) -> sqlite3.Connection:
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
