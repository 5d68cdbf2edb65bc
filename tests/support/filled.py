"""Rows in every table, each value at the edge of what its column takes: for what has to carry all of them."""

import itertools
import math
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    UniqueConstraint,
    insert,
)

from tripline.domain import ids
from tripline.scoring.rules import Rules
from tripline.store.tables import metadata

DAY_MS = 86_400_000
TEXTS = ("", "김기사", "it's \\N \t\n\r\x01", "🚕" * 5, "É", "\\.", "%s ?")
BYTES = (b"", b"\x00", bytes(range(256)), b'{"a": "\\u0000"}', b"\\x00")
FRACTIONS = (0.0, -0.0, 5e-324, -1.7976931348623157e308, 0.1, 1 / 3, math.pi * 1e17, 1e-300)
POLICY = Rules().written()
"""What every server reads of each policy; others would keep it from scoring."""
FIRST_POLICY = 100
"""Behind those that a server has made."""
EDGES = {SmallInteger: 2**15 - 1, Integer: 2**31 - 1, BigInteger: 2**63 - 1}


def fill(connection: Connection, *, count: int, now_ms: int) -> dict[str, int]:
    """Put so many rows into every table, some weeks apart, each naming those of its number elsewhere; how many each."""
    filled = {}
    for table in metadata.sorted_tables:
        rows = [_row(table, number, now_ms) for number in range(count)]
        connection.execute(insert(table), rows)
        filled[table.name] = len(rows)
    return filled


def _unique(table: Table) -> set[str]:
    """Columns that rules about two rows name."""
    rules = [rule for rule in table.constraints if isinstance(rule, UniqueConstraint)]
    indexes = [index for index in table.indexes if index.unique]
    return {column.name for each in (*rules, *indexes) for column in each.columns}


def _row(table: Table, number: int, now_ms: int) -> dict[str, Any]:
    kinds = itertools.count(number)
    return {column.name: _value(table, column, number, next(kinds), now_ms) for column in table.c}


def _value(table: Table, column: Column[Any], number: int, turn: int, now_ms: int) -> Any:
    unique = column.primary_key or column.foreign_keys or column.name in _unique(table)
    if column.nullable and not column.foreign_keys and turn % 4 == 3:
        return None
    kind = type(column.type)
    if isinstance(column.type, Boolean):
        # Of some tables only one row may say yes.
        return table.name != "company" and turn % 2 == 1
    if isinstance(column.type, Float):
        return FRACTIONS[turn % len(FRACTIONS)]
    if table.name == "scoring_policy" and column.name in ("no", "body"):
        return POLICY if column.name == "body" else FIRST_POLICY + number
    if column.foreign_keys and column.name == "policy":
        return FIRST_POLICY + number
    if isinstance(column.type, LargeBinary):
        return BYTES[turn % len(BYTES)]
    if column.name == "no" and kind is BigInteger:  # a smaller one counts blocks, not rows of all tables
        # Half of the rows lie years and weeks back.
        return ids.first_no(now_ms - (number % 2) * (number * 5 + 3) * DAY_MS) + number
    if isinstance(column.type, Integer):
        edge = EDGES.get(kind, EDGES[BigInteger])
        return number if unique else (edge - turn if turn % 2 else -edge - 1 + turn)
    length = getattr(column.type, "length", None) or 300
    if unique:
        return f"{number:05d}"
    return TEXTS[turn % len(TEXTS)][:length]
