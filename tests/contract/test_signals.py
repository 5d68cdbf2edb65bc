"""Every way to pass hints on: inside a process, and between processes through PostgreSQL."""

import asyncio
import contextlib
import io
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from tests.support import databases, logs, postgres

from tripline import observe
from tripline.adapters.signals import postgres as signals_postgres
from tripline.adapters.signals.local import LocalSignals
from tripline.adapters.signals.postgres import PostgresSignals

PATIENCE_S = 20


@contextlib.asynccontextmanager
async def local(_url: str) -> AsyncIterator[tuple[Any, Any]]:
    """Who tells and who hears, in one process."""
    signals = LocalSignals()
    yield signals, signals


@contextlib.asynccontextmanager
async def between(url: str) -> AsyncIterator[tuple[Any, Any]]:
    """Who tells and who hears, as in two processes."""
    one, other = PostgresSignals(url), PostgresSignals(url)
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each.run()) for each in (one, other)]
        async with asyncio.timeout(PATIENCE_S):
            await one.listening.wait()
            await other.listening.wait()
        for _ in range(5):
            await asyncio.sleep(0)  # until both have passed on that they began to listen
        yield one, other
        for each in running:
            each.cancel()


@contextlib.asynccontextmanager
async def same(url: str) -> AsyncIterator[tuple[Any, Any]]:
    """Who tells and who hears, in one of several processes."""
    async with between(url) as (one, _):
        yield one, one


@pytest.fixture
def url():
    postgres.need("hints between processes")
    with databases.fresh() as database:
        yield database.url


class Ear:
    """What was heard of some subjects."""

    def __init__(self, signals: Any, *subjects: str) -> None:
        self.heard: list[str] = []
        self._came = asyncio.Event()
        for subject in subjects:
            signals.subscribe(subject, self._hear)

    async def until(self, last: str) -> list[str]:
        """Everything heard up to this."""
        async with asyncio.timeout(PATIENCE_S):
            while last not in self.heard:
                self._came.clear()
                await self._came.wait()
        return self.heard

    def _hear(self, detail: str) -> None:
        self.heard.append(detail)
        self._came.set()


WAYS = pytest.mark.parametrize("way", [local, between, same])


@WAYS
async def test_hints_are_heard_by_every_listener_of_their_subject_in_order_and_by_no_other(way, url):
    async with way(url) as (tells, hears):
        first, second, other = Ear(hears, "a"), Ear(hears, "a"), Ear(hears, "b")
        for detail in ("1", "2", "end"):
            tells.notify("a", detail)
        found = await first.until("end"), await second.until("end"), other.heard

    assert found == (["1", "2", "end"], ["1", "2", "end"], [])


@WAYS
async def test_hint_from_another_thread_is_heard_on_the_loop(way, url):
    async with way(url) as (tells, hears):
        ear = Ear(hears, "a")
        await asyncio.to_thread(tells.notify, "a", "from afar")
        found = await ear.until("from afar")

    assert found == ["from afar"]


@WAYS
async def test_listener_that_fails_costs_the_others_nothing(way, url):
    async with way(url) as (tells, hears):
        hears.subscribe("a", int)
        ear = Ear(hears, "a")
        tells.notify("a", "x")
        found = await ear.until("x")

    assert found == ["x"]


async def test_own_hint_is_heard_once_although_it_comes_back(url):
    async with between(url) as (one, other):
        own, far = Ear(one, "a", "b"), Ear(other, "a")
        one.notify("a", "x")
        await far.until("x")
        other.notify("b", "behind")
        found = await own.until("behind")

    assert found == ["x", "behind"]


async def test_hints_of_more_than_a_notification_all_come_in_order(url):
    details = [f"{number:04d}" + '값\x01"\\' * 300 for number in range(40)]

    async with between(url) as (tells, hears):
        ear = Ear(hears, "a")
        for detail in details:
            tells.notify("a", detail)
        found = await ear.until(details[-1])

    assert found == details


async def test_hint_is_sent_as_long_as_a_notification_holds_it_and_beyond_that_others_are_told_to_look(url):
    longest = "x" * (signals_postgres.LONGEST - len('["a",""],'))

    async with between(url) as (tells, hears):
        ear, resyncs = Ear(hears, "a"), Ear(hears, observe.SIGNAL_RESYNC)
        tells.notify("a", longest)
        await ear.until(longest)
        before = len(resyncs.heard)
        tells.notify("a", longest + "x")
        await resyncs.until("")
        tells.notify("a", "end")
        found = before, await ear.until("end")

    assert found == (0, [longest, "end"])


async def test_hints_beyond_the_bound_of_the_queue_become_one_word_to_look_at_everything(url, monkeypatch):
    monkeypatch.setattr(signals_postgres, "WAITING", 10)

    async with between(url) as (tells, hears):
        ear, resyncs = Ear(hears, "a"), Ear(hears, observe.SIGNAL_RESYNC)
        for number in range(11):
            tells.notify("a", str(number))
        await resyncs.until("")
        found = await ear.until("10")

    assert found == ["10"]


async def test_equal_hints_that_wait_are_sent_once(url):
    async with between(url) as (tells, hears):
        ear = Ear(hears, "a")
        for _ in range(1000):
            tells.notify("a")
        tells.notify("a", "end")
        found = await ear.until("end")

    assert found == ["", "end"]


async def test_after_a_connection_broke_everybody_is_told_to_look_and_hints_go_on(url):
    async with between(url) as (tells, hears):
        ear, resyncs = Ear(hears, "a"), Ear(hears, observe.SIGNAL_RESYNC)
        await asyncio.to_thread(_break_connections, url)
        await resyncs.until("")
        tells.notify("a", "afterwards")
        found = await ear.until("afterwards")

    assert found == ["afterwards"]


async def test_what_others_say_on_the_channel_is_ignored(url):
    async with between(url) as (tells, hears):
        ear = Ear(hears, "a")
        await asyncio.to_thread(_say, url, ["", "x", "{}", '["me", [["a"]]]', '["me", [["a", 1]]]', '["me", []]'])
        tells.notify("a", "end")
        found = await ear.until("end")

    assert found == ["end"]


async def test_without_a_server_hints_still_reach_this_process():
    signals = PostgresSignals("postgresql://nobody@127.0.0.1:1/nothing")
    ear = Ear(signals, "a")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(signals.run())
        signals.notify("a", "x")
        heard = await ear.until("x")
        running.cancel()

    assert heard == ["x"]


async def test_hints_that_wait_at_the_end_are_sent(url):
    async with between(url) as (_, hears):
        ear = Ear(hears, "a")
        leaving = PostgresSignals(url)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(leaving.run())
            await leaving.listening.wait()
            leaving.notify("a", "last words")
            await asyncio.sleep(0)
            running.cancel()
        found = await ear.until("last words")

    # Twice, when the first sending was interrupted: nobody knows whether it was heard.

    assert set(found) == {"last words"}


class _Said(io.StringIO):
    """What is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.away = asyncio.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if "signal.away" in text:
            self.away.set()
        return written


def _told_why(url: str, *, breaks: bool = False) -> str:
    """The reason that is logged when others are not heard or told."""
    said = _Said()
    logs.plain(said)

    async def scenario() -> None:
        signals = PostgresSignals(url)
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(signals.run())
            if breaks:
                await signals.listening.wait()
                await asyncio.to_thread(_break_connections, url)
            await said.away.wait()
            running.cancel()

    try:
        asyncio.run(scenario())
    finally:
        logs.plain()
    events = [json.loads(line) for line in said.getvalue().splitlines()]
    assert {event["level"] for event in events} == {"warning"}
    assert "the-secret" not in said.getvalue()
    return str(next(event["reason"] for event in events if event["event"] == "signal.away"))


def test_connection_that_ended_is_told_with_what_the_server_said(url):
    assert _told_why(url, breaks=True).removeprefix("consuming input failed: ") in (
        "terminating connection due to administrator command",
        "server closed the connection unexpectedly",
    )


def test_server_that_is_away_is_told_without_the_password():
    said = _told_why("postgresql://kim:the-secret@127.0.0.1:1/x")

    assert said == 'connection failed: connection to server at "127.0.0.1", port 1 failed: Connection refused'


def test_server_that_refuses_the_password_is_told_without_it():
    postgres.need("hints between processes")
    with postgres.cluster(password="another-one") as server:
        said = _told_why(server.url("postgres").replace("another-one", "the-secret"))

    assert said.endswith('FATAL:  password authentication failed for user "tripline"')


def test_server_that_does_not_answer_is_told(monkeypatch):
    monkeypatch.setattr(signals_postgres, "CONNECT_S", 0.1)
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
        said = _told_why(f"postgresql://kim:the-secret@127.0.0.1:{silent.getsockname()[1]}/x")

    assert said == "PostgreSQL does not answer."


def _break_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'tripline signals' AND datname = current_database()"
        )


def _say(url: str, payloads: list[str]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for payload in payloads:
            connection.execute("SELECT pg_notify(%s, %s)", (signals_postgres.CHANNEL, payload))
