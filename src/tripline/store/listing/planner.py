"""Conditions written so that a database finds rows by another one."""

from sqlalchemy import ColumnElement, case, false, func, null, true


def beside_index(column: ColumnElement[str]) -> ColumnElement[str]:
    """The column as no index has it: the other condition finds the rows, and this one filters them."""
    return func.coalesce(column, null())


def tested(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Rewrite a condition that many rows meet, to keep the planner off an index.

    PostgreSQL estimates that an equation with an expression holds for one row in 200, so it prefers to sort all
    remaining rows or to join them by nested loops. For a CASE it estimates every other row.
    """
    return case((condition, true()), else_=false())
