"""Check SQLite database files from outside: for damage, and for write access."""

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Final

from tripline.ports.outages import Fault
from tripline.store.database import faults

BUSY_MS: Final = 10_000
"""How long a writer waits for other writers, of any program."""
_ROOM_BYTES: Final = 2**16
"""SQLite maps a file of 32 KiB beside the database."""
_HEAD: Final = 100
_MAGIC: Final = b"SQLite format 3\0"
"""https://sqlite.org/fileformat2.html, 1.3: page size, pages, and two counters that are equal when those are right."""
QUICK_CHECK_LIMIT: Final = 256 * 2**20
"""Files up to this size, in bytes, are checked for damage at every start (about a second); `tripline doctor` always
checks."""


def is_quick(path: Path) -> bool:
    """True if the file is non-empty and small enough to be read as a whole quickly."""
    try:
        return 0 < path.stat().st_size <= QUICK_CHECK_LIMIT
    except OSError:
        return False


def is_empty(path: Path) -> bool:
    """True if the file is missing or empty."""
    try:
        if path.stat().st_size == 0:
            return True
        if _cut(path) is not None:
            return False
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
    except FileNotFoundError:
        return True
    except (OSError, sqlite3.Error):
        return False


def damage(path: Path) -> list[str]:
    """Defects of the file's structure; empty when it is sound. Reads the whole file.

    Raises `sqlite3.Error` when it cannot be read for another reason, such as a full disk.
    """
    if (cut := _cut(path)) is not None:
        return [cut]
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_MS / 1000)
        try:
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)")]
        finally:
            connection.close()
    except sqlite3.Error as error:
        outage = faults.of_sqlite(error)
        if outage is not None and outage.fault is not Fault.DAMAGED:
            raise
        return [str(error)]
    return [] if found == ["ok"] else found


def is_full(path: Path) -> bool:
    """Return true if the file's disk is too full for SQLite to open the file."""
    return shutil.disk_usage(path.parent).free < _ROOM_BYTES


def _cut(path: Path) -> str | None:
    """Describe a truncation that SQLite ignores: it reads the missing end as zeros or as nothing."""
    try:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size > 0:
            return None  # the missing part may be in the log
        with path.open("rb") as file:
            head = file.read(_HEAD)
        # After the head: a server may let the file grow meanwhile, and never makes it shorter.
        size = path.stat().st_size
    except OSError:
        return None
    if 0 < size < _HEAD:
        return f"the file has {size} bytes, less than its head"
    page, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    whole = (65_536 if page == 1 else page) * pages
    if head.startswith(_MAGIC) and head[24:28] == head[92:96] and size < whole:
        return f"the file has {size} bytes, and should have {whole}"
    return None


def unwritable(path: Path, *, wait_s: float = BUSY_MS / 1000) -> str | None:
    """Why nothing can be written now, after waiting for other writers; None when it can. Writes nothing."""
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=wait_s, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        finally:
            connection.close()
    except sqlite3.Error as error:
        return str(error)
    return None
