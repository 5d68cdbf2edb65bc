"""Empty stores for tests."""

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from tripline.store import sqlite
from tripline.store.tables import metadata


def fresh_file(folder: Path) -> Path:
    """A database file with every table and no row."""
    path = folder / "tripline.db"
    path.write_bytes(empty())
    return path


def content(path: Path) -> bytes:
    """Everything that is in a database file, whoever has it open."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.serialize()


def fill(path: Path, content: bytes) -> None:
    """Let a database file that others have open hold this content; no company may be in it yet."""
    beside = path.with_suffix(".stage")
    beside.write_bytes(content)
    with closing(sqlite3.connect(beside)) as source, closing(sqlite3.connect(path)) as target:
        assert target.execute("SELECT count(*) FROM company").fetchone() == (0,), "something was done before"
        target.execute("PRAGMA synchronous = OFF")
        source.backup(target)


@cache
def empty() -> bytes:
    """The content of a database file with every table and no row; made once, for it takes longer than most tests."""
    engine = sqlite.open_engine(":memory:")
    metadata.create_all(engine)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        content = driver.serialize()
    engine.dispose()
    return content
