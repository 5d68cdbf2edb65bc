"""Database files of SQLite, looked at from outside: whether one is damaged, and whether it can be written.

Not here: transactions (`sqlite.py`), bringing a file to the present schema (`migrate.py`).
"""

import sqlite3
from pathlib import Path
from typing import Final

BUSY_MS: Final = 10_000
"""How long a writer waits for others, from whatever program."""
QUICK_CHECK_LIMIT: Final = 256 * 2**20
"""Bytes up to which a start reads the whole file for damage (about a second); `tripline doctor` always does."""


def is_quick(path: Path) -> bool:
    """Whether there is a file with something in it that takes no time to read as a whole."""
    try:
        return 0 < path.stat().st_size <= QUICK_CHECK_LIMIT
    except OSError:
        return False


def damage(path: Path) -> list[str]:
    """What SQLite finds wrong with the file's structure; empty when sound. Reads the whole file."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_MS / 1000)
        try:
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)")]
        finally:
            connection.close()
    except sqlite3.Error as error:
        return [str(error)]
    return [] if found == ["ok"] else found


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
