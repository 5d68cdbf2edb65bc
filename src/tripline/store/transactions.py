"""Transactions and statements, as the rest of the program sees a database.

Services take a `ReadTx` or `WriteTx` and never commit; handlers and workers open them. Statements are
SQLAlchemy Core; those on a hot path are wrapped in `Hot`, compiled once per dialect, and run on the driver's own
connection with
positional parameters.

The SQLite adapter is `store/database/sqlite.py`.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from typing import Any, ClassVar, Final, Protocol, TypeAlias, TypeVar

from sqlalchemy import (
    ARRAY,
    BindParameter,
    ColumnElement,
    Connection,
    Dialect,
    Row,
    Text,
    bindparam,
    cast,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.sql import ClauseElement, Executable, visitors
from sqlalchemy.sql.compiler import SQLCompiler

from tripline.domain.refusals import Kind, TryLater
from tripline.store.database.faults import Troubles

T = TypeVar("T")
AnyRow: TypeAlias = Row[*tuple[Any, ...]]
"""A row of an answer: its columns by position, and by name as attributes."""
AMONG: Final = 500
"""Keys in one statement."""
LONGEST_REQUEST_S: Final = 20.0
"""How long a read of a request may take, without its wait for a thread."""


class Crew(Enum):
    """The purpose of a transaction. Each crew has threads and connections of its own, so none waits for another."""

    VITALS = auto()
    """Heartbeats and readiness: how others see that the process is alive."""
    DEVICES = auto()
    """Everything between a device and its acknowledgement; connections and calls of devices."""
    WORK = auto()
    """Background work: scoring, pushing, exporting, erasing; and commands."""
    PEOPLE = auto()
    """Requests of people and applications. Their reads are bounded in time."""

    @property
    def goes_first(self) -> bool:
        """Its writes precede the other crews' where there is one writer."""
        return self in (Crew.VITALS, Crew.DEVICES)


class ReadTooLong(TryLater):
    """A read of a request took longer than one may, and was given up."""

    code = "read.too_long"
    kind = Kind.BUSY

    def __init__(self) -> None:
        super().__init__(after_s=round(LONGEST_REQUEST_S), seconds=round(LONGEST_REQUEST_S))


class Hot:
    """A statement compiled once per dialect; its parameters are given by position, in the order of `names`."""

    def __init__(self, statement: ClauseElement, *names: str) -> None:
        self._statement = statement
        self._names = names
        self._sql: dict[str, tuple[str, tuple[int, ...], tuple[Any, ...]]] = {}

    @functools.cached_property
    def in_every_range(self) -> "Hot":
        """Build a statement that runs once per range: its last two names, the bounds of one range, become lists of
        lower and upper bounds. For databases with LATERAL."""
        *names, low, high = self._names
        lists = (cast(bindparam(name, type_=ARRAY(Text)), ARRAY(Text)) for name in (low, high))
        bounds = func.unnest(*lists).table_valued(low, high).render_derived(name="bounds")

        def bound(element: Any, **_: Any) -> Any:
            inside = isinstance(element, BindParameter) and element.key in {low, high}
            # By its text, so that no inner SELECT takes it for a table of its own.
            return literal_column(f"bounds.{element.key}", element.type) if inside else None

        each: Any = visitors.replacement_traverse(self._statement, {}, bound)
        found = each.lateral("found")
        return Hot(select(found).select_from(bounds.join(found, true())), *names, low, high)

    def compiled(self, dialect: Dialect) -> tuple[str, tuple[int, ...], tuple[Any, ...]]:
        """Return the SQL text, for each placeholder the position of its value among `names` and the constants, and the
        statement's own constants."""
        known = self._sql.get(dialect.name)
        if known is None:
            compiled = self._statement.compile(dialect=_by_position(dialect))
            assert isinstance(compiled, SQLCompiler)
            own = [name for name in compiled.positiontup or () if name not in self._names]
            names = [*self._names, *own]
            order = tuple(names.index(name) for name in compiled.positiontup or ())
            constants = tuple(compiled.params[name] for name in own)
            known = self._sql[dialect.name] = (str(compiled), order, constants)
        return known


def counting(column: ColumnElement[Any]) -> Hot:
    """Return the statement that counts the rows with a value in this column, for `ReadTx.number`."""
    return Hot(select(func.count()).where(column == bindparam("value")), "value")


def _by_position(dialect: Dialect) -> Dialect:
    """The dialect for hot statements: usual placeholders of PostgreSQL's driver have names."""
    kind: Any = type(dialect)  # each dialect has options of its own
    return dialect if dialect.positional else kind(paramstyle="numeric_dollar")


class ReadTx:
    """A consistent view of the rows."""

    shared: ClassVar[bool] = False
    """True if processes on other machines may also use the database."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._dialect = connection.dialect
        self._driver: Any = connection.connection.driver_connection

    def all(self, statement: Executable, parameters: Any = None) -> Sequence[AnyRow]:
        """Every row of the answer."""
        return self.connection.execute(statement, parameters).all()

    def all_among(self, keys: Iterable[Any], statement: Executable) -> list[AnyRow]:
        """Every row of a statement for some of the keys at a time, in order: its value `among`. None is no key."""
        ordered = sorted(key for key in keys if key is not None)
        parts = (ordered[start : start + AMONG] for start in range(0, len(ordered), AMONG))
        return [row for part in parts for row in self.all(statement, {"among": part})]

    def one(self, statement: Executable, parameters: Any = None) -> AnyRow | None:
        """The only row of the answer, or None."""
        return self.connection.execute(statement, parameters).one_or_none()

    def count(self, *conditions: ColumnElement[bool]) -> int:
        """How many rows meet the conditions, which name their table."""
        return int(self.all(select(func.count()).where(*conditions))[0][0])

    def hot(self, statement: Hot, *values: Any) -> list[tuple[Any, ...]]:
        """Every row of a hot statement, as the driver gives them."""
        sql, order, constants = statement.compiled(self._dialect)
        values += constants
        rows: list[tuple[Any, ...]] = self._driver.execute(sql, tuple([values[i] for i in order])).fetchall()
        return rows

    def number(self, statement: Hot, *values: Any) -> int:
        """The number that a hot statement counts or finds."""
        found: int = self.hot(statement, *values)[0][0]
        return found

    def hot_in(self, ranges: Sequence[tuple[str, str]], statement: Hot, *values: Any) -> list[tuple[Any, ...]]:
        """Every row of a hot statement in each of the ranges, whose bounds are its last two values.

        A shared database gets one statement: each way there and back takes longer than looking for a few rows.
        """
        if self.shared and len(ranges) > 1:
            return self.hot(statement.in_every_range, *values, *(list(bounds) for bounds in zip(*ranges, strict=True)))
        return [row for bounds in ranges for row in self.hot(statement, *values, *bounds)]


class WriteTx(ReadTx):
    """A transaction that changes rows; commits when the work that got it returns."""

    to_refresh: tuple[dict[str, None], dict[str, None]] | None = None
    """Vehicles and sensors that `reach.together` refreshes once; None: each change refreshes its own."""

    def run(self, statement: Executable, parameters: Any = None) -> int:
        """Execute; the number of rows touched."""
        return self.connection.execute(statement, parameters).rowcount

    def run_sql(self, sql: str, values: Sequence[Any]) -> int:
        """Execute driver SQL with positional values: the multi-row statements of `store/bulk.py`."""
        count: int = self._driver.execute(sql, values).rowcount
        return count

    def copy(self, sql: str, types: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> int:
        """Append very many rows with COPY, where the database has it; how many."""
        raise NotImplementedError


class Database(Protocol):
    """A database with threads of its own for every crew; adapters implement it. See `Store`."""

    troubles: Troubles
    shared: bool

    async def write(self, work: Callable[[WriteTx], T], *, locked: bool = False, crew: Crew = Crew.WORK) -> T:
        """As `Store.write`."""

    async def read(self, work: Callable[[ReadTx], T], *, consistent: bool = True, crew: Crew = Crew.WORK) -> T:
        """As `Store.read`. Raises `ReadTooLong` for `Crew.PEOPLE`."""

    async def read_short(self, work: Callable[[ReadTx], T], *, consistent: bool = True, crew: Crew = Crew.WORK) -> T:
        """As `Store.read_short`."""

    async def ask(self, statement: Hot, *values: Any, crew: Crew = Crew.WORK) -> list[tuple[Any, ...]]:
        """As `Store.ask`."""

    async def prove(self, *, crew: Crew = Crew.WORK) -> None:
        """As `Store.prove`."""

    @property
    def foreign_commits(self) -> int:
        """As `Store.foreign_commits`."""

    def alone(self) -> contextlib.AbstractAsyncContextManager[None]:
        """As `Store.alone`."""

    async def close(self) -> None:
        """As `Store.close`."""


class Store:
    """A database through the threads of one crew: opens transactions.

    Raises `ports.outages.StoreOutage` when the database is away, full or damaged.
    """

    def __init__(self, database: Database, crew: Crew) -> None:
        self.database = database
        self.crew = crew
        self.troubles = database.troubles
        """Errors of the latest transactions."""
        self.shared = database.shared
        """True if processes on other machines may use the database: caches must then be claimed
        (`store/ingest/claims.py`)."""

    async def write(self, work: Callable[[WriteTx], T], *, locked: bool = False) -> T:
        """Run the work in one durable transaction; its result is returned after the commit.

        On a shared database the work is repeated after a collision, so it must have no effects other than rows.
        `locked` work takes its own locks, in the order of `docs/locks.md`, and sees commits of others meanwhile.
        """
        return await self.database.write(work, locked=locked, crew=self.crew)

    async def read(self, work: Callable[[ReadTx], T], *, consistent: bool = True) -> T:
        """Run the work on one consistent view, off the event loop.

        If not `consistent`, each statement may see a different state; use it for a single statement or for rows that
        never change, as it costs less.
        """
        return await self.database.read(work, consistent=consistent, crew=self.crew)

    async def read_short(self, work: Callable[[ReadTx], T], *, consistent: bool = True) -> T:
        """As `read`, for look-ups by key that take less than a thread hop: may run on the event loop itself."""
        return await self.database.read_short(work, consistent=consistent, crew=self.crew)

    async def ask(self, statement: Hot, *values: Any) -> list[tuple[Any, ...]]:
        """Return every row of one query by key that takes less than a thread hop: on the event loop, with either
        database, in its own transaction. Raises `Outage`."""
        return await self.database.ask(statement, *values, crew=self.crew)

    async def prove(self) -> None:
        """Check that the database is usable, unless recent transactions prove it. Cheap enough to repeat often. Raises
        `ports.outages.Outage`; `troubles` holds the result."""
        await self.database.prove(crew=self.crew)

    @property
    def foreign_commits(self) -> int:
        """How often another process was seen to commit. Read inside `write`'s work it is exact: while it equals the
        number seen when something was cached from rows, that still holds."""
        return self.database.foreign_commits

    def alone(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Block commits of other processes on an unshared database until this one commits. Earlier reads then remain
        valid unless this process wrote in between. Raises `Outage`."""
        return self.database.alone()

    def of(self, crew: Crew) -> "Store":
        """The same database through the threads of this crew."""
        return Store(self.database, crew)

    async def close(self) -> None:
        """Finish queued work, then close every connection, of every crew."""
        await self.database.close()
