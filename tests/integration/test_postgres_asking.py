"""Statements asked on the event loop: whose answer it is, whatever happens meanwhile, and what the loop does."""

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from tests.support import databases

from tripline.store.database.postgres import Asker

LANES = 2
SLOWLY = "SELECT 'late' FROM pg_sleep(0.4)"
LONG = "x" * 20_000_000
"""More than what lies between us and the server can hold."""


def played(play: Callable[..., Any], *, longest_s: float = 20) -> Any:
    """What the play with an asker returns."""

    async def run() -> Any:
        with databases.fresh() as database:
            connect = functools.partial(psycopg.connect, database.url, autocommit=True, application_name="asking")
            asker = Asker(connect, lanes=LANES, longest_s=longest_s)
            try:
                return await play(asker, database)
            finally:
                asker.close()

    return asyncio.run(run())


def test_answer_that_did_not_come_in_time_is_never_that_of_the_next_statement():
    async def play(asker, _):
        for _ in range(LANES):
            with pytest.raises(TimeoutError):
                await asker.rows(SLOWLY, ())
        return await asyncio.gather(*(asker.rows("SELECT $1::text", [str(number)]) for number in range(20)))

    assert played(play, longest_s=0.3) == [[(str(number),)] for number in range(20)]


def test_answer_that_nobody_waits_for_any_more_is_never_that_of_the_next_statement():
    async def play(asker, _):
        await asyncio.gather(*(asker.rows("SELECT 1", ()) for _ in range(LANES)))
        given_up = [asyncio.ensure_future(asker.rows(SLOWLY, ())) for _ in range(LANES)]
        await asyncio.sleep(0.1)
        for task in given_up:
            task.cancel()
        await asyncio.wait(given_up)
        return await asker.rows("SELECT 'next' FROM pg_sleep(0.5)", ())

    assert played(play) == [("next",)]


def test_wait_for_a_connection_counts_as_wait_for_the_answer():
    async def play(asker, _):
        asked = (asker.rows(SLOWLY, ()) for _ in range(LANES * 3))
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = played(play, longest_s=0.6)
    assert answers[:LANES] == [[("late",)]] * LANES
    assert [type(each) for each in answers[LANES:]] == [TimeoutError] * LANES * 2


def test_statement_and_answer_may_be_longer_than_what_is_sent_at_once():
    async def play(asker, _):
        ((length,),) = await asker.rows("SELECT length($1::text)", [LONG])
        ((text,),) = await asker.rows("SELECT repeat('x', $1::integer)", [len(LONG)])
        return length, text == LONG

    assert played(play) == (len(LONG), True)


def test_event_loop_goes_on_while_the_server_works():
    async def play(asker, _):
        asked = asyncio.ensure_future(asker.rows(SLOWLY, ()))
        turns = 0
        while not asked.done():
            await asyncio.sleep(0.01)
            turns += 1
        return turns

    assert played(play) >= 10


def test_no_more_connections_than_are_needed_and_an_ended_one_is_let_go_at_once():
    mine = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'asking'"

    async def play(asker, database):
        counts = []
        for at_once in (1, 20):
            for _ in range(3):
                await asyncio.gather(*(asker.rows("SELECT 1", ()) for _ in range(at_once)))
            counts.append(database.rows(mine)[0][0])
        database.rows("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'asking'")
        await asyncio.sleep(0.1)
        rows = await asyncio.gather(*(asker.rows("SELECT 1", ()) for _ in range(LANES)))
        return counts, rows

    assert played(play) == ([1, LANES], [[(1,)]] * LANES)


def test_statement_is_prepared_once_whatever_the_size_of_its_numbers():
    async def play(asker, _):
        for number in (1, 2**20, 2**40, -1):
            assert await asker.rows("SELECT $1::bigint + 1", [number]) == [(number + 1,)]
        return await asker.rows("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%+ 1'", ())

    assert played(play) == [(1,)]
