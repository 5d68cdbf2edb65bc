"""Reverses the rows of every statement that names no order: a database may give them in any.

What relies on an order that nobody asked for fails in every run, and not in one of a thousand.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tripline.store.database.postgres_statements import PostgresTx
from tripline.store.transactions import Hot, ReadTx


def is_ordered(statement: Any) -> bool:
    """Whether the statement names an order."""
    asked = statement._statement if isinstance(statement, Hot) else statement
    return bool(getattr(asked, "_order_by_clauses", ()))


@contextmanager
def reversed_rows() -> Iterator[None]:
    """Inside, transactions of every store answer so."""
    originals = [(ReadTx, "all", ReadTx.all), (ReadTx, "hot", ReadTx.hot), (PostgresTx, "hot", PostgresTx.hot)]
    for cls, name, original in originals:
        setattr(cls, name, _reversing(original))
    try:
        yield
    finally:
        for cls, name, original in originals:
            setattr(cls, name, original)


def _reversing(original: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    def rows(tx: ReadTx, statement: Any, *more: Any, **named: Any) -> Sequence[Any]:
        found = original(tx, statement, *more, **named)
        return found if is_ordered(statement) else found[::-1]

    return rows
