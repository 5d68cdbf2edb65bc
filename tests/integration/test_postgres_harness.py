"""The tests' own PostgreSQL: what it keeps over kills, and that no test finds what another left."""

import psycopg
import pytest
from tests.support import databases, postgres
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


def test_whoever_is_connected_to_a_database_that_is_given_back_is_sent_away(pool):
    database = pool.take("first")
    with psycopg.connect(database.url) as connection:
        connection.execute(COMPANY.replace("?", "%s"), (ID, ID))
        pool.give_back(["first"])

        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


@pytest.mark.parametrize("change", ["CREATE TABLE another (number int)", "ALTER TABLE account DROP COLUMN phone"])
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
