"""The shared store: PostgreSQL, a few threads with a connection each, for each crew.

A commit that returned is on the disk of the server (`synchronous_commit`) and survives our process. Ordinary writes are
SERIALIZABLE and run again when they collide, so a rule that reads before it writes holds however many processes write.
Works that take their locks themselves run READ COMMITTED (`docs/locks.md`). Reads see one snapshot.

When a batch and an ordinary write compete for rows, the write gives way: it waits only briefly for locks.

`Asker` runs single statements on the event loop, over separate connections: libpq sends, the loop watches for the
answer. A hop to a thread and back, and a transaction around one statement, cost more than the statement
(`docs/decisions/708-a-page-is-one-statement.md`).

Not here: tables (`tables/`), migrations (`store/migrate.py`), LISTEN and NOTIFY (`adapters/`).
"""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGresult
from psycopg.types.numeric import Int8BinaryDumper
from psycopg.types.string import StrDumperUnknown
from sqlalchemy import Engine, NullPool, create_engine, text
from sqlalchemy.util import LRUCache

from tripline.ports.outages import Fault
from tripline.store.database import faults
from tripline.store.database.faults import Troubles
from tripline.store.database.postgres_statements import require
from tripline.store.database.postgres_threads import BEGIN_LOCKED, BEGIN_READ, BEGIN_WRITE, NO_BEGIN, Threads
from tripline.store.transactions import LONGEST_REQUEST_S, Crew, Hot, ReadTx, Store, WriteTx

Connects: TypeAlias = Callable[[], psycopg.Connection[Any]]
_AUTO: Final = PyFormat.AUTO


class Asker:
    """A few connections, opened when they are needed, each with one statement at a time. Belongs to one event loop."""

    def __init__(self, connect: Connects, *, lanes: int, longest_s: float, threads: Executor | None = None) -> None:
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

    def __init__(self, connect: Connects, threads: Executor | None) -> None:
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


T = TypeVar("T")
Connect: TypeAlias = Callable[[str], psycopg.Connection[Any]]
CONNECT_S: Final = 5
LONGEST_IDLE_S: Final = 15
"""The server ends a transaction whose client sends nothing for so long: it takes the client for dead."""
OTHER_READERS: Final = 2
OTHER_WRITERS: Final = 2
"""Threads of the crews for devices and background work: readers, and writers of ordinary transactions."""
LONGEST_READ_S: Final = 60.0
LONGEST_WRITE_S: Final = 120.0
LONGEST_BATCH_S: Final = 20.0
"""How long a work may take with all its tries; then it is given up, and its connection is cut. A registration
of 100,000 vehicles that is all or none takes the better part of a write's."""
LOCK_WAIT: Final = "400ms"
"""How long an ordinary write waits for a lock before it gives way and tries again; batches wait ten seconds."""
_OPTIONS: Final = {
    "connect_timeout": CONNECT_S,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 11_000,
    "application_name": "tripline",
    "options": f"-c idle_in_transaction_session_timeout={LONGEST_IDLE_S}s -c lock_timeout=10s -c timezone=UTC"
    " -c synchronous_commit=on -c jit=off -c client_connection_check_interval=5s",
}
_COMPILED: Final[LRUCache[Any, Any]] = LRUCache(1_000)
"""Statement -> its SQL, for every connection: there are fewer statements than this."""
_first: Engine | None = None  # whose dialect later ones share
logging.getLogger("psycopg").addHandler(logging.NullHandler())  # its messages are not our log events


class _AnyText(StrDumperUnknown):
    """Text as PostgreSQL accepts it: NUL and halves of surrogate pairs, which it rejects, are replaced.

    Stored text contains neither (`domain/fields.py`), so a search for such a name finds nothing, as in SQLite.
    """

    def dump(self, obj: str) -> Any:
        try:
            return super().dump(obj)
        except (psycopg.DataError, UnicodeEncodeError):
            known = obj.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            return super().dump(known.replace("\0", "\ufffd"))


def connect(url: str, kind: type[psycopg.Connection[Any]] = psycopg.Connection) -> psycopg.Connection[Any]:
    """A connection as the store uses them."""
    connection = kind.connect(url, autocommit=True, **_OPTIONS)  # type: ignore[arg-type]
    connection.adapters.register_dumper(str, _AnyText)
    return connection


def open_engine(url: str, connect: Connect = connect) -> Engine:
    """Create an engine with autocommit connections, since we begin transactions by hand. Connects on first use.

    Engines share a dialect, with its compiled statements, once one of them has connected.
    """
    global _first
    pool = NullPool(functools.partial(connect, url), reset_on_return=None)  # type: ignore[arg-type]
    # An unexpected error is logged with its text, which must not include customers' values.
    options: Any = {"hide_parameters": True, "execution_options": {"compiled_cache": _COMPILED}}
    # A dialect learns the server's abilities from its first connection.
    if _first is not None and _first.dialect.server_version_info is not None:
        return Engine(pool, _first.dialect, _first.url, **options)
    _first = create_engine("postgresql+psycopg://", pool=pool, **options)
    return _first


class _OfCrew(NamedTuple):
    """The threads of one crew, by kind of work."""

    readers: Threads
    writers: Threads
    batches: Threads
    asker: Asker


class PostgresStore:
    """A store that any number of processes share. Connections are opened when they are needed first."""

    shared = True
    foreign_commits = 0
    """Commits of other processes are unknown, so caches must be claimed."""

    def __init__(
        self,
        url: str,
        *,
        readers: int = 2,
        writers: int = 4,
        connect: Connect = connect,
        longest_request_s: float = LONGEST_REQUEST_S,
    ) -> None:
        """`readers`: half of the threads that read for requests; `writers`: threads that write for requests. As many as
        `writers` write batches of devices, and half as many write batches of background work."""
        self._engine = open_engine(url, connect)
        self.troubles = Troubles()
        self._openers = ThreadPoolExecutor(1, thread_name_prefix="store-opener")

        def crew(threads: int, name: str, longest_s: float, settings: str | None = None, **more: Any) -> Threads:
            name = f"store-{name}"
            return Threads(self._engine, self.troubles, threads, name, longest_s=longest_s, settings=settings, **more)

        def crews(of: Crew, reading: int, writing: int, batches: int) -> _OfCrew:
            name = of.name.lower()
            is_limited = of is Crew.PEOPLE
            longest_s = longest_request_s if is_limited else LONGEST_READ_S
            # The server gives a statement up by itself: it would else work on for a connection that was cut.
            timeout = f"SET statement_timeout = {round(longest_s * 1000)}" if is_limited else None
            asker = Asker(
                functools.partial(connect, url), lanes=reading, longest_s=LONGEST_READ_S, threads=self._openers
            )
            return _OfCrew(
                crew(reading, f"reader-{name}", longest_s, timeout, is_limited=is_limited),
                crew(writing, f"writer-{name}", LONGEST_WRITE_S, f"SET lock_timeout = '{LOCK_WAIT}'"),
                crew(batches, f"batch-{name}", LONGEST_BATCH_S),
                asker,
            )

        self._crews = {
            Crew.VITALS: crews(Crew.VITALS, 1, 1, 1),
            Crew.DEVICES: crews(Crew.DEVICES, OTHER_READERS, OTHER_WRITERS, writers),
            Crew.WORK: crews(Crew.WORK, OTHER_READERS, OTHER_WRITERS, max(writers // 2, 1)),
            # Twice as many, so that one account can have `readers` and others find some free.
            Crew.PEOPLE: crews(Crew.PEOPLE, 2 * readers, writers, writers),
        }

    async def write(self, work: Callable[[WriteTx], T], *, locked: bool = False, crew: Crew = Crew.WORK) -> T:
        """Run the work in one durable transaction, again when it collides with others."""
        if locked:
            return await self._crews[crew].batches.work(work, BEGIN_LOCKED)
        return await self._crews[crew].writers.work(work, BEGIN_WRITE)

    async def read(self, work: Callable[[ReadTx], T], *, consistent: bool = True, crew: Crew = Crew.WORK) -> T:
        """Run the work on one consistent view, on a reader thread; not `consistent`: each statement on its own."""
        return await self._crews[crew].readers.work(work, BEGIN_READ if consistent else NO_BEGIN)

    async def read_short(self, work: Callable[[ReadTx], T], *, consistent: bool = True, crew: Crew = Crew.WORK) -> T:
        """As `read`: the event loop does not wait for a query over the network."""
        return await self.read(work, consistent=consistent, crew=crew)

    async def ask(self, statement: Hot, *values: Any, crew: Crew = Crew.WORK) -> list[tuple[Any, ...]]:
        """Every row of the statement, on its own, without a thread; with one, if the connection proves broken."""
        text, order, constants = statement.compiled(self._engine.dialect)
        every = values + constants
        try:
            return await self._crews[crew].asker.rows(text, [every[i] for i in order])
        except TimeoutError as error:
            raise self.troubles.meet(faults.outage(Fault.AWAY, "no answer in time")) from error
        except psycopg.Error:
            return await self.read(lambda tx: tx.hot(statement, *values), consistent=False, crew=crew)

    def of(self, crew: Crew) -> Store:
        """The same database through the threads of this crew."""
        return Store(self, crew)

    async def prove(self, *, crew: Crew = Crew.WORK) -> None:
        """Check that the server answers; the heartbeat of every process checks writes. Raises `Outage`."""
        await self.read(lambda tx: tx.one(text("SELECT 1")), crew=crew)

    def alone(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Do nothing: claims protect cached state here."""
        return contextlib.nullcontext()

    async def close(self) -> None:
        """Finish queued work, then close every connection."""
        for crews in self._crews.values():
            crews.asker.close()
            for crew in (crews.batches, crews.writers, crews.readers):
                await crew.close()
        await asyncio.to_thread(self._openers.shutdown)
        self._engine.dispose()
