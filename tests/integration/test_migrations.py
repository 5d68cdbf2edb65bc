"""Schema: what the steps make is what the tables say; damage and strangers are told in one line."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.support import ingest_rig, numbers_before, rights_before, stores, sums_before

from tripline.store import migrate, tables
from tripline.store.database import sqlite, sqlite_files

pytestmark = pytest.mark.sqlite("schemas of database files")

FIRST = "0001"
BEFORE_DELIVERIES = "0004"
BEFORE_FAIR_REJECTIONS = "0006"


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


def test_upgrade_again_changes_nothing(tmp_path):
    path = tmp_path / "twice.db"
    assert migrate.upgrade(path) == migrate.newest()
    before = schema(path)

    assert migrate.upgrade(path) == migrate.newest()

    assert schema(path) == before


def test_database_of_every_earlier_step_upgrades_and_keeps_its_rows(tmp_path):
    climbing = tmp_path / "climbing.db"
    for step in migrate.steps():
        migrate.upgrade(climbing, to=step)
        path = shutil.copy(climbing, tmp_path / f"{step}.db")
        assert migrate.version_of(path) == step
        connection = sqlite3.connect(path)
        connection.execute("INSERT INTO secret (name, value) VALUES ('node', x'010203')")
        connection.commit()
        connection.close()

        migrate.upgrade(path)

        connection = sqlite3.connect(path)
        assert connection.execute("SELECT name, value FROM secret").fetchall() == [("node", b"\x01\x02\x03")]
        connection.close()
        assert migrate.version_of(path) == migrate.newest()


def value(name: str, kind: str, number: int) -> object:
    """A value of a column's type, another one in each row."""
    match kind.split("(")[0]:
        case "VARCHAR" | "TEXT":
            return f"{number}{name}"[:5]
        case "BLOB":
            return bytes([number]) * 300
        case "FLOAT":
            return number + 0.5
        case "BOOLEAN":
            return number % 2
        case "BIGINT" | "INTEGER" | "SMALLINT":
            return number
    raise AssertionError(f"no value for the type {kind}")


def fill(connection: sqlite3.Connection, rows: int) -> dict[str, tuple[list[str], list[tuple]]]:
    """Rows in every table, each naming those of the same number elsewhere; the columns and rows of each table."""
    kept = {}
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    for (table,) in names.fetchall():
        if table == migrate.VERSION_TABLE:
            continue
        columns = [(row[1], row[2]) for row in connection.execute(f"PRAGMA table_xinfo({table})")]
        named = {row[3]: row[4] for row in connection.execute(f"PRAGMA foreign_key_list({table})")}
        values = [tuple(value(named.get(name, name), kind, n) for name, kind in columns) for n in range(rows)]
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", values)
        kept[table] = ([name for name, _ in columns], values)
    return kept


@pytest.mark.parametrize("step", migrate.steps()[:-1])
def test_filled_database_of_an_earlier_step_keeps_every_row_in_every_table(tmp_path, step):
    path = tmp_path / "filled.db"
    migrate.upgrade(path, to=step)
    connection = sqlite3.connect(path)
    kept = fill(connection, rows=50)
    connection.commit()
    connection.close()

    migrate.upgrade(path)

    connection = sqlite3.connect(path)
    after = {
        table: sorted(connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall(), key=repr)
        for table, (columns, _) in kept.items()
    }
    checks = [connection.execute(f"PRAGMA {check}").fetchall() for check in ("foreign_key_check", "integrity_check")]
    connection.close()
    assert {"trip", "microtrip", "device_event", "driving_score", "gps_event"} <= kept.keys()
    assert after == {table: sorted(values, key=repr) for table, (_, values) in kept.items()}
    assert checks == [[], [("ok",)]]
    fresh = stores.fresh_file(tmp_path)
    assert {row[:2] for row in schema(path)} == {row[:2] for row in schema(fresh)}


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


def test_newer_schema_is_refused(tmp_path):
    path = tmp_path / "tripline.db"
    migrate.upgrade(path)
    connection = sqlite3.connect(path)
    connection.execute(f"UPDATE {migrate.VERSION_TABLE} SET version_num = '9999'")
    connection.commit()
    connection.close()

    with pytest.raises(migrate.DatabaseError, match="has schema 9999, newer than this program's"):
        migrate.upgrade(path)
    assert migrate.version_of(path) == "9999"


def test_new_file_has_no_version(tmp_path):
    assert migrate.version_of(tmp_path / "tripline.db") is None


def test_used_file_of_the_version_before_takes_nothing_in_twice(tmp_path):
    sent = [ingest_rig.microtrip(ingest_rig.NOW + second * 1000) for second in range(20)]
    sent.append({"ty": 104, "ts": ingest_rig.NOW, "pld": {"wbv": 11.8}})
    (tmp_path / "rig").mkdir()
    with ingest_rig.Rig.fresh(tmp_path / "rig") as rig:
        rig.send(*sent, at=ingest_rig.NOW + 60_000)
        kept = [rig.rows(table) for table in (tables.trip, tables.microtrip, tables.device_event)]
        rig.run(rig.store.close())
        path = rig.database.path
        carried_back(path, tmp_path / "before.db")
        migrate.upgrade(path)
        rig.start()

        rig.send(*sent)

        assert [rig.rows(table) for table in (tables.trip, tables.microtrip, tables.device_event)] == kept


def carried_back(path: Path, before: Path) -> None:
    """Let the file be one of the version that had no deliveries, with the same rows."""
    migrate.upgrade(before, to=BEFORE_DELIVERIES)
    with closing(sqlite3.connect(before)) as connection:
        connection.execute("ATTACH ? AS newer", (str(path),))
        for name in connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'").fetchall():
            if name[0] != migrate.VERSION_TABLE:
                own = ", ".join(row[1] for row in connection.execute(f"PRAGMA main.table_info({name[0]})"))
                connection.execute(f"INSERT INTO main.{name[0]} ({own}) SELECT {own} FROM newer.{name[0]}")
        connection.commit()
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
    before.rename(path)


def test_rejected_messages_of_before_have_an_owner_and_a_size(tmp_path):
    path = tmp_path / "steps.db"
    migrate.upgrade(path, to=BEFORE_FAIR_REJECTIONS)
    with closing(sqlite3.connect(path)) as connection:
        for no, sensor_id in enumerate((ingest_rig.SENSOR, None), 1):
            connection.execute(
                "INSERT INTO rejected_message (no, source, sensor_id, topic, reason, detail, body)"
                " VALUES (?, 'device', ?, 'topic', 'not_json', NULL, ?)",
                (no, sensor_id, b"x" * 100),
            )
        own = "id, created_ms, company_id, service_type, serial_no, type, activation_required, status"
        connection.execute(
            f"INSERT INTO sensor ({own}) VALUES (?, 0, ?, 's', '1', 'GPS', 0, 'ACTIVATED')",
            (ingest_rig.SENSOR, ingest_rig.COMPANY),
        )
        connection.commit()

    migrate.upgrade(path)

    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT company_id, size, messages FROM rejected_message ORDER BY no").fetchall()
    assert found == [(ingest_rig.COMPANY, 361, 1), (None, 361, 1)]


def test_rights_of_before_get_the_numbers_of_their_vehicles(tmp_path):
    path = tmp_path / "steps.db"
    migrate.upgrade(path, to=rights_before.BEFORE)
    with closing(sqlite3.connect(path)) as connection:
        for statement in rights_before.STATEMENTS:
            connection.execute(statement)
        connection.commit()

    migrate.upgrade(path)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(rights_before.ASKED).fetchall() == rights_before.NUMBERED


def test_every_period_of_before_is_to_be_counted(tmp_path):
    path = tmp_path / "steps.db"
    migrate.upgrade(path, to=sums_before.BEFORE)
    with closing(sqlite3.connect(path)) as connection:
        for statement in sums_before.STATEMENTS:
            connection.execute(statement)
        connection.commit()

    migrate.upgrade(path)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(sums_before.ASKED).fetchall() == sums_before.TO_COUNT


def test_numbers_of_before_get_keys_and_of_those_alike_the_oldest(tmp_path):
    path = tmp_path / "steps.db"
    migrate.upgrade(path, to=numbers_before.BEFORE)
    with closing(sqlite3.connect(path)) as connection:
        for statement in numbers_before.STATEMENTS:
            connection.execute(statement)
        connection.commit()

    migrate.upgrade(path)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(numbers_before.ASKED).fetchall() == numbers_before.KEYED
