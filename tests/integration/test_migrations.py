"""Schema: what the steps make is what the tables say; damage and strangers are told in one line."""

import itertools
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.support import stores

from tripline import cli
from tripline.adapters import data_folder
from tripline.maintenance import store_copy
from tripline.store import migrate, tables
from tripline.store.database import sqlite, sqlite_files

pytestmark = pytest.mark.sqlite("schemas of database files")

FIRST = "0001"
INCREMENTAL = 2


def schema(path: Path) -> set[tuple[str, str, str]]:
    connection = sqlite3.connect(path)
    try:
        rows = connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_schema").fetchall()
    finally:
        connection.close()
    return {(kind, name, " ".join(sql.split())) for kind, name, sql in rows if migrate.VERSION_TABLE not in name}


OF_POSTGRESQL = {"ix_microtrip_trip_no"}
"""Indexes that SQLite does not need."""


def columns(path: Path) -> dict[str, list[tuple]]:
    connection = sqlite3.connect(path)
    try:
        return {
            table.name: connection.execute(f"PRAGMA table_xinfo({table.name})").fetchall()
            for table in tables.metadata.sorted_tables
        }
    finally:
        connection.close()


# Indexes of expressions are compared as SQLite keeps them, in another test.
@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index")
@pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based index")
def test_upgraded_database_has_the_tables_of_the_metadata(tmp_path):
    migrate.upgrade(tmp_path / "steps.db")

    engine = sqlite.open_engine(tmp_path / "steps.db")
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        options = {"version_table": migrate.VERSION_TABLE, "compare_server_default": True, "compare_type": True}
        differences = compare_metadata(MigrationContext.configure(connection, opts=options), tables.metadata)
    driver.close()
    assert [each for each in differences if getattr(each[1], "name", None) not in OF_POSTGRESQL] == []


def test_upgraded_database_equals_one_made_from_the_tables(tmp_path):
    migrate.upgrade(tmp_path / "steps.db")
    made = stores.fresh_file(tmp_path)

    assert columns(tmp_path / "steps.db") == columns(made)
    kinds = [
        {(kind, name) for kind, name, _ in schema(path) if not name.startswith("sqlite_")}
        for path in (tmp_path / "steps.db", made)
    ]
    assert kinds[0] == kinds[1]


def test_partial_indexes_keep_their_condition(tmp_path):
    migrate.upgrade(tmp_path / "steps.db")
    made = stores.fresh_file(tmp_path)

    indexes = [
        {(name, sql) for kind, name, sql in schema(path) if kind == "index"} for path in (tmp_path / "steps.db", made)
    ]
    assert indexes[0] == indexes[1]


def test_partial_indexes_are_created_last(tmp_path):
    migrate.upgrade(tmp_path / "new.db")

    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        created = connection.execute(
            "SELECT tbl_name, name, sql LIKE '% WHERE %' FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
            " ORDER BY rowid"
        ).fetchall()
    for table, of_table in itertools.groupby(created, key=lambda each: each[0]):
        order = [(is_partial, name) for _, name, is_partial in of_table]
        assert order == sorted(order), table


def test_upgrade_again_changes_nothing(tmp_path):
    path = tmp_path / "twice.db"
    assert migrate.upgrade(path) == migrate.newest()
    before = schema(path)

    assert migrate.upgrade(path) == migrate.newest()

    assert schema(path) == before


def test_first_step_is_where_databases_begin():
    assert migrate.steps()[0] == FIRST


def test_steps_are_named_as_alembic_knows_them():
    known = ScriptDirectory(migrate.FOLDER).walk_revisions()

    assert migrate.steps() == [step.revision for step in known][::-1]


def test_file_that_is_no_database_is_told_in_one_line(tmp_path):
    path = tmp_path / "tripline.db"
    path.write_bytes(b"not a database" * 1_000)

    with pytest.raises(migrate.DatabaseError) as caught:
        migrate.upgrade(path)
    assert str(caught.value) == (f"The database {path} is damaged: file is not a database. Restore it from a backup.")


def test_lock_of_another_program_is_told_and_its_end(tmp_path):
    path = tmp_path / "tripline.db"
    migrate.upgrade(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        locked = sqlite_files.unwritable(path, wait_s=0.01)
        other.execute("ROLLBACK")
        free = sqlite_files.unwritable(path, wait_s=0.01)

    assert (locked, free) == ("database is locked", None)


def test_damaged_page_is_found(tmp_path):
    path = tmp_path / "tripline.db"
    migrate.upgrade(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    body = bytearray(path.read_bytes())
    body[4096 * 2 : 4096 * 4] = b"\xff" * 8192
    path.write_bytes(body)

    with pytest.raises(migrate.DatabaseError, match="is damaged"):
        migrate.upgrade(path)


def test_new_file_has_no_version(tmp_path):
    assert migrate.version_of(tmp_path / "tripline.db") is None


def opened_first(path: Path) -> None:
    """Let something else than the migration make the file."""
    sqlite.open_engine(path).connect().connection.driver_connection.close()


def copied(path: Path) -> None:
    made = path.parent / "made"
    made.mkdir()
    migrate.upgrade(made / path.name)
    store_copy.copied(made, path.parent, progress=lambda *_: None)


@pytest.mark.parametrize(
    "make",
    [
        opened_first,
        migrate.version_of,
        lambda path: path.touch(),
        lambda path: cli.run(["migrate", "--new", "--data", str(path.parent)]),
        lambda path: cli.run(["admin", "list", "--data", str(path.parent)]),
        copied,
        lambda path: None,
    ],
    ids=["opened", "looked at", "touched", "migrate --new", "command", "store copy", "migrated"],
)
def test_new_file_can_shrink_and_has_a_log(tmp_path, make):
    path = tmp_path / data_folder.DATABASE
    make(path)
    migrate.upgrade(path)

    with closing(sqlite3.connect(path)) as connection:
        asked = [connection.execute(f"PRAGMA {name}").fetchone() for name in ("auto_vacuum", "journal_mode")]
        connection.execute("INSERT INTO secret SELECT 'filled', zeroblob(10000000)")
        connection.execute("DELETE FROM secret")
        connection.commit()
        connection.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
    assert asked == [(INCREMENTAL,), ("wal",)]
    assert path.stat().st_size < 5_000_000


def test_file_that_is_there_is_opened_while_another_program_writes(tmp_path):
    path = tmp_path / "tripline.db"
    migrate.upgrade(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        opened_first(path)
        other.execute("ROLLBACK")
