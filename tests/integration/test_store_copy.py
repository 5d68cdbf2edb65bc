"""Copying a store: every row arrives as it was, whatever is in it; what does not is told, and then nothing is kept."""

import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection
from tests.support import databases, filled, next_version, servers, stores
from tests.support.databases import Database

from tripline import cli
from tripline.adapters import data_folder
from tripline.maintenance import store_copy
from tripline.store import migrate, tables
from tripline.store.database import sqlite, transfer
from tripline.store.migrate import DatabaseError

NOW_MS = databases.NOW_MS
ROWS = 40
TRIP = "INSERT INTO trip SELECT * FROM trip WHERE false"


@pytest.fixture
def target() -> Iterator[Database]:
    with databases.fresh() as database:
        yield database


def folder(place: Path) -> Path:
    """A data folder of this version's schema, with no row."""
    migrate.upgrade(data_folder.prepare(place) / data_folder.DATABASE)
    return place


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Path:
    """A data folder with rows in every table."""
    data = folder(tmp_path_factory.mktemp("full") / "data")
    with opened(data) as connection:
        filled.fill(connection, count=ROWS, now_ms=NOW_MS)
    return data


@pytest.fixture
def source(tmp_path, full) -> Path:
    return Path(shutil.copytree(full, tmp_path / "data"))


def opened(data: Path):
    connection = sqlite.open_engine(data / data_folder.DATABASE).connect()
    driver = connection.connection.driver_connection
    return _Opened(connection, driver)


class _Opened:
    """A connection, closed with the driver's."""

    def __init__(self, connection: Connection, driver) -> None:
        self._connection, self._driver = connection, driver

    def __enter__(self) -> Connection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._driver.close()


def silent(doing: str, table: str, rows: int) -> None:
    """Progress that nobody looks at."""


def rows_of(data: Path) -> dict[str, list[tuple]]:
    with opened(data) as connection:
        side = transfer.Side(connection)
        return {table.name: list(side.rows(table)) for table in transfer.TABLES}


def count_in(target: Database) -> int:
    counts = " + ".join(f"(SELECT count(*) FROM {table.name})" for table in transfer.TABLES)
    return target.rows(f"SELECT {counts}")[0][0]


def test_every_row_of_every_table_arrives_and_comes_back_as_it_was(tmp_path, source, target):
    there = store_copy.copied(source, target.url, progress=silent)
    back = store_copy.copied(target.url, folder(tmp_path / "back"), progress=silent)

    assert (there.differences, back.differences) == ([], [])
    assert set(there.rows.values()) == {ROWS}
    assert there.rows == back.rows
    before, after = rows_of(source), rows_of(tmp_path / "back")
    for rows in (before, after):
        # A copy says of sessions what a start says: none of them is live.
        rows["device_connection"] = [row[:1] for row in rows["device_connection"]]
    assert after == before
    assert {type(value) for rows in after.values() for row in rows for value in row} == {
        *(type(None), bool, int, float, str, bytes)
    }


@pytest.mark.deep
def test_rows_of_long_ago_lie_in_partitions_of_their_weeks(source, target):
    store_copy.copied(source, target.url, progress=silent)

    assert target.rows("SELECT count(*) FROM microtrip") == [(ROWS,)]
    assert target.rows("SELECT count(*) FROM microtrip_other") == [(0,)]


def test_rows_of_running_processes_stay_behind(source, target):
    store_copy.copied(source, target.url, progress=silent)

    for table in sorted(transfer.LEFT):
        assert target.rows(f"SELECT count(*) FROM {table}") == [(0,)]
    assert target.rows("SELECT count(*) FROM sensor WHERE ingest_node IS NOT NULL") == [(0,)]
    assert target.rows("SELECT count(*) FROM device_connection WHERE connected") == [(0,)]


TRIGGER = """
    CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$;
    CREATE TRIGGER spoil BEFORE INSERT ON {table} FOR EACH ROW {when} EXECUTE FUNCTION spoil()"""


@pytest.mark.deep
@pytest.mark.parametrize(
    ("table", "body", "what"),
    [
        ("vehicle", "NEW.vehicle_no := 'other'; RETURN NEW;", "vehicle_no"),
        ("trip", "NEW.distance_m := 0.5; NEW.payload := 'x'; RETURN NEW;", "distance_m, payload"),
        ("trip", "RETURN NULL;", "missing"),
    ],
)
def test_row_that_did_not_arrive_as_it_was_is_told_and_nothing_is_kept(source, target, table, body, what):
    column = "id" if table == "vehicle" else "no"
    key = rows_of(source)[table][7][0]
    literal = f"'{key}'" if column == "id" else key
    target.connection.execute(TRIGGER.format(table=table, body=body, when=f"WHEN (NEW.{column} = {literal})"))

    copied = store_copy.copied(source, target.url, progress=silent)

    assert copied.differences == [transfer.Difference(table, (key,), what)]
    assert count_in(target) == 0


def test_row_that_the_source_does_not_have_is_told(source, target):
    body = "INSERT INTO secret VALUES ('late', 'x') ON CONFLICT DO NOTHING; RETURN NEW;"
    target.connection.execute(TRIGGER.format(table="vehicle", body=body, when=""))

    copied = store_copy.copied(source, target.url, progress=silent)

    assert copied.differences == [transfer.Difference("secret", ("late",), "not in the source")]


@pytest.fixture
def _no_variables(monkeypatch):
    """The run of the tests has one of its own, which is no setting."""
    monkeypatch.delenv(stores.VARIABLE, raising=False)


@pytest.mark.deep
def test_no_more_than_the_first_differences_are_told(capsys, source, target):
    body = "NEW.user_id := NULL; RETURN NEW;"
    target.connection.execute(TRIGGER.format(table="gps_event", body=body, when=""))

    code = cli.run(["store", "copy", "--from", str(source), "--to", target.url])

    printed = capsys.readouterr()
    told = [line for line in printed.out.splitlines() if line.startswith("DIFFERS ")]
    assert code == cli.FAILED
    assert len(told) == transfer.SHOWN
    assert all(line.startswith("DIFFERS gps_event ") and line.endswith(": user_id") for line in told)
    assert printed.err == "tripline: the copy is not the same as the source; nothing of it was kept.\n"


@pytest.mark.deep
def test_negative_zero_is_not_zero(source, target):
    body = "NEW.distance_m := '-0'; RETURN NEW;"
    target.connection.execute(TRIGGER.format(table="driving_score", body=body, when="WHEN (NEW.distance_m = 0)"))

    copied = store_copy.copied(source, target.url, progress=silent)

    assert copied.differences
    assert {(each.table, each.what) for each in copied.differences} == {("driving_score", "distance_m")}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE company SET name = printf('%.256c', 'x') WHERE id = '00003'", "company ('00003',): name is too long"),
        (
            "UPDATE company SET name = 'a' || char(0) WHERE id = '00003'",
            "name is too long, or holds",
        ),
        ("UPDATE vehicle_score SET count = 2147483648 WHERE vehicle_id = '00002'", "count is out of range"),
    ],
)
def test_row_that_the_target_cannot_keep_is_named(source, target, change, said):
    with opened(source) as connection:
        connection.exec_driver_sql(change)

    with pytest.raises(DatabaseError, match="cannot keep a row of the source") as caught:
        store_copy.copied(source, target.url, progress=silent)

    assert said in str(caught.value)
    assert count_in(target) == 0


def test_target_with_rows_is_refused(source, target):
    target.connection.execute("INSERT INTO secret VALUES ('node', 'x')")

    with pytest.raises(DatabaseError, match=r"^The target is not empty: there are rows in secret\.$"):
        store_copy.copied(source, target.url, progress=silent)


def test_target_without_schema_is_told_to_be_migrated(source):
    url = databases.server().create("copy_unmigrated")
    try:
        with pytest.raises(DatabaseError, match=r"^The target: The database has no schema yet; run `tripline migrate`"):
            store_copy.copied(source, url, progress=silent)
    finally:
        databases.server().drop("copy_unmigrated")


def test_source_of_an_earlier_schema_is_told_to_be_migrated(tmp_path, source, target):
    with next_version.installed(tmp_path), pytest.raises(DatabaseError) as refused:
        store_copy.copied(source, target.url, progress=silent)

    path = source / data_folder.DATABASE
    assert str(refused.value) == (
        f"The database {path} has schema {migrate.newest()}, this program needs {next_version.SCHEMA};"
        f" run `tripline migrate --data {source}` first."
    )


@pytest.mark.deep
def test_file_made_from_postgresql_can_shrink(tmp_path, target):
    store_copy.copied(target.url, tmp_path / "file", progress=silent)

    with closing(sqlite3.connect(tmp_path / "file" / data_folder.DATABASE)) as connection:
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)


@pytest.mark.deep
def test_copy_on_postgresql_climbs_with_every_row(tmp_path, source, target):
    store_copy.copied(source, target.url, progress=silent)

    with next_version.installed(tmp_path):
        migrate.upgrade_shared(target.url, now_ms=NOW_MS)
        migrate.upgrade(source / data_folder.DATABASE)
        with store_copy._source(source) as ours, store_copy._source(target.url) as theirs:
            differences = transfer.differences(ours, theirs, progress=silent)

    # No server of the copy ever held the source's connections.
    assert {each.table for each in differences} == {tables.device_connection.name}
    assert target.rows("SELECT DISTINCT made_up, count(*) FROM sensor GROUP BY 1") == [(7, ROWS)]


def test_source_that_a_server_holds_is_refused(source, target):
    hold = data_folder.Hold(source)
    try:
        with pytest.raises(data_folder.DataFolderError, match="in use by another server"):
            store_copy.copied(source, target.url, progress=silent)
    finally:
        hold.release()


@pytest.mark.parametrize(("silent_ms", "roles", "refused"), [(0, "all", True), (11_000, "all", False), (0, "", False)])
def test_database_that_a_process_uses_is_refused(tmp_path, target, silent_ms, roles, refused):
    seen = f"(extract(epoch FROM clock_timestamp()) * 1000)::int8 - {silent_ms}"
    target.connection.execute(f"INSERT INTO node VALUES (0, 'a', 'host:1', '{roles}', 0, {seen})")

    if refused:
        with pytest.raises(DatabaseError, match=r"^The source is in use by host:1; stop it first\.$"):
            store_copy.copied(target.url, folder(tmp_path / "back"), progress=silent)
    else:
        assert store_copy.copied(target.url, folder(tmp_path / "back"), progress=silent).differences == []


@pytest.mark.deep
def test_command_killed_in_the_middle_leaves_the_target_empty(source, target):
    hang = "PERFORM pg_advisory_lock(7); PERFORM pg_advisory_unlock(7); RETURN NEW;"
    target.connection.execute(TRIGGER.format(table="vehicle", body=hang, when=""))
    with closing(psycopg.connect(target.url, autocommit=True)) as other:
        other.execute("SELECT pg_advisory_lock(7)")
        process = subprocess.Popen(
            servers.command("store", "copy", "--from", str(source), "--to", target.url),
            env=servers.environment(),
            stdout=subprocess.DEVNULL,
        )
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted"
        while target.rows(waiting) == [(0,)]:
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait(10)

    assert target.rows("SELECT count(*) FROM company") == [(0,)]
    target.connection.execute("DROP FUNCTION spoil CASCADE")  # waits for what is left of the transaction
    assert count_in(target) == 0
    assert store_copy.copied(source, target.url, progress=silent).differences == []


@pytest.mark.usefixtures("_no_variables")
def test_command_tells_each_table_and_how_much_in_all(capsys, source, target, monkeypatch):
    monkeypatch.setenv("TRIPLINE_STORE_URL", target.url)

    code = cli.run(["store", "copy", "--from", str(source)])

    lines = capsys.readouterr().out.splitlines()
    assert code == cli.OK
    assert f"copied trip: {ROWS} rows" in lines
    assert f"verified trip: {ROWS} rows" in lines
    assert lines[-1].startswith(
        f"copied and verified {len(transfer.TABLES)} tables, {ROWS * len(transfer.TABLES)} rows"
    )


@pytest.mark.usefixtures("_no_variables")
def test_command_without_target_is_wrong_use(capsys, source):
    assert cli.run(["store", "copy", "--from", str(source)]) == cli.WRONG_USE
    assert capsys.readouterr().err == "tripline: say where to copy: --to, or TRIPLINE_STORE_URL.\n"
