"""Rows of `reach` for fleets that were written without the store's functions."""

from typing import Any

from sqlalchemy import Connection, Executable

from tripline.store import reach
from tripline.store.database.postgres_statements import PostgresTx
from tripline.store.reach import Kind
from tripline.store.transactions import WriteTx


def recount(tx: WriteTx) -> int:
    """Write every row as the fleet's tables are; return how many were wrong."""
    wrong = 0
    while ids := reach.orphans(tx):
        wrong += reach.refresh(tx, ids)
    for kind in Kind:
        after = ""
        while ids := reach.behind(tx, kind, after):
            wrong += reach.refresh(tx, ids) if kind is Kind.VEHICLE else reach.refresh(tx, sensor_ids=ids)
            after = ids[-1]
    return wrong


def recount_on(connection: Connection) -> None:
    """As `recount`, on a connection."""
    recount(PostgresTx(connection) if connection.dialect.name == "postgresql" else WriteTx(connection))


def run(tx: WriteTx, statement: Executable, values: Any = None) -> None:
    """Change the fleet and its rows."""
    tx.run(statement, values)
    recount(tx)
