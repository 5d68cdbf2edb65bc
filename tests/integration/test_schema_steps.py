"""Databases with rows climb to the schema of a version to come: whole, once, also after a kill or a copy."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, inspect, select
from tests.support import filled, next_version, servers, stores

from tripline.maintenance import store_copy
from tripline.store import migrate, tables
from tripline.store.database import postgres, sqlite, transfer
from tripline.store.database.postgres import PostgresStore
from tripline.store.database.sqlite import SqliteStore
from tripline.store.migrate import DatabaseError

NOW_MS = 1_760_000_000_000
ROWS = 30
ADDED = {"ix_trip_made_up", "ix_gps_event_made_up"}

Rows = dict[str, list[tuple[Any, ...]]]


@contextlib.contextmanager
def opened(place: Path | str) -> Iterator[Connection]:
    engine = sqlite.open_engine(place) if isinstance(place, Path) else postgres.open_engine(place)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        yield connection
    assert driver is not None
    driver.close()


def database(data: Path) -> Path | str:
    """A file, or the address of what the test has in its place."""
    return stores.Database(data).url or data / "tripline.db"


def version(place: Path | str) -> str | None:
    return migrate.version_of(place) if isinstance(place, Path) else migrate.version_of_shared(place)


def rows(place: Path | str) -> Rows:
    """Every row of the tables of this version, in their columns of this version."""
    with opened(place) as connection:
        return {
            table.name: sorted(connection.execute(select(*table.c)).all(), key=repr)
            for table in tables.metadata.sorted_tables
        }


def schema(place: Path | str) -> dict[str, tuple[set[str], set[str | None]]]:
    """Columns and indexes of every table."""
    with opened(place) as connection:
        seen = inspect(connection)
        return {
            name: ({each["name"] for each in seen.get_columns(name)}, {each["name"] for each in seen.get_indexes(name)})
            for name in seen.get_table_names()
        }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with rows in every table."""
    folder = tmp_path / "data"
    folder.mkdir()
    stores.migrated(folder)
    with opened(database(folder)) as connection:
        connection.exec_driver_sql("BEGIN")
        filled.fill(connection, count=ROWS, now_ms=NOW_MS)
        connection.exec_driver_sql("COMMIT")
    return folder


def migrated(beside: Path, data: Path) -> tuple[int, str, str]:
    with next_version.installed(beside):
        done = servers.run_here("migrate", "--data", str(data))
    return done.returncode, done.stdout, done.stderr


pytestmark = pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index")
DONE = (0, f"schema {next_version.SCHEMA}\n", "")


def test_filled_database_climbs_and_keeps_every_row(tmp_path: Path, data: Path) -> None:
    place = database(data)
    before, kept = schema(place), rows(place)

    ended = [migrated(tmp_path, data) for _ in range(2)]

    after = schema(place)
    assert ended == [DONE] * 2
    assert version(place) == next_version.SCHEMA
    assert {"trip", "microtrip", "device_event", "driving_score", "gps_event"} <= {name for name in kept if kept[name]}
    assert rows(place) == kept
    assert after["sensor"][0] - before["sensor"][0] == {"made_up"}
    assert {each for table in ("trip", "gps_event") for each in after[table][1] - before[table][1]} == ADDED
    assert [before[name][1] - after[name][1] for name in before if before[name][1] - after[name][1]] == []
    with opened(place) as connection:
        assert set(connection.exec_driver_sql("SELECT made_up FROM sensor").scalars()) == {7}
        if isinstance(place, Path):
            assert connection.exec_driver_sql("PRAGMA integrity_check").all() == [("ok",)]
            assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []


def test_process_killed_in_the_middle_changed_nothing_and_the_next_one_goes_on(tmp_path: Path, data: Path) -> None:
    place = database(data)
    # Indexes on a shared database are built before the transaction, and stay for the next try.
    kept, halfway = rows(place), tmp_path / "halfway"
    columns = {name: found for name, (found, _) in schema(place).items()}

    process = next_version.started(tmp_path, data, "migrate", halfway=halfway)
    while not halfway.exists():
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=10)
    left = version(place), {name: found for name, (found, _) in schema(place).items()}, rows(place)

    assert left == (migrate.newest(), columns, kept)
    assert migrated(tmp_path, data) == DONE
    assert rows(place) == kept


def test_two_processes_at_once_both_end_well(tmp_path: Path, data: Path) -> None:
    kept = rows(database(data))

    both = [next_version.started(tmp_path, data, "migrate") for _ in range(2)]
    ended = [process.communicate(timeout=60) for process in both]

    assert [(process.returncode, *said) for process, said in zip(both, ended, strict=True)] == [DONE] * 2
    assert version(database(data)) == next_version.SCHEMA
    assert rows(database(data)) == kept


@pytest.mark.sqlite("test_store_copy.py has copies on PostgreSQL")
def test_copied_store_climbs_as_its_source_does(tmp_path: Path, data: Path) -> None:
    copied = [table.name for table in transfer.TABLES]
    other = tmp_path / "other" / "tripline.db"
    done = store_copy.copied(data, other.parent, progress=lambda *_: None)
    kept = rows(other)

    with next_version.installed(tmp_path):
        climbed = migrate.upgrade(other)

    assert (done.differences, climbed, version(other)) == ([], next_version.SCHEMA, next_version.SCHEMA)
    assert rows(other) == kept
    assert {name: len(kept[name]) for name in copied} == dict.fromkeys(copied, ROWS)


def misfit(place: Path | str) -> str | None:
    """What a running server finds wrong with the schema of its store."""
    store = SqliteStore(place) if isinstance(place, Path) else PostgresStore(place)

    async def asked() -> str | None:
        try:
            return await store.read(migrate.misfit)
        finally:
            await store.close()

    return asyncio.run(asked())


def test_running_program_of_the_version_to_come_finds_an_older_schema(tmp_path: Path, data: Path) -> None:
    with next_version.installed(tmp_path):
        assert misfit(database(data)) == (
            f"The database has schema {migrate.steps()[-2]}, this program needs {next_version.SCHEMA};"
            " run `tripline migrate`."
        )


def test_program_of_this_version_takes_a_newer_database_only_when_that_serves_it(tmp_path: Path, data: Path) -> None:
    assert migrated(tmp_path, data) == DONE
    place = database(data)

    refused = (
        f"The database was made by another version of Tripline (schema {next_version.SCHEMA}, not {migrate.newest()}):"
        " use that version, or start with a new data folder."
    )
    assert misfit(place) == (refused if isinstance(place, Path) else None)
    if isinstance(place, Path):
        with pytest.raises(DatabaseError, match=f"made by another version of Tripline .schema {next_version.SCHEMA},"):
            migrate.upgrade(place)
    else:
        migrate.check_shared(place)
        with pytest.raises(DatabaseError, match=f"made by another version of Tripline .schema {next_version.SCHEMA},"):
            migrate.check_shared(place, exact=True)
