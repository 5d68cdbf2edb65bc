"""Requirements of a PostgreSQL server, and the form of its address."""

import pytest
from msgspec.structs import replace

from tripline.store.database import requirements
from tripline.store.database.requirements import Server

WELL = Server(version=150_014, encoding="UTF8", standby=False, knows_letters=True)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (90_624, "The server is PostgreSQL 9.624; Tripline needs 15 or later."),
        (140_018, "The server is PostgreSQL 14.18; Tripline needs 15 or later."),
        (150_000, None),
        (180_001, None),
    ],
)
def test_old_server_is_refused(version, said):
    assert requirements.unfit(replace(WELL, version=version)) == said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"standby": True}, "The server is a standby, which takes no writes; give the address of the primary."),
        (
            {"encoding": "SQL_ASCII"},
            "The database is encoded in SQL_ASCII; make one with"
            " CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0.",
        ),
        (
            {"knows_letters": False},
            'The database has no collation "und-x-icu"; use a PostgreSQL that was built with ICU.',
        ),
    ],
)
def test_unfit_server_is_told_in_a_sentence(change, said):
    assert requirements.unfit(replace(WELL, **change)) == said


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://tripline@db.example/tripline",
        "postgres://tripline:p%40ss%2Fword@db.example:5432/tripline?sslmode=verify-full",
        "postgresql://tripline@one.example:5432,two.example:5433/tripline?target_session_attrs=read-write",
        "postgresql:///tripline",
    ],
)
def test_address_that_is_well_formed_is_taken(url):
    assert requirements.wrong_address(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://tripline:pa@sesame@db.example/tripline",
        "postgresql://tripline:pa/sesame@db.example/tripline",
        "postgresql://tripline:12/sesame@db.example/tripline",
        "postgresql://tripline:%sesame@db.example/tripline",
        "postgresql://tripline@db.example/tripline?sesame=1",
        "postgresql://[sesame/tripline",
    ],
)
def test_address_that_is_ill_formed_is_told_without_any_part_of_it(url):
    said = requirements.wrong_address(url)

    assert said is not None
    assert "sesame" not in said
