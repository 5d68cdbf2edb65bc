"""Database files that are really damaged: pages overwritten, as a failing disk or a careless program leaves them."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

GARBAGE = random.Random(7)


def checkpointed(path: Path) -> bytes:
    """Everything that was committed, as the file itself holds it after the log was carried over."""
    with closing(sqlite3.connect(path, timeout=20)) as connection:
        # A commit of somebody else has every other connection forget the pages that it remembers.
        connection.execute("PRAGMA user_version = 1")
        connection.execute("PRAGMA user_version = 0")
        (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert not busy
        return path.read_bytes()


def spoil_table(path: Path, table: str) -> None:
    """Overwrite the first page of a table and of each of its indexes."""
    with closing(sqlite3.connect(path, timeout=20)) as connection:
        ((size,),) = connection.execute("PRAGMA page_size").fetchall()
        pages = [
            page for (page,) in connection.execute("SELECT rootpage FROM sqlite_master WHERE tbl_name = ?", [table])
        ]
    assert pages
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * size)
            file.write(GARBAGE.randbytes(size))


def write_back(path: Path, content: bytes) -> None:
    """Let the file hold this content again, in place, whoever has it open."""
    with path.open("r+b") as file:
        file.write(content)
