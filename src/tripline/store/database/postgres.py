"""The shared store: PostgreSQL, a few threads with a connection each.

A commit that returned is on the disk of the server (`synchronous_commit`), whatever happens to us. Ordinary writes are
SERIALIZABLE and run again when they collide, so a rule that reads before it writes holds however many processes write.
Batches that take their locks themselves run READ COMMITTED (`docs/locks.md`). Reads see one snapshot.

A connection that broke is replaced before the next work; only work of which nothing was sent yet is tried again. No
work takes longer than its crew's limit, whatever server or network do: its connection is cut then.

Where a batch and an ordinary write want each other's rows the write gives way: it waits for locks a short time only.

Not here: tables (`tables/`), migrations (`store/migrate.py`), what goes over LISTEN and NOTIFY (`adapters/`).
"""

import asyncio
import contextlib
import functools
import logging
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias, TypeVar

import psycopg
from psycopg import errors
from psycopg.types.string import StrDumperUnknown
from sqlalchemy import Connection, Engine, NullPool, create_engine, exc, text
from sqlalchemy.util import LRUCache

from tripline.observe import logger
from tripline.ports.outages import Fault, Outage
from tripline.store.database import faults, postgres_faults
from tripline.store.database.faults import Troubles
from tripline.store.database.postgres_queries import Asker
from tripline.store.database.postgres_statements import Statements, require
from tripline.store.transactions import Hot, ReadTx, WriteTx

T = TypeVar("T")
Connect: TypeAlias = Callable[[str], psycopg.Connection[Any]]
CONNECT_S: Final = 5
LONGEST_IDLE_S: Final = 15
"""After so long without a word inside a transaction the server gives it up: whoever began it is gone."""
TRIES: Final = 12
"""Runs of a work that collides with others; the pauses between grow to some tenths of a second."""
LONGEST_READ_S: Final = 60.0
LONGEST_WRITE_S: Final = 120.0
LONGEST_BATCH_S: Final = 20.0
"""How long a work may take with all its tries; then nobody waits any more, and its connection is cut. A registration
of 100,000 vehicles that is all or none takes the better part of a write's."""
LOCK_WAIT: Final = "400ms"
"""How long an ordinary write waits for a lock before it gives way and tries again; batches wait ten seconds."""
TRIES_AGAINST_RULES: Final = 3
"""Runs of a work that broke a rule between rows: what it looked up before may have become untrue meanwhile."""
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
_COLLISIONS: Final = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
    errors.InvalidSqlStatementName,  # with something between us and the server that had it forget what was prepared
)
_BROKEN_RULES: Final = (psycopg.IntegrityError, exc.IntegrityError)
_AWAY: Final = (psycopg.OperationalError, psycopg.InterfaceError, errors.IdleInTransactionSessionTimeout)
"""What a connection that broke while nobody used it may answer to the next `BEGIN`."""
_BEGIN_READ: Final = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_NO_BEGIN: Final = b""
"""Each statement is a transaction by itself: two round trips to the server less."""
_BEGIN_WRITE: Final = b"BEGIN ISOLATION LEVEL SERIALIZABLE"
_BEGIN_LOCKED: Final = b"BEGIN ISOLATION LEVEL READ COMMITTED"
_COMMIT: Final = b"COMMIT"
_ROLLBACK: Final = b"ROLLBACK"
logging.getLogger("psycopg").addHandler(logging.NullHandler())  # its own words are no events; ours say what it meant
_log = logger("store")


class PostgresTx(WriteTx):
    """A transaction on PostgreSQL."""

    shared = True

    def __init__(self, connection: Connection, statements: Statements | None = None) -> None:
        """`statements`: what is prepared on the same connection, kept from one transaction to the next."""
        super().__init__(connection)
        self._statements = Statements(self._driver) if statements is None else statements

    def hot(self, statement: Hot, *values: Any) -> list[tuple[Any, ...]]:
        """Every row of a hot statement, as the driver gives them."""
        text, order, constants = statement.compiled(self._dialect)
        values += constants
        return self._statements.rows(text, [values[i] for i in order])

    def run_sql(self, sql: str, values: Sequence[Any]) -> int:
        """Execute driver SQL with positional values."""
        return self._statements.run(sql, values)

    def copy(self, sql: str, types: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> int:
        """Append very many rows with COPY; how many."""
        with self._driver.cursor() as cursor:
            with cursor.copy(sql) as copy:
                copy.set_types(types)
                for row in rows:
                    copy.write_row(row)
            count: int = cursor.rowcount
        return count


class _AnyText(StrDumperUnknown):
    """Text as PostgreSQL takes it: NUL and halves of surrogate pairs, which it does not know, are replaced.

    What is kept holds none of them (`domain/fields.py`): whoever asks for such a name finds nothing, as in SQLite.
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
    """An engine whose connections are in autocommit mode: transactions are begun by hand. Connects when it is used.

    Engines share a dialect once one of them has connected, and with it what is compiled.
    """
    global _first
    pool = NullPool(functools.partial(connect, url), reset_on_return=None)  # type: ignore[arg-type]
    # An unexpected error is logged with its text, which must not hold anybody's values.
    options: Any = {"hide_parameters": True, "execution_options": {"compiled_cache": _COMPILED}}
    # A dialect learns from its first connection what its server can do.
    if _first is not None and _first.dialect.server_version_info is not None:
        return Engine(pool, _first.dialect, _first.url, **options)
    _first = create_engine("postgresql+psycopg://", pool=pool, **options)
    return _first


class _Lane:
    """One connection, opened when it is needed, and the transaction discipline on it."""

    def __init__(self, engine: Engine, troubles: Troubles, lock_wait: str | None) -> None:
        self._engine = engine
        self._troubles = troubles
        self._lock_wait = lock_wait
        self._connection: Connection | None = None
        self._driver: Any = None
        self._statements: Statements | None = None

    def work(self, work: Callable[[Any], T], begin: bytes) -> T:
        """Run the work inside one transaction. Raises `Outage`, and `_COLLISIONS` as they come."""
        try:
            tx = self._begun(begin)
            try:
                result = work(tx)
            except BaseException:
                self._roll_back()
                raise
            if begin is _NO_BEGIN:
                return result
            _command(self._driver, _COMMIT)
            if begin is not _BEGIN_READ:
                self._troubles.committed()
        except (psycopg.Error, exc.DBAPIError) as error:
            cause = getattr(error, "orig", None) or error
            if begin is _NO_BEGIN and isinstance(cause, _AWAY):
                # The connection may have broken while nobody used it, which `BEGIN` would have shown.
                self.close()
                return self.work(work, _BEGIN_READ)
            self._roll_back()
            if isinstance(cause, errors.InvalidSqlStatementName) and self._statements is not None:
                self._statements.forget()
            if isinstance(cause, _COLLISIONS):
                raise cause from error
            if (outage := postgres_faults.of_postgres(cause)) is not None:
                raise self._troubles.meet(outage) from error
            raise
        return result

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()

    def cut(self) -> None:
        """Break the connection under a work that waits for the server; called from another thread."""
        driver = self._driver
        if driver is not None:
            with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(driver.fileno())) as wire:
                wire.shutdown(socket.SHUT_RDWR)

    def _begun(self, begin: bytes) -> PostgresTx:
        if self._connection is not None:
            try:
                if begin is not _NO_BEGIN:
                    _command(self._driver, begin)
            except _AWAY:
                self.close()
            else:
                return PostgresTx(self._connection, self._statements)
        self._connection = self._engine.connect()
        self._driver = self._connection.connection.driver_connection
        self._statements = Statements(self._driver)
        if self._lock_wait is not None:
            self._driver.execute(f"SET lock_timeout = '{self._lock_wait}'")
        if begin is not _NO_BEGIN:
            _command(self._driver, begin)
        return PostgresTx(self._connection, self._statements)

    def _roll_back(self) -> None:
        if self._connection is None:
            return
        try:
            _command(self._driver, _ROLLBACK)
        except psycopg.Error:
            self.close()


def _command(driver: Any, command: bytes) -> None:
    """Run a command that answers nothing; without a cursor it takes a third of the time. Raises psycopg's errors."""
    require(driver.pgconn, driver.pgconn.exec_(command))


class _Turn:
    """One work on its way through a thread, which is to be over at some time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lane: _Lane | None = None
        self.late = False

    def begin(self, lane: _Lane) -> None:
        """The lane works on it from now on."""
        with self._lock:
            self._lane = lane

    def end(self) -> None:
        """The lane works on something else from now on."""
        with self._lock:
            self._lane = None

    def cut(self) -> None:
        """Nobody waits any more."""
        with self._lock:
            self.late = True
            if self._lane is not None:
                self._lane.cut()


class _Crew:
    """Threads with a lane each."""

    def __init__(
        self,
        engine: Engine,
        troubles: Troubles,
        threads: int,
        name: str,
        *,
        longest_s: float,
        lock_wait: str | None = None,
    ) -> None:
        self._engine = engine
        self._troubles = troubles
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._longest_s = longest_s
        self._lock_wait = lock_wait
        self._local = threading.local()
        self._lanes: list[_Lane] = []

    async def work(self, work: Callable[[Any], T], begin: bytes) -> T:
        loop = asyncio.get_running_loop()
        turn = _Turn()
        limit = loop.call_later(self._longest_s, turn.cut)
        try:
            result = await loop.run_in_executor(self._threads, self._work, work, begin, turn)
        except asyncio.CancelledError:
            raise  # the thread works on, and is still not to do so for ever
        except BaseException:
            limit.cancel()
            raise
        limit.cancel()
        return result

    def _work(self, work: Callable[[Any], T], begin: bytes, turn: _Turn) -> T:
        lane: _Lane | None = getattr(self._local, "lane", None)
        if lane is None:
            lane = self._local.lane = _Lane(self._engine, self._troubles, self._lock_wait)
            self._lanes.append(lane)
        turn.begin(lane)
        try:
            return self._until_alone(lane, work, begin, turn)
        finally:
            turn.end()

    def _until_alone(self, lane: _Lane, work: Callable[[Any], T], begin: bytes, turn: _Turn) -> T:
        """Run the work until it collides with nobody."""
        for number in range(1, TRIES + 1):
            if turn.late:
                break
            try:
                return lane.work(work, begin)
            except (*_COLLISIONS, *_BROKEN_RULES) as collision:
                if isinstance(collision, _BROKEN_RULES) and number >= TRIES_AGAINST_RULES:
                    raise
                _log.debug("store.collision", turn=number, reason=type(collision).__name__)
                time.sleep(random.uniform(0, 0.002 * 2 ** min(number, 7)))  # noqa: S311  spreads, protects nothing
        raise Outage("The store is too busy.")

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        for lane in self._lanes:
            lane.close()


class PostgresStore:
    """A store that any number of processes share. Connections are opened when they are needed first."""

    def __init__(self, url: str, *, readers: int = 2, writers: int = 4, connect: Connect = connect) -> None:
        self._engine = open_engine(url, connect)
        self.troubles = Troubles()

        def crew(threads: int, name: str, longest_s: float, lock_wait: str | None = None) -> _Crew:
            return _Crew(self._engine, self.troubles, threads, name, longest_s=longest_s, lock_wait=lock_wait)

        self._readers = crew(readers, "store-reader", LONGEST_READ_S)
        self._writers = crew(writers, "store-writer", LONGEST_WRITE_S, LOCK_WAIT)
        self._batches = crew(writers, "store-batch", LONGEST_BATCH_S)
        self._asker = Asker(functools.partial(connect, url), lanes=readers, longest_s=LONGEST_READ_S)

    async def write(self, work: Callable[[WriteTx], T], *, locked: bool = False) -> T:
        """Run the work in one durable transaction, again when it collides with others."""
        if locked:
            return await self._batches.work(work, _BEGIN_LOCKED)
        return await self._writers.work(work, _BEGIN_WRITE)

    async def read(self, work: Callable[[ReadTx], T], *, consistent: bool = True) -> T:
        """Run the work on one consistent view, on a reader thread; not `consistent`: each statement on its own."""
        return await self._readers.work(work, _BEGIN_READ if consistent else _NO_BEGIN)

    async def read_short(self, work: Callable[[ReadTx], T], *, consistent: bool = True) -> T:
        """As `read`: the server is asked over the network, for which the event loop does not wait."""
        return await self.read(work, consistent=consistent)

    async def ask(self, statement: Hot, *values: Any) -> list[tuple[Any, ...]]:
        """Every row of the statement, on its own, without a thread; with one, if the connection proves broken."""
        text, order, constants = statement.compiled(self._engine.dialect)
        every = values + constants
        try:
            return await self._asker.rows(text, [every[i] for i in order])
        except TimeoutError as error:
            raise self.troubles.meet(faults.outage(Fault.AWAY, "no answer in time")) from error
        except psycopg.Error:
            return await self.read(lambda tx: tx.hot(statement, *values), consistent=False)

    async def prove(self) -> None:
        """See whether the server answers; whether it takes writes, every process's heartbeat tells. Raises `Outage`."""
        await self.read(lambda tx: tx.one(text("SELECT 1")))

    @property
    def shared(self) -> bool:
        """Whether processes on other machines may use the database."""
        return True

    @property
    def foreign_commits(self) -> int:
        """Nothing is known of other processes' commits: what is cached must be claimed."""
        return 0

    def alone(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Nothing: claims say what holds."""
        return contextlib.nullcontext()

    async def close(self) -> None:
        """Finish queued work, then close every connection."""
        self._asker.close()
        for crew in (self._batches, self._writers, self._readers):
            await crew.close()
        self._engine.dispose()
