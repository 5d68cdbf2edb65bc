"""Empty stores for tests."""

import sqlite3
from functools import cache
from pathlib import Path

from tripline.store import sqlite
from tripline.store.tables import metadata


def fresh_file(folder: Path) -> Path:
    """A database file with every table and no row."""
    path = folder / "tripline.db"
    path.write_bytes(_empty_database())
    return path


@cache
def _empty_database() -> bytes:
    engine = sqlite.open_engine(":memory:")
    metadata.create_all(engine)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        content = driver.serialize()
    engine.dispose()
    return content
