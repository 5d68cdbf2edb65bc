"""Empty stores for tests."""

from pathlib import Path

from tripline.store import sqlite
from tripline.store.tables import metadata


def fresh_file(folder: Path) -> Path:
    """A database file with every table and no row."""
    path = folder / "tripline.db"
    engine = sqlite.open_engine(path)
    metadata.create_all(engine)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
    engine.dispose()
    assert driver is not None
    driver.close()
    return path
