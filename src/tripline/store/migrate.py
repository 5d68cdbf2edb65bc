"""Migrate a database to the current schema, and explain in one line why a database cannot be used.

A new database gets the tables as they are (`tables/`). An older one takes the steps that it lacks. Both happen in one
exclusive transaction: a crash leaves the old schema, and a second process waits and then finds nothing to do. There is
no way down; a database with an unknown schema is refused.

A command or server that opens a database file migrates it. Only `tripline migrate` migrates a shared database, while
programs of the previous version may still be running on it.

Not here: the steps (`migrations/versions/`), partitions (`store/database/partitions.py`), the requirements on a server
(`store/database/requirements.py`).
"""

import contextlib
import functools
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Column, Connection, Index, MetaData, PrimaryKeyConstraint, String, Table, exc, inspect, text
from sqlalchemy.schema import CreateTable

from tripline.later import Later
from tripline.ports.outages import Fault
from tripline.store.database import faults, partitions, requirements, sqlite, sqlite_files
from tripline.store.tables import metadata
from tripline.store.tables.base import BY_TIME
from tripline.store.transactions import ReadTx

if TYPE_CHECKING:
    import psycopg
    from alembic import command
    from alembic import config as configs
    from alembic import script as scripts
    from psycopg import errors

    from tripline.store.database import postgres, postgres_statements
else:
    psycopg = Later("psycopg")
    command = Later("alembic.command")
    configs = Later("alembic.config")
    scripts = Later("alembic.script")
    errors = Later("psycopg.errors")
    postgres = Later("tripline.store.database.postgres")
    postgres_statements = Later("tripline.store.database.postgres_statements")

FOLDER: Final = Path(__file__).parent / "migrations"
VERSION_TABLE: Final = "schema_version"
_VERSION: Final = Table(
    VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)
"""Alembic's own table, as it makes it."""
LONGEST_LOCK_S: Final = 10
"""How long programs at work may have to wait for a table that is to be changed; then nothing is changed."""


class DatabaseError(Exception):
    """The database cannot be used; the text is the one line to show."""


def upgrade(path: Path) -> str:
    """Bring the database to the present schema, making it when missing; the schema version it now has.

    Raises `DatabaseError` when the file is damaged, no database, of another version, or cannot be written.
    """
    try:
        if sqlite_files.is_quick(path) and (found := sqlite_files.damage(path)):
            raise _damaged(path, found[0])
        with _opened(path) as (connection, driver):
            driver.execute("BEGIN IMMEDIATE")
            _bring(connection, _known(connection, f"The database {path}"))
            driver.execute("COMMIT")
    except (sqlite3.Error, exc.DBAPIError) as error:
        raise unusable(path, error) from error
    return newest()


def check(path: Path) -> None:
    """Raise `DatabaseError` unless the database file has the present schema."""
    try:
        with _opened(path, read_only=True) as (connection, _):
            version = _known(connection, f"The database {path}")
    except (sqlite3.Error, exc.DBAPIError) as error:
        raise unusable(path, error) from error
    if version != newest():
        has = "no schema yet" if version is None else f"schema {version}, this program needs {newest()}"
        raise DatabaseError(f"The database {path} has {has}; run `tripline migrate --data {path.parent}` first.")


def version_of(path: Path) -> str | None:
    """The schema version of the database, None when it has none yet. Raises `DatabaseError`."""
    try:
        with _opened(path, read_only=True) as (connection, _):
            return _version(connection)
    except (sqlite3.Error, exc.DBAPIError) as error:
        raise unusable(path, error) from error


def unusable(path: Path, error: Exception) -> DatabaseError:
    """Describe why a file that raised this driver error cannot be used."""
    cause = getattr(error, "orig", None) or error
    outage = faults.of_sqlite(cause)
    if outage is not None and outage.fault is Fault.DAMAGED:
        return _damaged(path, str(cause))
    if outage is not None and sqlite_files.is_full(path):
        return DatabaseError(f"The database {path} cannot be used: its disk is full ({cause}). Make room.")
    return DatabaseError(f"The database {path} cannot be used: {cause}.")


def _damaged(path: Path, found: str) -> DatabaseError:
    return DatabaseError(f"The database {path} is damaged: {found.splitlines()[0]}. Restore it from a backup.")


def upgrade_shared(url: str, *, now_ms: int) -> str:
    """Bring a PostgreSQL database to the present schema; the schema version it now has. Raises `DatabaseError` when it
    cannot be reached or changed, is unfit, or is of another version."""
    with _shared(url) as connection:
        if (found := _known(connection, "The database")) is not None:
            build(connection, _after(found))
        connection.execute(text("BEGIN"))
        connection.execute(text("SET LOCAL lock_timeout = 0"))  # another one that migrates may take its time
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('tripline schema'))"))
        connection.execute(text(f"SET LOCAL lock_timeout = '{LONGEST_LOCK_S}s'"))
        _bring(connection, _known(connection, "The database"))
        connection.execute(text(f"COMMENT ON TABLE {VERSION_TABLE} IS '{_serves()}'"))
        partitions.ensure(postgres_statements.PostgresTx(connection), now_ms=now_ms)
        connection.execute(text("COMMIT"))
    return newest()


def _bring(connection: Connection, version: str | None) -> None:
    """Make every table of a new database; take the steps that an older one lacks."""
    if version is None:
        make_tables(connection)
        _VERSION.create(connection)
        connection.execute(_VERSION.insert().values(version_num=newest()))
    elif version != newest():
        command.upgrade(alembic_config(connection), newest())


def make_tables(connection: Connection) -> None:
    """Create every table and index in an empty database."""
    if connection.dialect.name == "sqlite":
        for table in metadata.tables.values():
            connection.execute(CreateTable(table))
            for index in sorted(table.indexes, key=_partial_last):
                index.create(connection)
        return
    # Said with the tables, this would load the dialect into processes that never need it (`tables/base.py`).
    for table in metadata.tables.values():
        if table.info == BY_TIME:
            table.dialect_options["postgresql"]["partition_by"] = "RANGE (no)"
        for index in table.indexes:
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
    metadata.create_all(connection, checkfirst=False)


def _partial_last(index: Index) -> tuple[bool, str]:
    """Sort partial indexes last: of indexes with equal estimates SQLite uses the one created last, and `create_all`
    creates them in an order that differs from process to process."""
    return index.dialect_options["sqlite"]["where"] is not None, str(index.name)


def _after(found: str) -> list[ModuleType]:
    """The steps behind one that has been done, the oldest first."""
    coming = steps()[steps().index(found) + 1 :]
    return [scripts.ScriptDirectory(FOLDER).get_revision(step).module for step in coming]


def _serves() -> str:
    """The oldest schema whose programs may work on a database of the present one: the present one, unless its step
    says otherwise."""
    return str(getattr(scripts.ScriptDirectory(FOLDER).get_revision(newest()).module, "serves", newest()))


def check_shared(url: str, *, exact: bool = False) -> None:
    """Raises `DatabaseError` unless the PostgreSQL database has the present schema, or a newer one that serves programs
    of this one too. `exact`: it has to be the present one."""
    with _shared(url) as connection:
        serves = _serving(connection)
        if not exact and serves and serves <= newest() and _version(connection) not in steps():
            return
        version = _known(connection, "The database")
    if version != newest():
        has = "no schema yet" if version is None else f"schema {version}, this program needs {newest()}"
        raise DatabaseError(f"The database has {has}; run `tripline migrate` with the same store address first.")


def misfit(tx: ReadTx) -> str | None:
    """Why this program cannot work on the database's schema as it is now; None: it can. For a running server: restoring
    an old copy, or upgrading, may have changed it."""
    try:
        (row,) = tx.all(text(f"SELECT version_num FROM {VERSION_TABLE}"))
    except (ValueError, exc.ProgrammingError):
        return "The database has no schema; put the right one back and restart."
    version: str = row.version_num
    if version == newest():
        return None
    if version in steps():
        return f"The database has schema {version}, this program needs {newest()}; run `tripline migrate`."
    if tx.shared and (_serving(tx.connection) or version) <= newest():
        return None
    return _foreign("The database", version, shared=tx.shared)


def version_of_shared(url: str) -> str | None:
    """The schema version of a PostgreSQL database, None when it has none yet. Raises `DatabaseError`."""
    with _shared(url) as connection:
        return _version(connection)


@contextlib.contextmanager
def _shared(url: str) -> Iterator[Connection]:
    """A connection to a database that can hold our tables."""
    if wrong := requirements.wrong_address(url):
        raise DatabaseError(wrong)
    try:
        with postgres.open_engine(url).connect() as connection:
            if unfit := requirements.unfit(requirements.look(connection)):
                raise DatabaseError(unfit)
            yield connection
    except (psycopg.Error, exc.DBAPIError) as error:
        raise DatabaseError(f"The database cannot be used: {_reason(getattr(error, 'orig', error))}") from error


def _reason(error: object) -> str:
    """The first line of the server's message, with a remedy where it is obvious."""
    lines = str(error).strip().splitlines()
    said = lines[0].rstrip(".") if lines else type(error).__name__
    if isinstance(error, errors.InsufficientPrivilege):
        return f"{said}; the user needs the right to make tables (GRANT ALL ON SCHEMA public, or own the database)."
    if isinstance(error, errors.LockNotAvailable):
        return f"{said}; something else holds a table for long, so nothing was changed: run it again."
    return f"{said}."


def _serving(connection: Connection) -> str | None:
    """The oldest schema whose programs the shared database says that it serves."""
    found = connection.execute(text(f"SELECT obj_description(to_regclass('{VERSION_TABLE}'), 'pg_class')")).scalar()
    return None if found is None else str(found)


def _known(connection: Connection, what: str) -> str | None:
    """The schema version, unless it is none of our steps."""
    version = _version(connection)
    if version is not None and version not in steps():
        raise DatabaseError(_foreign(what, version, shared=connection.dialect.name == "postgresql"))
    return version


def _foreign(what: str, version: str, *, shared: bool) -> str:
    """Describe a database of a newer version, or of one from before the first release."""
    new = "database" if shared else "data folder"
    return (
        f"{what} was made by another version of Tripline (schema {version}, not {newest()}):"
        f" use that version, or start with a new {new}."
    )


def newest() -> str:
    """The schema version this program works with."""
    return steps()[-1]


@functools.cache
def steps() -> list[str]:
    """Every schema version this program knows, the oldest first: the names of the steps' files begin with them, so that
    Alembic loads only when there is something to do."""
    return sorted(step.name.removeprefix("m").partition("_")[0] for step in (FOLDER / "versions").glob("m*_*.py"))


@contextlib.contextmanager
def _opened(path: Path, *, read_only: bool = False) -> Iterator[tuple[Connection, sqlite3.Connection]]:
    """Open the database through SQLAlchemy and the driver; roll back uncommitted changes at the end."""
    connection = sqlite.open_engine(path, read_only=read_only).connect()
    driver: Any = connection.connection.driver_connection
    # A step that copies a table sorts all its indexes anew: a gigabyte for each million trips, were it in memory.
    driver.execute("PRAGMA temp_store=FILE")
    try:
        yield connection, driver
    finally:
        connection.close()
        driver.close()


def alembic_config(connection: Connection) -> "configs.Config":
    """Build the Alembic configuration for the connection's database; no files are read."""
    config = configs.Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar_one_or_none()
    return version


_MINE: Final = "hashtext('tripline indexes ahead')"
_POLL_S: Final = 0.2


def build(connection: Connection, steps: Iterable[ModuleType]) -> None:
    """Build the indexes of these steps on an autocommit connection; wait for another process that does so."""
    wanted = [index for step in steps for index in getattr(step, "AHEAD", ())]
    if not wanted:
        return
    while not connection.execute(text(f"SELECT pg_try_advisory_lock({_MINE})")).scalar():
        connection.execute(text(f"SELECT pg_sleep({_POLL_S})"))
    try:
        for name, table, columns, condition in wanted:
            for index, partition in _places(connection, name, table, columns):
                _build(connection, index, partition, f"({', '.join(columns)})", condition)
    finally:
        connection.execute(text(f"SELECT pg_advisory_unlock({_MINE})"))


def _places(connection: Connection, name: str, table: str, columns: Iterable[str]) -> list[tuple[str, str]]:
    """Index and table: of a table in partitions each partition, under the name that PostgreSQL would give; of a table
    that is not there yet none."""
    kind = connection.execute(
        text("SELECT relkind FROM pg_class WHERE oid = to_regclass(:table)"), {"table": table}
    ).scalar()
    if kind is None:
        return []
    if kind != "p":
        return [(name, table)]
    partitions = connection.execute(
        text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = to_regclass(:table)"), {"table": table}
    )
    return [(f"{partition}_{'_'.join(columns)}_idx", partition) for (partition,) in partitions.all()]


def _build(connection: Connection, index: str, table: str, columns: str, condition: str | None) -> None:
    valid = connection.execute(
        text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:index)"), {"index": index}
    ).scalar()
    if valid:
        return
    if valid is not None:
        connection.execute(text(f"DROP INDEX CONCURRENTLY IF EXISTS {index}"))
    where = "" if condition is None else f" WHERE {condition}"
    connection.execute(text(f"CREATE INDEX CONCURRENTLY {index} ON {table} {columns}{where}"))
