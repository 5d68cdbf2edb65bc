"""The shared store: PostgreSQL, a few threads with a connection each.

A commit that returned is on the disk of the server (`synchronous_commit`), whatever happens to us. Ordinary writes are
SERIALIZABLE and run again when they collide, so a rule that reads before it writes holds however many processes write.
Batches that take their locks themselves run READ COMMITTED (`docs/locks.md`). Reads see one snapshot.

A connection that broke is replaced before the next work; only work of which nothing was sent yet is tried again.

Not here: tables (`tables/`), migrations (`migrate.py`), what goes over LISTEN and NOTIFY (`adapters/`).
"""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors
from sqlalchemy import Connection, Engine, NullPool, create_engine, exc

from tripline.observe import logger
from tripline.ports import Outage
from tripline.store.transactions import Hot, ReadTx, WriteTx

T = TypeVar("T")
CONNECT_S: Final = 5
LONGEST_IDLE_S: Final = 15
"""After so long without a word inside a transaction the server gives it up: whoever began it is gone."""
TRIES: Final = 12
"""Runs of a work that collides with others; the pauses between grow to some tenths of a second."""
_OPTIONS: Final = {
    "connect_timeout": CONNECT_S,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 11_000,
    "application_name": "tripline",
    "options": f"-c idle_in_transaction_session_timeout={LONGEST_IDLE_S}s -c lock_timeout=10s -c timezone=UTC"
    " -c synchronous_commit=on -c jit=off",
}
_COLLISIONS: Final = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)
_AWAY: Final = (psycopg.OperationalError, psycopg.InterfaceError)
_BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BEGIN_WRITE: Final = "BEGIN ISOLATION LEVEL SERIALIZABLE"
_BEGIN_LOCKED: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_log = logger("store")


class PostgresTx(WriteTx):
    """A transaction on PostgreSQL."""

    shared = True

    def hot(self, statement: Hot, *values: Any) -> list[tuple[Any, ...]]:
        """Every row of a hot statement, as the driver gives them."""
        text, order, constants = statement.compiled(self._dialect)
        values += constants
        cursor = self._driver.execute(text, tuple([values[i] for i in order]))
        return cursor.fetchall() if cursor.description is not None else []

    def copy(self, sql: str, types: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> int:
        """Append very many rows with COPY; how many."""
        with self._driver.cursor() as cursor:
            with cursor.copy(sql) as copy:
                copy.set_types(types)
                for row in rows:
                    copy.write_row(row)
            count: int = cursor.rowcount
        return count


def open_engine(url: str) -> Engine:
    """An engine whose connections are in autocommit mode: transactions are begun by hand. Connects when it is used."""

    def connect() -> psycopg.Connection[Any]:
        return psycopg.connect(url, autocommit=True, **_OPTIONS)  # type: ignore[arg-type]

    return create_engine(
        "postgresql+psycopg://",
        creator=connect,
        poolclass=NullPool,
        pool_reset_on_return=None,
        hide_parameters=True,  # an unexpected error is logged with its text, which must not hold anybody's values
    )


class _Lane:
    """One connection, opened when it is needed, and the transaction discipline on it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._driver: Any = None

    def work(self, work: Callable[[Any], T], begin: str) -> T:
        """Run the work inside one transaction. Raises `Outage`, and `_COLLISIONS` as they come."""
        try:
            tx = self._begun(begin)
            try:
                result = work(tx)
            except BaseException:
                self._roll_back()
                raise
            self._driver.execute("COMMIT")
        except (*_AWAY, exc.OperationalError, exc.InterfaceError) as error:
            cause = getattr(error, "orig", None) or error
            self._roll_back()
            if isinstance(cause, _COLLISIONS):
                raise cause from error
            raise Outage(f"The store cannot be used: {_first_line(cause)}") from error
        return result

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()

    def _begun(self, begin: str) -> PostgresTx:
        if self._connection is not None:
            try:
                self._driver.execute(begin)
            except _AWAY:
                self.close()
            else:
                return PostgresTx(self._connection)
        self._connection = self._engine.connect()
        self._driver = self._connection.connection.driver_connection
        self._driver.execute(begin)
        return PostgresTx(self._connection)

    def _roll_back(self) -> None:
        if self._connection is None:
            return
        try:
            self._driver.execute("ROLLBACK")
        except psycopg.Error:
            self.close()


def _first_line(error: object) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


class _Crew:
    """Threads with a lane each."""

    def __init__(self, engine: Engine, threads: int, name: str) -> None:
        self._engine = engine
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._local = threading.local()
        self._lanes: list[_Lane] = []

    async def work(self, work: Callable[[Any], T], begin: str) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._work, work, begin)

    def _work(self, work: Callable[[Any], T], begin: str) -> T:
        lane: _Lane | None = getattr(self._local, "lane", None)
        if lane is None:
            lane = self._local.lane = _Lane(self._engine)
            self._lanes.append(lane)
        for turn in range(1, TRIES):
            try:
                return lane.work(work, begin)
            except _COLLISIONS as collision:
                _log.debug("store.collision", turn=turn, reason=type(collision).__name__)
                time.sleep(random.uniform(0, 0.002 * 2 ** min(turn, 7)))  # noqa: S311  spreads, protects nothing
        try:
            return lane.work(work, begin)
        except _COLLISIONS as collision:
            raise Outage(f"The store is too busy: {_first_line(collision)}") from collision

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        for lane in self._lanes:
            lane.close()


class PostgresStore:
    """A store that any number of processes share. Connections are opened when they are needed first."""

    def __init__(self, url: str, *, readers: int = 2, writers: int = 4) -> None:
        self._engine = open_engine(url)
        self._readers = _Crew(self._engine, readers, "store-reader")
        self._writers = _Crew(self._engine, writers, "store-writer")
        self._batches = _Crew(self._engine, writers, "store-batch")

    async def write(self, work: Callable[[WriteTx], T], *, locked: bool = False) -> T:
        """Run the work in one durable transaction, again when it collides with others."""
        if locked:
            return await self._batches.work(work, _BEGIN_LOCKED)
        return await self._writers.work(work, _BEGIN_WRITE)

    async def read(self, work: Callable[[ReadTx], T]) -> T:
        """Run the work on one consistent view, on a reader thread."""
        return await self._readers.work(work, _BEGIN_READ)

    async def read_short(self, work: Callable[[ReadTx], T]) -> T:
        """As `read`: the server is asked over the network, for which the event loop does not wait."""
        return await self._readers.work(work, _BEGIN_READ)

    @property
    def shared(self) -> bool:
        """Whether processes on other machines may use the database."""
        return True

    @property
    def foreign_commits(self) -> int:
        """Nothing is known of other processes' commits: what is cached must be claimed."""
        return 0

    async def close(self) -> None:
        """Finish queued work, then close every connection."""
        for crew in (self._batches, self._writers, self._readers):
            await crew.close()
        self._engine.dispose()
