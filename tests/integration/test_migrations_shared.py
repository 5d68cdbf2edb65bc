"""`tripline migrate` on PostgreSQL: once, whole, by one at a time; what stands in the way is told in one line."""

import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from tests.support import databases, numbers_before, postgres, rights_before, servers, sums_before

from tripline.store import migrate, tables
from tripline.store.database import early_indexes
from tripline.store.database import postgres as store
from tripline.store.migrate import DatabaseError

NOW_MS = databases.NOW_MS
OF_SQLITE = {"ix_microtrip_trip", "uq_gps_event_id"}
"""What PostgreSQL has otherwise: an index with one column more, and no rule over the partitions of a table."""
BEFORE_SENSOR = "0003"
"""The next step changes the table `sensor`."""
SERVES = (
    {"0005": "0004"}
    | {f"{number:04}": "0006" for number in range(7, 23)}
    | dict.fromkeys(("0023", "0024", "0025"), "0023")
    | dict.fromkeys(("0027", "0028", "0029", "0030", "0031", "0032", "0034", "0037"), "0026")
)
"""The oldest schema whose programs work on that of a step, where it is not its own."""
PART = re.compile(r"_(w\d{8}|other)(_|$)")


Told = tuple[str, str, str | None, str]
"""A step, the schema that migrating to it says there is, the one that there is, and the oldest that it serves."""


@dataclass(frozen=True)
class Climb:
    """A database migrated step by step."""

    url: str
    told: list[Told]
    copies: dict[str, str]
    """The address of its copy after each step."""


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


@pytest.fixture(scope="module")
def climbed() -> Iterator[Climb]:
    """A database migrated step by step, and a copy of it as it was after each."""
    with ExitStack() as every:
        url = every.enter_context(database("migrations_climbed"))
        told, copies = list[Told](), dict[str, str]()
        for step in migrate.steps():
            said = migrate.upgrade_shared(url, now_ms=NOW_MS, to=step)
            (serves,) = rows(url, "SELECT obj_description('schema_version'::regclass)")[0]
            told.append((step, said, migrate.version_of_shared(url), serves))
            copies[step] = every.enter_context(database(f"migrations_from_{step}", template="migrations_climbed"))
        yield Climb(url, told, copies)


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


def started(url: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        servers.command("migrate", "--store", url),
        env=servers.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


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


def test_migrating_again_changes_nothing(url):
    assert migrate.upgrade_shared(url, now_ms=NOW_MS) == migrate.newest()
    before = schema(url)

    assert migrate.upgrade_shared(url, now_ms=NOW_MS) == migrate.newest()

    assert schema(url) == before
    assert migrate.version_of_shared(url) == migrate.newest()


def test_database_migrated_step_by_step_equals_one_migrated_at_once(climbed, newest_url):
    assert [(said, found) for _, said, found, _ in climbed.told] == [(step, step) for step in migrate.steps()]
    assert schema(climbed.url) == schema(newest_url)


def test_rows_of_every_earlier_step_are_kept(climbed):
    for step in migrate.steps()[:-1]:
        url = climbed.copies[step]
        assert migrate.version_of_shared(url) == step
        with closing(psycopg.connect(url, autocommit=True)) as connection:
            connection.execute("INSERT INTO secret VALUES ('token-key', '\\x0102')")

        migrate.upgrade_shared(url, now_ms=NOW_MS)

        assert rows(url, "SELECT name, value FROM secret") == [("token-key", b"\x01\x02")]


def test_rights_of_before_get_the_numbers_of_their_vehicles(url):
    migrate.upgrade_shared(url, now_ms=NOW_MS, to=rights_before.BEFORE)
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        for statement in rights_before.STATEMENTS:
            connection.execute(statement)

    migrate.upgrade_shared(url, now_ms=NOW_MS)

    assert rows(url, rights_before.ASKED) == rights_before.NUMBERED


def test_every_period_of_before_is_to_be_counted(url):
    migrate.upgrade_shared(url, now_ms=NOW_MS, to=sums_before.BEFORE)
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        for statement in sums_before.STATEMENTS:
            connection.execute(statement)

    migrate.upgrade_shared(url, now_ms=NOW_MS)

    assert rows(url, sums_before.ASKED) == sums_before.TO_COUNT


def test_numbers_of_before_get_keys_and_of_those_alike_the_oldest(url):
    migrate.upgrade_shared(url, now_ms=NOW_MS, to=numbers_before.BEFORE)
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        for statement in numbers_before.STATEMENTS:
            connection.execute(statement)

    migrate.upgrade_shared(url, now_ms=NOW_MS)

    assert rows(url, numbers_before.ASKED) == numbers_before.KEYED


def build_ahead(url: str, *, since: str = BEFORE_SENSOR) -> None:
    """Build what an upgrade builds before its transaction begins."""
    with store.open_engine(url).connect() as connection:
        early_indexes.build(connection, migrate._between(since, migrate.newest()))


def indexes(url: str) -> set[str]:
    """The names of the valid indexes."""
    return {name for (name,) in rows(url, "SELECT indexrelid::regclass::text FROM pg_index WHERE indisvalid")}


def test_indexes_of_a_step_are_built_beforehand_and_found_by_it(url):
    before_step = migrate.steps()[migrate.steps().index("0008") - 1]
    migrate.upgrade_shared(url, now_ms=NOW_MS, to=before_step)
    part = "gps_event_w20200106"
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute(f"CREATE TABLE {part} PARTITION OF gps_event FOR VALUES FROM (1) TO (2)")
    build_ahead(url, since=before_step)
    ahead = indexes(url)
    files = "SELECT relfilenode FROM pg_class WHERE relname = ANY (ARRAY['ix_trip_vehicle_start', :part])"
    asked = files.replace(":part", f"'{part}_vehicle_id_event_ms_no_idx'") + " ORDER BY 1"
    built = rows(url, asked)

    migrate.upgrade_shared(url, now_ms=NOW_MS, to="0008")

    assert {"ix_trip_vehicle_start", "ix_trip_user_start", f"{part}_user_id_event_ms_no_idx"} <= ahead
    assert len(built) == 2
    assert rows(url, asked) == built
    assert {"ix_gps_event_vehicle_time", "ix_gps_event_user_time"} <= indexes(url)
    assert not rows(url, "SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid")


def test_index_that_an_interrupted_build_left_behind_is_built_anew(url):
    before_step = migrate.steps()[migrate.steps().index("0008") - 1]
    migrate.upgrade_shared(url, now_ms=NOW_MS, to=before_step)
    rows_of = "INSERT INTO trip (no, id, created_ms, company_id, service_type, device_type, parking, state) VALUES"
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        for number in (1, 2):
            connection.execute(f"{rows_of} ({number}, '{number}', 1, 'c', 't', 'GPS', false, 'OPEN')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("CREATE UNIQUE INDEX CONCURRENTLY ix_trip_vehicle_start ON trip (company_id)")
    assert "ix_trip_vehicle_start" not in indexes(url)

    migrate.upgrade_shared(url, now_ms=NOW_MS)

    assert "ix_trip_vehicle_start" in indexes(url)


def test_two_processes_at_once_both_end_well(url):
    both = [started(url), started(url)]

    ended = [process.communicate(timeout=60) for process in both]

    assert [process.returncode for process in both] == [0, 0]
    assert ended == [(f"schema {migrate.newest()}\n", "")] * 2
    with database("migrations_alone", template=databases.TEMPLATE) as other:
        assert {name for name in tables_of(url) if not PART.search(name)} == {
            name for name in tables_of(other) if not PART.search(name)
        }


def test_second_process_waits_for_the_first_however_long_that_takes(url):
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with closing(psycopg.connect(url)) as first:
        first.execute("SELECT pg_advisory_xact_lock(hashtext('tripline schema'))")
        second = started(url)
        until(lambda: rows(url, waiting) == [(1,)], second)
        before = tables_of(url)
        first.rollback()
    ended = second.communicate(timeout=60)

    assert before == set()
    assert (second.returncode, ended) == (0, (f"schema {migrate.newest()}\n", ""))


def test_process_killed_in_the_middle_leaves_the_schema_before(url):
    migrate.upgrade_shared(url, now_ms=NOW_MS, to=BEFORE_SENSOR)
    build_ahead(url)
    before = schema(url)
    with closing(psycopg.connect(url)) as other:
        other.execute("LOCK TABLE sensor IN ACCESS SHARE MODE")
        process = started(url)
        until(lambda: rows(url, "SELECT count(*) FROM pg_locks WHERE NOT granted") == [(1,)], process)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=10)
        other.rollback()
    # What is left of its transaction ends when the server notices that nobody is there any more.
    with closing(psycopg.connect(url)) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtext('tripline schema'))")
        assert migrate.version_of_shared(url) == BEFORE_SENSOR
        assert schema(url) == before

    assert migrate.upgrade_shared(url, now_ms=NOW_MS) == migrate.newest()


def test_table_that_is_in_use_for_long_is_told_and_nothing_is_changed(url, monkeypatch):
    monkeypatch.setattr(migrate, "LONGEST_LOCK_S", 1)
    migrate.upgrade_shared(url, now_ms=NOW_MS, to=BEFORE_SENSOR)
    build_ahead(url)
    before = schema(url)
    with closing(psycopg.connect(url)) as other:
        other.execute("LOCK TABLE sensor IN ACCESS SHARE MODE")
        with pytest.raises(DatabaseError, match=r"lock timeout; something else holds a table for long, so nothing was"):
            migrate.upgrade_shared(url, now_ms=NOW_MS)

    assert schema(url) == before


def test_newer_schema_is_refused(newest_url):
    url = newest_url
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute("UPDATE schema_version SET version_num = '9999'")

    for use in (lambda: migrate.upgrade_shared(url, now_ms=NOW_MS), lambda: migrate.check_shared(url, exact=True)):
        with pytest.raises(DatabaseError, match=r"^The database has schema 9999, newer than this program's"):
            use()


@pytest.mark.parametrize(("serves", "starts"), [(migrate.newest(), True), (migrate.steps()[0], True), ("9998", False)])
def test_program_of_the_version_before_starts_on_a_newer_schema_that_serves_it(newest_url, serves, starts):
    url = newest_url
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute("UPDATE schema_version SET version_num = '9999'")
        connection.execute(f"COMMENT ON TABLE schema_version IS '{serves}'")

    if starts:
        migrate.check_shared(url)
    else:
        with pytest.raises(DatabaseError, match=r"^The database has schema 9999, newer than this program's"):
            migrate.check_shared(url)


def test_database_says_which_programs_it_serves(climbed):
    assert [serves for *_, serves in climbed.told] == [SERVES.get(step, step) for step in migrate.steps()]


@pytest.mark.parametrize("step", [None, migrate.steps()[-2]])
def test_server_does_not_migrate_but_says_what_to_run(url, tmp_path, step):
    if step:
        migrate.upgrade_shared(url, now_ms=NOW_MS, to=step)
    before = tables_of(url)

    done = servers.run("serve", "--data", str(tmp_path / "data"), "--store", url, "--api-port=0", "--analytics-port=0")

    has = f"schema {step}, this program needs {migrate.newest()}" if step else "no schema yet"
    said = f"tripline: The database has {has}; run `tripline migrate` with the same store address first."
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1]) == (1, "", said)
    assert tables_of(url) == before


def refused(url: str) -> str:
    """The one line that the command ends with."""
    done = servers.run_here("migrate", "--store", url)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "Traceback" not in done.stderr
    return done.stderr.removeprefix("tripline: ").rstrip("\n")


def test_wrong_password_is_told_without_it():
    with postgres.cluster(password="the-right-one") as server:
        right = server.url("postgres")
        said = refused(right.replace("the-right-one", "the-wrong-one"))

    assert said.startswith("The database cannot be used: ")
    assert f'password authentication failed for user "{postgres.OWNER}"' in said
    assert "the-wrong-one" not in said


def test_server_that_is_away_and_database_that_is_not_there_are_told():
    server = databases.server()
    assert 'database "not_there" does not exist.' in refused(server.url("not_there"))
    assert "Connection refused." in refused("postgresql://kim:secret@127.0.0.1:1/x")


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
