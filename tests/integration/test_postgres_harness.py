"""The tests' own PostgreSQL: what it keeps over kills, and that no test finds what another left."""

import psycopg
import pytest
from psycopg.types.numeric import FloatDumper
from tests.support import databases, postgres, sessions
from tests.support.databases import Pool

COMPANY = (
    "INSERT INTO company (id, created_ms, name, service_type, master, master_id, token_prefix)"
    " VALUES (?, 0, 'Harbour', 'harbour', true, ?, 'AAAAA')"
)
ID = "00000000-0000-11ef-8000-000000000001"


@pytest.fixture(scope="module")
def cluster():
    postgres.need("the tests' own PostgreSQL")
    with postgres.cluster(durable=True, password="open sesame") as made:
        yield made


@pytest.fixture
def pool():
    made = Pool(databases.server())
    yield made
    for name in made.taken():
        made.drop(name)
    made.close()


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_committed_rows_are_there_after_the_server_was_ended_and_started(cluster, end):
    cluster.create(end)
    cluster.run("CREATE TABLE kept (number int)", database=end)
    cluster.run("INSERT INTO kept VALUES (%s)", 1, database=end)

    getattr(cluster, end)()
    with pytest.raises(psycopg.OperationalError):
        cluster.connect()
    cluster.start()

    assert cluster.run("SELECT number FROM kept", database=end) == [(1,)]


def test_owner_of_a_database_needs_the_password_and_may_do_little(cluster):
    url = cluster.create("mine")

    with psycopg.connect(url, autocommit=True) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("CREATE DATABASE another")
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url.replace(":open%20sesame", ""))


def test_database_that_is_given_back_is_empty_for_the_next(pool):
    first = pool.take("first")
    first.rows(COMPANY, ID, ID)
    first.rows(
        "INSERT INTO secret (name, value) SELECT n::text, repeat('x', 99)::bytea FROM generate_series(1, 5000) n"
    )
    pool.give_back(["first"])

    second = pool.take("second")

    assert second is first
    assert second.content() == {}


def test_database_is_kept_under_its_name_until_it_is_given_back(pool):
    pool.take("mine").rows(COMPANY, ID, ID)

    assert pool.take("other").content() == {}
    assert list(pool.take("mine").content()) == ["company"]
    assert pool.taken() == ["mine", "other"]


def test_database_taken_again_to_be_empty_has_no_row_of_before(pool):
    pool.take_empty("mine").rows(COMPANY, ID, ID)

    assert pool.take_empty("mine").content() == {}


def test_whoever_is_connected_to_a_database_that_is_given_back_is_sent_away(pool):
    database = pool.take("first")
    with psycopg.connect(database.url) as connection:
        connection.execute(COMPANY.replace("?", "%s"), (ID, ID))
        pool.give_back(["first"])

        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


def test_closed_session_is_used_again_as_if_it_were_new(pool):
    database = pool.take("first")
    new = database.sessions.connect(database.url)
    served, settings = new.info.backend_pid, new.execute("SHOW ALL").fetchall()
    new.execute("SET lock_timeout = 7")
    new.execute("PREPARE asked AS SELECT 1")
    new.execute("SELECT pg_advisory_lock(7)")
    new.adapters.register_dumper(int, FloatDumper)
    new.pgconn.nonblocking = 1
    new.close()

    again = database.sessions.connect(database.url)

    assert again.info.backend_pid == served
    assert again.execute("SHOW ALL").fetchall() == settings
    assert again.execute("SELECT (SELECT count(*) FROM pg_prepared_statements)").fetchone() == (0,)
    assert again.execute(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    ).fetchone() == (0,)
    assert again.execute("SELECT pg_typeof(%s)::text", [2**40]).fetchone() == ("bigint",)
    assert again.pgconn.nonblocking == 0
    again.close()


def test_session_that_is_broken_or_in_a_transaction_is_used_by_nobody_again(pool):
    database = pool.take("first")
    begun = database.sessions.connect(database.url)
    begun.execute("BEGIN")
    begun.close()
    ended = database.sessions.connect(database.url)
    pid = ended.info.backend_pid
    ended.close()
    database.rows("SELECT pg_terminate_backend(?, 5000)", pid)

    session = database.sessions.connect(database.url)

    assert begun.closed
    assert session.info.backend_pid != pid
    assert session.execute("SELECT 1").fetchone() == (1,)
    session.close()


def test_kept_sessions_outlast_their_test(pool):
    database = pool.take("first")
    kept = database.sessions.connect(database.url)
    kept.close()
    pool.give_back(["first"])

    assert pool.take("second") is database
    assert database.sessions.connect(database.url) is kept
    kept.close()


def test_few_sessions_of_a_database_are_kept(pool):
    database = pool.take("first")
    used = [database.sessions.connect(database.url) for _ in range(sessions.KEPT + 2)]
    for session in used:
        session.close()

    assert [session.closed for session in used] == [False] * sessions.KEPT + [True] * 2
    assert len(database.sessions.pids()) == sessions.KEPT


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE another (number int)",
        "ALTER TABLE account DROP COLUMN phone",
        "CREATE FUNCTION another() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ],
)
def test_database_of_another_shape_is_given_to_nobody(pool, change):
    first = pool.take("first")
    first.rows(change)
    pool.give_back(["first"])

    assert pool.take("second").name != first.name


def test_content_is_the_same_in_another_database(pool):
    pool.take("from").rows(COMPANY, ID, ID)
    content = pool.take("from").content()

    pool.take("to").fill(content)

    assert pool.take("to").content() == content
    assert pool.take("to").rows("SELECT id, master FROM company WHERE name LIKE 'Har%' AND id = ?", ID) == [(ID, True)]
