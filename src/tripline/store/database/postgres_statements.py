"""Hot statements on one connection to PostgreSQL: prepared at their first use, values and rows in binary form.

They are run by libpq's own calls, with the driver's conversions: a cursor of the driver takes twice the processor time
(`docs/decisions/707-hot-statements-are-prepared-by-hand.md`).
"""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, Final, TypeAlias

import psycopg
from psycopg import abc, errors, pq
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq.abc import PGconn, PGresult
from sqlalchemy import Connection

from tripline.store.transactions import Hot, WriteTx

KEPT: Final = 300
"""Statements that a connection keeps prepared; the one that was not used for longest makes room."""
_Known: TypeAlias = tuple[str, tuple[int, ...] | None]
"""A statement and the types of its values: a NULL or a greater number makes it another one for the server."""
_NAMES = count()


class Statements:
    """The prepared statements of a connection. Only one thread at a time uses it."""

    def __init__(self, driver: psycopg.Connection[Any]) -> None:
        self._cursor = driver.cursor()
        """Kept, as it learns how to write types."""
        self._pgconn = driver.pgconn
        self._converter: abc.Transformer = Transformer.from_context(driver)
        self._names: dict[_Known, bytes] = {}

    def rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Every row that the statement answers; its placeholders are `$1`, `$2`, ... Raises psycopg's errors."""
        converter = self._converter
        dumped = converter.dump_sequence(values, [PyFormat.AUTO] * len(values))
        name = self._prepared((sql, converter.types))
        result = self._pgconn.exec_prepared(name, dumped, converter.formats, pq.Format.BINARY)  # type: ignore[arg-type]  # None is NULL
        if result.status == pq.ExecStatus.TUPLES_OK:
            converter.set_pgresult(result)
            rows = converter.load_rows(0, result.ntuples, tuple)
            converter.set_pgresult(None)
            return rows
        self._require(result)
        return []

    def run(self, sql: str, values: Sequence[Any]) -> int:
        """Execute a statement with the driver's placeholders (`%s`); return the number of rows touched.

        A statement without values bypasses the driver, which would deallocate all prepared statements after a `ROLLBACK
        TO SAVEPOINT` or a `DROP`.
        """
        if values:
            return self._cursor.execute(sql, values).rowcount
        result = self._pgconn.exec_(sql.encode())
        self._require(result)
        return result.command_tuples or 0

    def forget(self) -> None:
        """Forget the prepared statements, which the server has deallocated."""
        self._names.clear()

    def _prepared(self, known: _Known) -> bytes:
        name = self._names.pop(known, None)
        if name is None:
            if len(self._names) >= KEPT:
                oldest = next(iter(self._names))
                self._require(self._pgconn.exec_(b"DEALLOCATE " + self._names.pop(oldest)))
            name = b"hot_%d" % next(_NAMES)
            self._require(self._pgconn.prepare(name, known[0].encode(), known[1]))
        self._names[known] = name
        return name

    def _require(self, result: PGresult) -> None:
        require(self._pgconn, result)


def require(pgconn: PGconn, result: PGresult) -> None:
    """Check that the server executed the command. Raises psycopg's errors."""
    if result.status != pq.ExecStatus.COMMAND_OK:
        if pgconn.status == pq.ConnStatus.BAD:
            raise psycopg.OperationalError(pgconn.get_error_message())
        raise errors.error_from_result(result)


class PostgresTx(WriteTx):
    """A transaction on PostgreSQL."""

    shared = True

    def __init__(self, connection: Connection, statements: Statements | None = None) -> None:
        """`statements`: the statements prepared on the same connection by earlier transactions."""
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
