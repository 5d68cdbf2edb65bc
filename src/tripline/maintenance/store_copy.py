"""Moving an installation to another store: from the embedded one to PostgreSQL, back, or from one server to another.

Both stores must be without a running server, and the target empty: in the end it has a complete, verified copy, or
nothing.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import psycopg
from sqlalchemy import Connection, exc

from tripline.adapters import data_folder
from tripline.store import migrate
from tripline.store.database import inspection, postgres, sqlite, transfer
from tripline.store.database.transfer import Difference, PostgresSide, Progress, Side
from tripline.store.devices import connections
from tripline.store.migrate import DatabaseError

ALIVE_MS: Final = 10_000
"""A process seen within this time counts as running."""
SERVER_LOST: Final = "server_lost"

Place = Path | str
"""A data folder, or the address of a PostgreSQL database."""


class Copied(msgspec.Struct, frozen=True):
    """The number of copied rows by table, and the first rows that differ; any difference discards the copy."""

    rows: dict[str, int]
    differences: list[Difference]


def copied(source: Place, target: Place, *, progress: Progress) -> Copied:
    """Copy every row, then reread both sides and compare them. Raises `DatabaseError` and `DataFolderError`."""
    with _source(source) as ours, _target(target) as theirs:
        if filled := theirs.filled():
            raise DatabaseError(f"The target is not empty: there are rows in {', '.join(filled)}.")
        try:
            rows = transfer.carry(ours, theirs, progress=progress)
            differences = transfer.differences(ours, theirs, progress=progress)
        except transfer.UnfitRowError as error:
            raise DatabaseError(f"The target cannot keep a row of the source: {error}.") from error
        if not differences:
            # As after a lost server: no server of the target ever had these device sessions.
            connections.end_all(theirs.tx, reason=SERVER_LOST)
            _run(theirs, "COMMIT")
        return Copied(rows, differences)


@contextlib.contextmanager
def _source(place: Place) -> Iterator[Side]:
    """One snapshot of the source."""
    if isinstance(place, str):
        with _database(place, "source") as side:
            _run(side, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            _run(side, "SET LOCAL idle_in_transaction_session_timeout = 0")
            yield side
        return
    folder = data_folder.existing(place)
    with _held(folder), _file(folder, read_only=True) as side:
        _run(side, "BEGIN")
        yield side


@contextlib.contextmanager
def _target(place: Place) -> Iterator[Side]:
    """A transaction in the target, closed to other writers."""
    if isinstance(place, str):
        with _database(place, "target") as side:
            _run(side, "BEGIN ISOLATION LEVEL READ COMMITTED")
            _run(side, "SET LOCAL idle_in_transaction_session_timeout = 0")
            side.alone()
            yield side
        return
    folder = data_folder.prepare(place)
    with _held(folder):
        migrate.upgrade(folder / data_folder.DATABASE)
        with _file(folder, read_only=False) as side:
            _run(side, "BEGIN IMMEDIATE")
            _run(side, "PRAGMA defer_foreign_keys = ON")
            yield side


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    hold = data_folder.Hold(folder)
    try:
        yield
    finally:
        hold.release()


@contextlib.contextmanager
def _file(folder: Path, *, read_only: bool) -> Iterator[Side]:
    path = folder / data_folder.DATABASE
    migrate.check(path)
    try:
        connection = sqlite.open_engine(path, read_only=read_only).connect()
        try:
            yield Side(connection)
        finally:
            _close(connection)
    except (sqlite3.Error, exc.DBAPIError) as error:
        raise migrate.unusable(path, error) from error


@contextlib.contextmanager
def _database(url: str, which: str) -> Iterator[PostgresSide]:
    try:
        migrate.check_shared(url, exact=True)
    except DatabaseError as error:
        raise DatabaseError(f"The {which}: {error}") from error
    try:
        connection = postgres.open_engine(url).connect()
        try:
            side = PostgresSide(connection)
            alive = [node.name for node in inspection.nodes(side.tx) if node.silent_ms < ALIVE_MS]
            if alive:
                raise DatabaseError(f"The {which} is in use by {', '.join(alive)}; stop it first.")
            yield side
        finally:
            _close(connection)
    except (psycopg.Error, exc.DBAPIError) as error:
        lines = str(getattr(error, "orig", error)).strip().splitlines()
        raise DatabaseError(f"The {which} cannot be used: {lines[0] if lines else type(error).__name__}.") from error


def _close(connection: Connection) -> None:
    """Close it together with the driver's own connection, which rolls back uncommitted changes."""
    driver: Any = connection.connection.driver_connection
    connection.invalidate()
    connection.close()
    driver.close()


def _run(side: Side, statement: str) -> None:
    driver: Any = side.tx.connection.connection.driver_connection
    driver.execute(statement)
