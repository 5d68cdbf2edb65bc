"""`tripline migrate` on PostgreSQL: once, whole, by one at a time; what stands in the way is told in one line."""

import re
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from tests.support import databases, next_version, postgres, servers

from tripline.store import migrate, tables
from tripline.store.database import postgres as store
from tripline.store.migrate import DatabaseError

NOW_MS = databases.NOW_MS
OF_SQLITE = {"ix_microtrip_trip", "uq_gps_event_id"}
"""What PostgreSQL has otherwise: an index with one column more, and no rule over the partitions of a table."""
OF_ANOTHER = (
    rf"The database was made by another version of Tripline \(schema 9999, not {migrate.newest()}\):"
    r" use that version, or start with a new database\."
)
TRIP = "INSERT INTO trip (no, id, created_ms, company_id, service_type, device_type, parking, state) VALUES"
BUILDING = "SELECT count(*) FROM pg_stat_progress_create_index WHERE phase = 'waiting for writers before build'"
WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'"
    " AND now() - query_start > '200 ms'"
)
PART = re.compile(r"_(w\d{8}|other)(_|$)")


@contextmanager
def database(name: str, *options: str, template: str = "template1") -> Iterator[str]:
    """The address of a database without tables, or with those of a template."""
    server = databases.server()
    if options:
        server.run(f"CREATE DATABASE {name} OWNER {postgres.OWNER} {' '.join(options)}")
    else:
        server.create(name, template=template)
    try:
        yield server.url(name)
    finally:
        server.drop(name)


@pytest.fixture
def url() -> Iterator[str]:
    with database("migrations") as url:
        yield url


@pytest.fixture
def newest_url() -> Iterator[str]:
    """The address of a database that has been migrated, a copy of one that was."""
    with database("migrations_newest", template=databases.TEMPLATE) as url:
        yield url


def rows(url: str, statement: str) -> list[tuple]:
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        return connection.execute(statement).fetchall()


def schema(url: str) -> dict[str, list[tuple]]:
    """Columns, indexes and rules of every table."""
    asked = {
        "columns": "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default,"
        " collation_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2",
        "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2",
        "rules": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
        "triggers": "SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal"
        " ORDER BY 1, 2",
    }
    return {what: rows(url, statement) for what, statement in asked.items()}


def tables_of(url: str) -> set[str]:
    return {name for (name,) in rows(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


def until(there: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not there():
        assert process.poll() is None, process.communicate()


def test_migrated_database_has_the_tables_of_the_metadata(url):
    migrate.upgrade_shared(url, now_ms=NOW_MS)

    def ours(_object, name, kind, reflected, _compared) -> bool:
        return not (kind in ("table", "index") and reflected and PART.search(name or ""))

    options = {
        "version_table": migrate.VERSION_TABLE,
        "compare_server_default": True,
        "compare_type": True,
        "include_object": ours,
    }
    engine = store.open_engine(url)
    with engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection, opts=options), tables.metadata)
    engine.dispose()
    changed = [each for several in found if isinstance(several, list) for each in several]
    added = [each for each in found if isinstance(each, tuple) and getattr(each[1], "name", None) not in OF_SQLITE]
    # What a column is said to mean is read in the tables, not in a database.
    assert [each for each in changed if each[0] != "modify_comment"] == []
    assert added == []


def test_migrating_again_changes_nothing(newest_url):
    before = schema(newest_url)

    assert migrate.upgrade_shared(newest_url, now_ms=NOW_MS) == migrate.newest()

    assert schema(newest_url) == before
    assert migrate.version_of_shared(newest_url) == migrate.newest()


@contextmanager
def opened(url: str) -> Iterator[psycopg.Connection]:
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        yield connection


def build_ahead(url: str) -> None:
    """Build what the version to come builds before its transaction begins."""
    with store.open_engine(url).connect() as connection:
        migrate.build(connection, migrate._after(migrate.steps()[-2]))


def indexes(url: str) -> set[str]:
    """The names of the valid indexes."""
    return {name for (name,) in rows(url, "SELECT indexrelid::regclass::text FROM pg_index WHERE indisvalid")}


def made_up(name: str) -> str:
    """A file of an index of the version to come."""
    return f"SELECT relfilenode FROM pg_class WHERE relname = '{name}'"


def test_indexes_of_a_step_are_built_beforehand_and_found_by_it(tmp_path: Path, newest_url: str):
    url, part = newest_url, "gps_event_w20200106"
    in_part = f"{part}_vehicle_id_event_type_idx"
    with opened(url) as connection:
        connection.execute(f"CREATE TABLE {part} PARTITION OF gps_event FOR VALUES FROM (1) TO (2)")
    with next_version.installed(tmp_path):
        build_ahead(url)
        ahead = indexes(url)
        built = rows(url, made_up("ix_trip_made_up")) + rows(url, made_up(in_part))

        migrate.upgrade_shared(url, now_ms=NOW_MS)

    assert {"ix_trip_made_up", in_part} <= ahead
    assert len(built) == 2
    assert rows(url, made_up("ix_trip_made_up")) + rows(url, made_up(in_part)) == built
    assert "ix_gps_event_made_up" in indexes(url) - ahead
    assert not rows(url, "SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid")


def test_index_is_built_beside_a_writer_and_waits_for_its_end(tmp_path: Path, newest_url: str):
    with opened(newest_url) as writer:
        writer.execute("BEGIN")
        writer.execute(f"{TRIP} (1, '1', 1, 'c', 't', 'GPS', false, 'OPEN')")
        process = next_version.started(tmp_path, tmp_path, "migrate", "--store", newest_url)
        until(lambda: rows(newest_url, BUILDING) == [(1,)], process)
        with opened(newest_url) as another:
            another.execute("SET lock_timeout = '5s'")
            another.execute(f"{TRIP} (2, '2', 1, 'c', 't', 'GPS', false, 'OPEN')")
        assert process.poll() is None
        writer.execute("COMMIT")
        ended = process.communicate(timeout=60)

    assert (process.returncode, ended) == (0, (f"schema {next_version.SCHEMA}\n", ""))
    assert "ix_trip_made_up" in indexes(newest_url)


def test_index_that_an_interrupted_build_left_behind_is_built_anew(tmp_path: Path, newest_url: str):
    url = newest_url
    with opened(url) as connection:
        for number in (1, 2):
            connection.execute(f"{TRIP} ({number}, '{number}', 1, 'c', 't', 'GPS', false, 'OPEN')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("CREATE UNIQUE INDEX CONCURRENTLY ix_trip_made_up ON trip (company_id)")
    assert "ix_trip_made_up" not in indexes(url)

    with next_version.installed(tmp_path):
        migrate.upgrade_shared(url, now_ms=NOW_MS)

    assert "ix_trip_made_up" in indexes(url)


def test_migrations_wait_for_the_first_however_long_that_takes_and_all_end_well(url, monkeypatch):
    impatient = store._OPTIONS["options"].replace("lock_timeout=10s", "lock_timeout=50ms")
    monkeypatch.setitem(store._OPTIONS, "options", impatient)
    with ThreadPoolExecutor(2) as threads, opened(url) as first:
        first.execute("SELECT pg_advisory_lock(hashtext('tripline schema'))")
        both = [threads.submit(migrate.upgrade_shared, url, now_ms=NOW_MS) for _ in range(2)]
        while rows(url, WAITING) != [(2,)]:
            assert [each.exception() for each in both if each.done()] == []
        before = tables_of(url)

    assert "lock_timeout=50ms" in impatient
    assert before == set()
    assert [each.result() for each in both] == [migrate.newest()] * 2
    with database("migrations_alone", template=databases.TEMPLATE) as other:
        assert {name for name in tables_of(url) if not PART.search(name)} == {
            name for name in tables_of(other) if not PART.search(name)
        }


def test_table_that_is_in_use_for_long_is_told_and_nothing_is_changed(tmp_path: Path, newest_url: str, monkeypatch):
    url = newest_url
    monkeypatch.setattr(migrate, "LONGEST_LOCK_S", 1)
    with next_version.installed(tmp_path), opened(url) as other:
        build_ahead(url)
        before = schema(url)
        other.execute("BEGIN")
        other.execute("LOCK TABLE sensor IN ACCESS SHARE MODE")
        with pytest.raises(DatabaseError, match=r"lock timeout; something else holds a table for long, so nothing was"):
            migrate.upgrade_shared(url, now_ms=NOW_MS)

    assert schema(url) == before


def test_newer_schema_is_refused(newest_url):
    url = newest_url
    with opened(url) as connection:
        connection.execute("UPDATE schema_version SET version_num = '9999'")

    for use in (lambda: migrate.upgrade_shared(url, now_ms=NOW_MS), lambda: migrate.check_shared(url, exact=True)):
        with pytest.raises(DatabaseError, match=f"^{OF_ANOTHER}$"):
            use()


@pytest.mark.parametrize(("serves", "starts"), [(migrate.newest(), True), ("0000", True), ("9998", False)])
def test_program_of_the_version_before_starts_on_a_newer_schema_that_serves_it(newest_url, serves, starts):
    url = newest_url
    with opened(url) as connection:
        connection.execute("UPDATE schema_version SET version_num = '9999'")
        connection.execute(f"COMMENT ON TABLE schema_version IS '{serves}'")

    if starts:
        migrate.check_shared(url)
    else:
        with pytest.raises(DatabaseError, match=f"^{OF_ANOTHER}$"):
            migrate.check_shared(url)


def test_database_says_which_programs_it_serves(tmp_path: Path, newest_url: str):
    asked = "SELECT obj_description('schema_version'::regclass)"
    own = rows(newest_url, asked)
    with next_version.installed(tmp_path):
        migrate.upgrade_shared(newest_url, now_ms=NOW_MS)

    assert own == [(migrate.newest(),)]
    assert rows(newest_url, asked) == [(migrate.newest(),)]
    assert migrate.version_of_shared(newest_url) == next_version.SCHEMA


def test_server_does_not_migrate_but_says_what_to_run(url, tmp_path):
    done = servers.run(
        "serve",
        "--data",
        str(tmp_path / "data"),
        "--store",
        url,
        "--device-port=0",
        "--api-port=0",
        "--analytics-port=0",
    )

    said = "tripline: The database has no schema yet; run `tripline migrate` with the same store address first."
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1]) == (1, "", said)
    assert tables_of(url) == set()


def test_server_of_the_version_to_come_does_not_migrate_an_older_database(newest_url, tmp_path):
    before = schema(newest_url)

    with next_version.installed(tmp_path), pytest.raises(DatabaseError) as refused:
        migrate.check_shared(newest_url)

    assert str(refused.value) == (
        f"The database has schema {migrate.newest()}, this program needs {next_version.SCHEMA};"
        " run `tripline migrate` with the same store address first."
    )
    assert schema(newest_url) == before


def refused(url: str) -> str:
    """The one line that the command ends with."""
    done = servers.run_here("migrate", "--store", url)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "Traceback" not in done.stderr
    return done.stderr.removeprefix("tripline: ").rstrip("\n")


def test_user_who_may_not_make_tables_is_told_what_is_needed():
    server = databases.server()
    server.run("CREATE DATABASE migrations_foreign")
    try:
        said = refused(server.url("migrations_foreign"))
    finally:
        server.drop("migrations_foreign")

    assert said == (
        "The database cannot be used: permission denied for schema public;"
        " the user needs the right to make tables (GRANT ALL ON SCHEMA public, or own the database)."
    )


def test_database_in_another_encoding_is_refused():
    with database(
        "migrations_latin", "ENCODING 'LATIN1'", "LOCALE 'C'", "LOCALE_PROVIDER libc", "TEMPLATE template0"
    ) as url:
        assert refused(url).startswith("The database is encoded in LATIN1; make one with CREATE DATABASE")


def test_database_without_the_letters_of_all_scripts_is_refused(url):
    name = url.rpartition("/")[2]
    with closing(databases.server().connect(name)) as connection:
        connection.execute('DROP COLLATION pg_catalog."und-x-icu"')

    assert refused(url) == 'The database has no collation "und-x-icu"; use a PostgreSQL that was built with ICU.'
