"""Statements asked on the event loop: whose answer it is, whatever happens meanwhile, and what the loop does."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
from tests.support import databases

from tripline.store.database.postgres import Asker

LANES = 2
SLOWLY = "SELECT 'late' FROM pg_sleep(0.4)"
LONG = "x" * 20_000_000
"""More than what lies between us and the server can hold."""


@contextlib.contextmanager
def asking(database: databases.Database, *, longest_s: float = 20) -> Iterator[Asker]:
    """An asker of the database."""
    connect = functools.partial(psycopg.connect, database.url, autocommit=True, application_name="asking")
    asker = Asker(connect, lanes=LANES, longest_s=longest_s)
    try:
        yield asker
    finally:
        asker.close()


@pytest.fixture
def database() -> Iterator[databases.Database]:
    with databases.fresh() as made:
        yield made


@pytest.fixture
async def asker(database: databases.Database) -> AsyncIterator[Asker]:
    with asking(database) as made:
        yield made


async def test_answer_that_did_not_come_in_time_is_never_that_of_the_next_statement(database):
    with asking(database, longest_s=0.3) as asker:
        for _ in range(LANES):
            with pytest.raises(TimeoutError):
                await asker.rows(SLOWLY, ())
        found = await asyncio.gather(*(asker.rows("SELECT $1::text", [str(number)]) for number in range(20)))

    assert found == [[(str(number),)] for number in range(20)]


async def test_answer_that_nobody_waits_for_any_more_is_never_that_of_the_next_statement(asker):
    await asyncio.gather(*(asker.rows("SELECT 1", ()) for _ in range(LANES)))
    given_up = [asyncio.ensure_future(asker.rows(SLOWLY, ())) for _ in range(LANES)]
    await asyncio.sleep(0.1)
    for task in given_up:
        task.cancel()
    await asyncio.wait(given_up)

    assert await asker.rows("SELECT 'next' FROM pg_sleep(0.5)", ()) == [("next",)]


async def test_wait_for_a_connection_counts_as_wait_for_the_answer(database):
    with asking(database, longest_s=0.6) as asker:
        asked = (asker.rows(SLOWLY, ()) for _ in range(LANES * 3))
        answers = await asyncio.gather(*asked, return_exceptions=True)

    assert answers[:LANES] == [[("late",)]] * LANES
    assert [type(each) for each in answers[LANES:]] == [TimeoutError] * LANES * 2


async def test_statement_and_answer_may_be_longer_than_what_is_sent_at_once(asker):
    ((length,),) = await asker.rows("SELECT length($1::text)", [LONG])
    ((text,),) = await asker.rows("SELECT repeat('x', $1::integer)", [len(LONG)])

    assert (length, text == LONG) == (len(LONG), True)


async def test_event_loop_goes_on_while_the_server_works(asker):
    asked = asyncio.ensure_future(asker.rows(SLOWLY, ()))
    turns = 0
    while not asked.done():
        await asyncio.sleep(0.01)
        turns += 1

    assert turns >= 10


async def test_no_more_connections_than_are_needed_and_an_ended_one_is_let_go_at_once(asker, database):
    mine = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'asking'"

    counts = []
    for at_once in (1, 20):
        for _ in range(3):
            await asyncio.gather(*(asker.rows("SELECT 1", ()) for _ in range(at_once)))
        counts.append(database.rows(mine)[0][0])
    database.rows("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'asking'")
    await asyncio.sleep(0.1)
    rows = await asyncio.gather(*(asker.rows("SELECT 1", ()) for _ in range(LANES)))

    assert (counts, rows) == ([1, LANES], [[(1,)]] * LANES)


async def test_statement_is_prepared_once_whatever_the_size_of_its_numbers(asker):
    for number in (1, 2**20, 2**40, -1):
        assert await asker.rows("SELECT $1::bigint + 1", [number]) == [(number + 1,)]

    assert await asker.rows("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%+ 1'", ()) == [(1,)]
