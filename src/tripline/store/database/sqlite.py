"""The embedded store: one SQLite file, one writer thread, a few reader threads for each crew, one inline reader.

WAL with `synchronous=FULL`: a commit that returned survives a power cut. Device messages are written before all other
waiting work. Other processes may use the file at the same time; writers wait for each other up to
`files.BUSY_MS`.
"""

import asyncio
import contextlib
import functools
import math
import sqlite3
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine, StaticPool, create_engine, exc
from sqlalchemy.util import LRUCache

from tripline.ports.outages import Fault, StoreOutage
from tripline.store.database import checkpoints, faults, sqlite_files
from tripline.store.database.faults import Troubles
from tripline.store.transactions import LONGEST_REQUEST_S, Crew, Hot, ReadTooLong, ReadTx, Store, WriteTx

T = TypeVar("T")
PROVED_S: Final = 30.0
"""A commit within this time proves that there can be one: an idle server need not write more often."""
CHECKED_S: Final = 30.0
"""How often a file that was damaged is read as a whole, to see whether it still is."""
READ_CACHE_KIB: Final = 2_048
WRITE_CACHE_KIB: Final = 8_192
"""Pages cached by a connection; dropped ones are in the system's cache still. A reader drops all of them after each
commit: sixteen times as much makes look-ups no faster while devices send, as four times as much does not ingest."""
LOOK_STEPS: Final = 500_000
"""Steps of SQLite's machine between two looks at the clock in a read that is limited: some 20 ms."""
OTHER_READERS: Final = 2
"""Reader threads of each crew except requests."""
_COMPILED: Final[LRUCache[Any, Any]] = LRUCache(1_000)
"""Statement -> its SQL, for every connection: there are fewer statements than this."""


connect = functools.partial(
    sqlite3.connect,
    isolation_level=None,
    check_same_thread=False,
    timeout=sqlite_files.BUSY_MS / 1000,
    cached_statements=512,
)
"""Opens a driver connection that several threads may use in turn."""


def open_engine(path: Path | str, *, read_only: bool = False) -> Engine:
    """An engine over exactly one driver connection, in autocommit mode: transactions are begun by hand."""
    connection: Any = connect(str(path))
    if connection.execute("PRAGMA page_count").fetchone() == (0,):
        # A new file alone can take it. It lets the file shrink later, without being rewritten as a whole.
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    connection.execute("PRAGMA journal_mode=WAL")
    # NORMAL is quicker and loses the newest commits with the power: they were acknowledged.
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA temp_store=MEMORY")
    connection.execute(f"PRAGMA cache_size={-(READ_CACHE_KIB if read_only else WRITE_CACHE_KIB)}")
    # A map of the file is made anew after each commit, which costs a look-up more than reading its few pages; and all
    # that was ever read of it counts as this program's memory.
    connection.execute("PRAGMA mmap_size=0")
    if read_only:
        connection.execute("PRAGMA query_only=ON")
    # SQLite's own knows the letters of ASCII only.
    connection.create_function("lower", 1, _lower, deterministic=True)
    known = _dialect()
    return Engine(
        StaticPool(lambda: connection, reset_on_return=None),
        known.dialect,
        known.url,
        hide_parameters=True,  # an unexpected error is logged with its text, which must not include customers' values
        execution_options={"compiled_cache": _COMPILED},
    )


@functools.cache
def _dialect() -> Engine:
    """An engine of an empty database, to share one dialect: statements are compiled once for all connections."""
    engine = create_engine("sqlite://", poolclass=StaticPool)
    engine.connect().close()  # the dialect learns SQLite's abilities from its first connection
    engine.dispose()
    return engine


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def _identity(path: Path) -> tuple[int, int] | None:
    """The identity of this file; None if it is missing or inaccessible."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class _Lane:
    """One connection and the transaction discipline on it."""

    def __init__(
        self, path: Path | str, troubles: Troubles, *, read_only: bool, longest_s: float | None = None
    ) -> None:
        """`longest_s`: the limit of a work; None: there is none."""
        self._troubles = troubles
        self._longest_s = longest_s
        self._until = math.inf
        with self._outages():
            self._engine = open_engine(path, read_only=read_only)
        # A writer takes the write lock at once: one that only reads at first can fail with BUSY when it writes.
        self._begin = "BEGIN" if read_only else "BEGIN IMMEDIATE"
        self.connection: Connection = self._engine.connect()
        self.driver: sqlite3.Connection = self.connection.connection.driver_connection  # type: ignore[assignment]
        self._tx = ReadTx(self.connection) if read_only else WriteTx(self.connection)
        if longest_s is not None:
            # Steps of earlier statements count, too, so the clock is checked for many short statements as well.
            self.driver.set_progress_handler(lambda: time.monotonic() > self._until, LOOK_STEPS)

    def work(self, work: Callable[[Any], T]) -> T:
        """Run the work inside one transaction. Raises `Outage`, and `ReadTooLong` if it is limited."""
        if self._longest_s is not None:
            self._until = time.monotonic() + self._longest_s
        with self._outages():
            if not self.driver.in_transaction:
                self.driver.execute(self._begin)
            try:
                result = work(self._tx)
            except BaseException:
                self.let_go()
                raise
            self.driver.commit()
        return result

    def look(self, work: Callable[[Any], T]) -> T:
        """Run reading work in the transaction at hand, or in one that begins now; `let_go` ends it. Raises `Outage`."""
        with self._outages():
            if not self.driver.in_transaction:
                self.driver.execute(self._begin)
            return work(self._tx)

    def ask(self, statement: Hot, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Every row of the statement, which is a transaction by itself. Raises `Outage`."""
        with self._outages():
            return self._tx.hot(statement, *values)

    def hold(self) -> None:
        """Begin the next work's transaction now. Raises `Outage`."""
        with self._outages():
            self.driver.execute(self._begin)

    def let_go(self) -> None:
        """Roll back an unfinished transaction."""
        if self.driver.in_transaction:
            with contextlib.suppress(sqlite3.Error):  # SQLite rolls back by itself if this fails
                self.driver.rollback()

    @contextlib.contextmanager
    def _outages(self) -> Iterator[None]:
        """Errors that are not ours become outages."""
        try:
            yield
        except (sqlite3.Error, exc.DBAPIError) as error:
            cause = getattr(error, "orig", None) or error
            if self._longest_s is not None and getattr(cause, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
                self.let_go()
                raise ReadTooLong from error
            outage = faults.of_sqlite(cause)
            if hasattr(self, "driver"):
                self.let_go()
                # The damaged pages may be repaired by now: the next try rereads them.
                with contextlib.suppress(sqlite3.Error):
                    self.driver.execute("PRAGMA shrink_memory")
            if outage is None:
                raise
            raise self._troubles.meet(outage) from error

    def close(self) -> None:
        self.connection.close()
        self.driver.close()


class _Readers:
    """The threads that read for a crew, with a lane each."""

    def __init__(self, threads: int, name: str, longest_s: float | None) -> None:
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix=f"store-reader-{name}")
        self.longest_s = longest_s
        self.local = threading.local()


class _WriteQueue:
    """The writer thread and its queues: works that go first, then the others in their order."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._first: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._others: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    def put(self, work: Callable[[], T], *, first: bool) -> Future[T]:
        """Queue the work; a future of its result."""
        future: Future[T] = Future()
        (self._first if first else self._others).append((future, work))
        self._thread.submit(self._next)
        return future

    def close(self) -> None:
        """Run all queued works, then end the thread."""
        self._thread.shutdown()

    def _next(self) -> None:
        # Each work asks for one turn of the thread, so there is one for this turn: now choose which.
        future, work = (self._first or self._others).popleft()
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  raised where the work was given
            future.set_exception(error)
        else:
            future.set_result(result)


class SqliteStore:
    """The store of a single node. Open it on the event loop's thread."""

    shared = False

    def __init__(
        self,
        path: Path,
        *,
        readers: int = 2,
        checkpoint_s: float = checkpoints.EVERY_S,
        longest_request_s: float = LONGEST_REQUEST_S,
    ) -> None:
        """`readers`: threads that read for requests."""
        self._path = path
        self._checked_at = -CHECKED_S
        self.troubles = Troubles()
        self._writer = _Lane(path, self.troubles, read_only=False)
        self._inline = _Lane(path, self.troubles, read_only=True)
        self._writes = _WriteQueue()
        of_devices = _Readers(OTHER_READERS, "devices", None)
        self._readers = {
            Crew.VITALS: of_devices,
            Crew.DEVICES: of_devices,
            Crew.WORK: _Readers(OTHER_READERS, "work", None),
            Crew.PEOPLE: _Readers(readers, "people", longest_request_s),
        }
        self._read_lanes: list[_Lane] = []
        self._view_end: asyncio.Handle | None = None
        self._version = self._data_version()
        self.foreign_commits = 0
        """How often another process was seen to commit; looked at with the write lock in hand, at every write."""
        # A commit would carry the log over now and then, and devices would wait: `checkpoints` does it beside.
        self._writer.driver.execute("PRAGMA wal_autocheckpoint=0")
        self._file = _identity(path)
        self._checkpoints = checkpoints.Checkpoints(path, every_s=checkpoint_s, finish=self._finish_checkpoint)

    async def write(self, work: Callable[[WriteTx], T], *, locked: bool = False, crew: Crew = Crew.WORK) -> T:
        """Run the work in one durable transaction on the writer thread, the only one that writes."""
        return await self._on_writer(functools.partial(self._write, work), first=crew.goes_first)

    async def read(self, work: Callable[[ReadTx], T], *, consistent: bool = True, crew: Crew = Crew.WORK) -> T:
        """Run the work on one consistent view, on a reader thread."""
        readers = self._readers[crew]
        return await asyncio.get_running_loop().run_in_executor(readers.threads, self._read, readers, work)

    async def read_short(self, work: Callable[[ReadTx], T], *, consistent: bool = True, crew: Crew = Crew.WORK) -> T:
        """Run the work on the event loop itself: a query by key takes less than a thread hop.

        Queries in one turn of the loop share a view. After each commit SQLite rereads every page, which costs more than
        the query; and within a turn the order of commits is invisible anyway.
        """
        if self._view_end is None:
            self._view_end = asyncio.get_running_loop().call_soon(self._end_view)
        return self._inline.look(work)

    async def ask(self, statement: Hot, *values: Any, crew: Crew = Crew.WORK) -> list[tuple[Any, ...]]:
        """Every row of the statement, on the event loop itself."""
        return self._inline.ask(statement, values)

    def of(self, crew: Crew) -> Store:
        """The same file through the threads of this crew."""
        return Store(self, crew)

    async def prove(self, *, crew: Crew = Crew.WORK) -> None:
        """Check that a commit succeeds, unless a recent one did. Raises `Outage`."""
        met = self.troubles.present
        if met is not None and met.fault is Fault.DAMAGED:
            await asyncio.to_thread(self._look_for_damage)
        elif met is not None or self.troubles.since_commit_s >= PROVED_S:
            # Writes the first page, and changes nothing.
            await self.write(lambda tx: tx.run_sql("PRAGMA user_version = 0", ()), crew=crew)

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Inside, no other process commits until this one does; see `Store`."""
        try:
            await self._on_writer(self._hold, first=True)
            yield
        finally:
            await self._on_writer(self._writer.let_go, first=True)

    async def close(self) -> None:
        """Finish queued work, then close every connection."""
        await asyncio.to_thread(self._end_threads)
        self._end_view()
        for lane in (*self._read_lanes, self._inline, self._writer):
            lane.close()

    def _end_threads(self) -> None:
        self._checkpoints.close()
        self._writes.close()
        for readers in self._readers.values():
            readers.threads.shutdown()

    def _end_view(self) -> None:
        if self._view_end is not None:
            # Closing calls this too; the turn's own end must not come behind it.
            self._view_end.cancel()
            self._view_end = None
            self._inline.let_go()

    def _look_for_damage(self) -> None:
        """Clear a damage report once the whole file is sound; large files are not checked while in use."""
        now = time.monotonic()
        if now - self._checked_at >= CHECKED_S and sqlite_files.is_quick(self._path):
            self._checked_at = now
            with contextlib.suppress(sqlite3.Error):
                if not sqlite_files.damage(self._path):
                    self.troubles.mended()

    def _write(self, work: Callable[[WriteTx], T]) -> T:
        if _identity(self._path) != self._file:
            # Data written to an unlinked file is lost when the last program closes it.
            text = f"The store cannot be used: {self._path} was removed or replaced while the server runs; restart it"
            raise self.troubles.meet(StoreOutage(Fault.AWAY, text))

        def noticing(tx: WriteTx) -> T:
            self._notice()
            return work(tx)

        result = self._writer.work(noticing)
        self.troubles.committed()
        self._checkpoints.written()
        return result

    def _hold(self) -> None:
        if not self._writer.driver.in_transaction:
            self._writer.hold()
            self._notice()

    def _notice(self) -> None:
        version = self._data_version()
        if version != self._version:
            self._version = version
            self.foreign_commits += 1

    def _finish_checkpoint(self, within_s: float) -> bool:
        until = time.monotonic() + within_s

        def finish() -> bool:
            if time.monotonic() > until:
                return False
            checkpoints.carry_over(self._writer.driver)
            return True

        return self._writes.put(finish, first=False).result()

    async def _on_writer(self, work: Callable[[], T], *, first: bool) -> T:
        return await asyncio.wrap_future(self._writes.put(work, first=first))

    def _read(self, readers: _Readers, work: Callable[[ReadTx], T]) -> T:
        lane: _Lane | None = getattr(readers.local, "lane", None)
        if lane is None:
            lane = _Lane(self._path, self.troubles, read_only=True, longest_s=readers.longest_s)
            readers.local.lane = lane
            self._read_lanes.append(lane)
        return lane.work(work)

    def _data_version(self) -> int:
        # Asked on the writing connection, so our own commits do not count.
        version: int = self._writer.driver.execute("PRAGMA data_version").fetchone()[0]
        return version
