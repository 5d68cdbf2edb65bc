"""Which unique index a write ran into, so that the loser of a race gets the refusal that a look-up would have given."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Column
from sqlalchemy.exc import IntegrityError

from tripline.domain.refusals import Refusal


@contextmanager
def refusing(*clashes: tuple[tuple[Column[Any], ...], Refusal]) -> Iterator[None]:
    """Raise the refusal of the unique columns that the write in the block would repeat."""
    try:
        yield
    except IntegrityError as error:
        for columns, refusal in clashes:
            # SQLite names the columns of the index, in their order, and nothing else.
            names = ", ".join(f"{column.table.name}.{column.name}" for column in columns)
            if str(error.orig) == f"UNIQUE constraint failed: {names}":
                raise refusal from error
        raise
