"""Identify the unique index that a write violated, so that the loser of a race gets the same refusal as after a
query."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Column, PrimaryKeyConstraint, Table, UniqueConstraint
from sqlalchemy.exc import IntegrityError

from tripline.domain.refusals import Refusal
from tripline.store.transactions import WriteTx

UNIQUE_VIOLATION: Final = "23505"
"""PostgreSQL's code of it, which its driver's errors carry; no other error here has a code of this kind."""


@contextmanager
def refusing(*clashes: tuple[tuple[Column[Any], ...], Refusal]) -> Iterator[None]:
    """Raise the refusal of the unique columns that the write in the block would repeat."""
    try:
        yield
    except Exception as error:
        cause = error.orig if isinstance(error, IntegrityError) else error
        for columns, refusal in clashes:
            if _is_about(cause, columns):
                raise refusal from error
        raise


@contextmanager
def undone_if_refused(tx: WriteTx) -> Iterator[None]:
    """Let a transaction continue after a refusal in the block: in PostgreSQL a refused row aborts the whole
    transaction.

    In SQLite a refused row changes nothing, and the block checks everything else before it writes.
    """
    if not tx.shared:
        yield
        return
    tx.run_sql("SAVEPOINT attempt", ())
    try:
        yield
    except Refusal:
        tx.run_sql("ROLLBACK TO SAVEPOINT attempt", ())
        raise
    tx.run_sql("RELEASE SAVEPOINT attempt", ())


def _is_about(cause: Any, columns: tuple[Column[Any], ...]) -> bool:
    if getattr(cause, "sqlstate", None) == UNIQUE_VIOLATION:
        table = columns[0].table
        return isinstance(table, Table) and cause.diag.constraint_name in _names(table, columns)
    # SQLite names the columns of the index, in their order, and nothing else.
    names = ", ".join(f"{column.table.name}.{column.name}" for column in columns)
    return str(cause) == f"UNIQUE constraint failed: {names}"


def _names(table: Table, columns: tuple[Column[Any], ...]) -> set[str]:
    """Names of the unique indexes and constraints over exactly these columns; PostgreSQL errors contain only the
    name."""
    rules: list[Any] = [index for index in table.indexes if index.unique]
    rules += [rule for rule in table.constraints if isinstance(rule, UniqueConstraint | PrimaryKeyConstraint)]
    return {str(rule.name) for rule in rules if list(rule.columns) == list(columns)}
