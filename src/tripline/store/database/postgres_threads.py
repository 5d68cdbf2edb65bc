"""Threads with a connection to PostgreSQL each, and the transaction discipline on it.

A broken connection is replaced before the next work; a work is then repeated only if nothing of it was sent. A work
that collides with others runs again. The connection of a work that exceeds the time limit of its threads is cut, also
when the server or the network is slow.

Codes of errors: appendix A of the manual of PostgreSQL. Not here: errors of SQLite, and why no error may be mistaken
(`faults.py`); which threads there are (`postgres.py`), statements (`postgres_statements.py`).
"""

import asyncio
import contextlib
import os
import random
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors
from sqlalchemy import Connection, Engine, exc

from tripline.observe import logger
from tripline.ports.outages import Fault, Outage, StoreOutage
from tripline.store.database.faults import Troubles, outage
from tripline.store.database.postgres_statements import PostgresTx, Statements, require
from tripline.store.transactions import ReadTooLong

T = TypeVar("T")
TRIES: Final = 12
"""Runs of a work that collides with others; the pauses between grow to some tenths of a second."""
TRIES_AGAINST_RULES: Final = 3
"""Runs of a work that broke a rule between rows: the rows that it read may have changed meanwhile."""
_COLLISIONS: Final = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
    errors.InvalidSqlStatementName,  # a pooler between us and the server dropped the prepared statements
)
_BROKEN_RULES: Final = (psycopg.IntegrityError, exc.IntegrityError)
_AWAY: Final = (psycopg.OperationalError, psycopg.InterfaceError, errors.IdleInTransactionSessionTimeout)
"""Errors of the next `BEGIN` on a connection that broke while idle."""
BEGIN_READ: Final = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
NO_BEGIN: Final = b""
"""Each statement is a transaction by itself: two round trips to the server less."""
BEGIN_WRITE: Final = b"BEGIN ISOLATION LEVEL SERIALIZABLE"
BEGIN_LOCKED: Final = b"BEGIN ISOLATION LEVEL READ COMMITTED"
_COMMIT: Final = b"COMMIT"
_ROLLBACK: Final = b"ROLLBACK"
_log = logger("store")


_DISK_FULL: Final = "53100"
_DISK_ERROR: Final = "58030"
_FILE_MISSING: Final = "58P01"
_INTERNAL: Final = "XX"
"""Class of XX000, XX001 and XX002: the server found that something inside it is not as it must be."""
_LIMIT: Final = "54"
"""Class of statements and rows that are too large: the statement is wrong, not the server."""


class _Lane:
    """One connection, opened when it is needed, and the transaction discipline on it."""

    def __init__(self, engine: Engine, troubles: Troubles, settings: str | None, is_limited: bool) -> None:
        """`settings`: a statement for a new connection; `is_limited`: a work that was cut asked for too much."""
        self._engine = engine
        self._troubles = troubles
        self._settings = settings
        self._is_limited = is_limited
        self._was_cut = False
        self._connection: Connection | None = None
        self._driver: Any = None
        self._statements: Statements | None = None

    def work(self, work: Callable[[Any], T], begin: bytes) -> T:
        """Run the work inside one transaction. Raises `Outage`, and `_COLLISIONS` as they come."""
        self._was_cut = False
        try:
            tx = self._begun(begin)
            try:
                result = work(tx)
            except BaseException:
                self._roll_back()
                raise
            if begin is NO_BEGIN:
                return result
            _command(self._driver, _COMMIT)
            if begin is not BEGIN_READ:
                self._troubles.committed()
        except (psycopg.Error, exc.DBAPIError) as error:
            cause = getattr(error, "orig", None) or error
            if self._is_limited and (self._was_cut or isinstance(cause, errors.QueryCanceled)):
                self._roll_back()
                raise ReadTooLong from error
            if begin is NO_BEGIN and isinstance(cause, _AWAY):
                # The connection may have broken while idle, which `BEGIN` would have shown.
                self.close()
                return self.work(work, BEGIN_READ)
            self._roll_back()
            if isinstance(cause, errors.InvalidSqlStatementName) and self._statements is not None:
                self._statements.forget()
            if isinstance(cause, _COLLISIONS):
                raise cause from error
            if (outage := of_postgres(cause)) is not None:
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
        self._was_cut = True
        if driver is not None:
            with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(driver.fileno())) as wire:
                wire.shutdown(socket.SHUT_RDWR)

    def _begun(self, begin: bytes) -> PostgresTx:
        if self._connection is not None:
            try:
                if begin is not NO_BEGIN:
                    _command(self._driver, begin)
            except _AWAY:
                self.close()
            else:
                return PostgresTx(self._connection, self._statements)
        self._connection = self._engine.connect()
        self._driver = self._connection.connection.driver_connection
        self._statements = Statements(self._driver)
        if self._settings is not None:
            self._driver.execute(self._settings)
        if begin is not NO_BEGIN:
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
        """Mark the work as too late, and cut its connection."""
        with self._lock:
            self.late = True
            if self._lane is not None:
                self._lane.cut()


class Threads:
    """Threads with a lane each."""

    def __init__(
        self,
        engine: Engine,
        troubles: Troubles,
        threads: int,
        name: str,
        *,
        longest_s: float,
        settings: str | None = None,
        is_limited: bool = False,
    ) -> None:
        self._engine = engine
        self._troubles = troubles
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._longest_s = longest_s
        self._settings = settings
        self._is_limited = is_limited
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
            lane = self._local.lane = _Lane(self._engine, self._troubles, self._settings, self._is_limited)
            self._lanes.append(lane)
        turn.begin(lane)
        try:
            return self._until_alone(lane, work, begin, turn)
        finally:
            turn.end()

    def _until_alone(self, lane: _Lane, work: Callable[[Any], T], begin: bytes, turn: _Turn) -> T:
        """Run the work until it commits without a collision."""
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


def of_postgres(error: BaseException) -> StoreOutage | None:
    """The outage that the driver's error means; None: it is a bug."""
    if not isinstance(error, psycopg.Error):
        return None
    state = error.sqlstate or ""
    if state.startswith(_INTERNAL) or state == _FILE_MISSING:
        return outage(Fault.DAMAGED, error)
    if state == _DISK_FULL:
        return outage(Fault.FULL, error)
    if state == _DISK_ERROR:
        return outage(Fault.DISK, error)
    if isinstance(error, errors.ReadOnlySqlTransaction):  # a server that stands by for another
        return outage(Fault.READ_ONLY, error)
    if isinstance(error, _AWAY) and not state.startswith(_LIMIT):
        return outage(Fault.AWAY, error)
    return None
