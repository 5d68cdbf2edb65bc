"""Run single statements on the event loop, over separate connections: libpq sends, the loop watches for the answer.

A hop to a thread and back, and a transaction around one statement, cost more than the statement
(`docs/decisions/708-a-page-is-one-statement.md`).

Not here: transactions of several statements, and handling a broken connection (`postgres.py`).
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGresult
from psycopg.types.numeric import Int8BinaryDumper

from tripline.store.database.postgres_statements import require

Connect: TypeAlias = Callable[[], psycopg.Connection[Any]]
_AUTO: Final = PyFormat.AUTO


class Asker:
    """A few connections, opened when they are needed, each with one statement at a time. Belongs to one event loop."""

    def __init__(self, connect: Connect, *, lanes: int, longest_s: float, threads: Executor | None = None) -> None:
        """`longest_s`: how long an answer may take, the wait for a connection included. `threads`: where a connection
        is opened; None: on a shared thread."""
        self._longest_s = longest_s
        self._lanes = [_Lane(connect, threads) for _ in range(lanes)]
        # The last one that came back goes first: as many are open as are needed.
        self._free: asyncio.LifoQueue[_Lane] = asyncio.LifoQueue()
        for lane in self._lanes:
            self._free.put_nowait(lane)

    async def rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Every row that the statement answers; its placeholders are `$1`, `$2`, ...

        Raises psycopg's errors, and `TimeoutError`.
        """
        async with asyncio.timeout(self._longest_s):
            lane = await self._free.get()
            try:
                return await lane.rows(sql, values)
            except BaseException:
                # Its answer may still arrive and must not be mistaken for the next statement's.
                lane.close()
                raise
            finally:
                self._free.put_nowait(lane)

    def close(self) -> None:
        """Close every connection."""
        for lane in self._lanes:
            lane.close()


class _Lane:
    """One connection, and the statements prepared on it."""

    def __init__(self, connect: Connect, threads: Executor | None) -> None:
        self._connect = connect
        self._threads = threads
        self._driver: psycopg.Connection[Any] | None = None
        self._names: dict[tuple[str, tuple[int, ...] | None], bytes] = {}
        """By statement and the types of its values."""
        self._answer: asyncio.Future[PGresult] | None = None
        self._result: PGresult | None = None

    async def rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        if self._driver is None:
            await self._open()
        converter, pgconn = self._converter, self._pgconn
        dumped = converter.dump_sequence(values, [_AUTO] * len(values))
        types, formats = converter.types, converter.formats
        name = self._names.get((sql, types))
        if name is None:
            name = b"asked_%d" % len(self._names)
            pgconn.send_prepare(name, sql.encode(), types)
            require(pgconn, await self._sent())
            self._names[sql, types] = name
        pgconn.send_query_prepared(name, dumped, formats, Format.BINARY)
        result = await self._sent()
        if result.status != ExecStatus.TUPLES_OK:
            require(pgconn, result)
        converter.set_pgresult(result)
        rows = converter.load_rows(0, result.ntuples, tuple)
        converter.set_pgresult(None)
        return rows

    def close(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            driver.close()
            self._names.clear()
            self._result = self._answer = None

    async def _open(self) -> None:
        driver = await asyncio.get_running_loop().run_in_executor(self._threads, self._connect)
        # All integers get one type, because each size would otherwise make a separate statement.
        driver.adapters.register_dumper(int, Int8BinaryDumper)
        self._driver, self._pgconn, self._socket = driver, driver.pgconn, driver.pgconn.socket
        self._converter = Transformer.from_context(driver)
        self._pgconn.nonblocking = 1
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._read)

    def _sent(self) -> "asyncio.Future[PGresult]":
        """Return a future for the result of the query just passed to libpq."""
        self._answer = self._loop.create_future()
        if self._pgconn.flush():
            self._loop.add_writer(self._socket, self._write)
        return self._answer

    def _write(self) -> None:
        """The socket is writable again: send the rest."""
        try:
            left = self._pgconn.flush()
        except psycopg.Error as error:
            self._break(error)
        else:
            if not left:
                self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        """Something came: of the answer, or that the server is gone."""
        pgconn = self._pgconn
        try:
            pgconn.consume_input()
            while not pgconn.is_busy():
                result = pgconn.get_result()
                if result is None:
                    self._end()
                    return
                self._result = result
        except psycopg.Error as error:
            self._break(error)

    def _end(self) -> None:
        """The answer is complete; without one it was a notice, or the end of the connection."""
        result, self._result = self._result, None
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done() and result is not None:
            answer.set_result(result)
        elif self._pgconn.status == ConnStatus.BAD:
            self.close()

    def _break(self, error: psycopg.Error) -> None:
        answer = self._answer
        self.close()
        if answer is not None and not answer.done():
            answer.set_exception(error)
