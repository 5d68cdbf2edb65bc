"""Rows of `reach` for fleets that were written without the store's functions."""

from tripline.store import reach, tables
from tripline.store.transactions import WriteTx


def recount(tx: WriteTx) -> int:
    """Write every row as the fleet's tables are; return how many were wrong."""
    wrong = reach.drop_orphans(tx)
    for table in (tables.vehicle, tables.sensor):
        after: str | None = ""
        while after is not None:
            some, after = reach.recount(tx, table, after=after)
            wrong += some
    return wrong
