"""Finds names of deleted things: searches every text column of every table for an id."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Select, String, Text, bindparam, func, select

from tests.support.ingest_rig import LocalSignals
from tripline.services.eraser import Eraser
from tripline.store.tables import metadata
from tripline.store.transactions import ReadTx, Store

OUTLIVES = frozenset(
    f"history.{name}"
    for name in ("vehicle_id", "sensor_id", "user_id", "company_id", "master_id", "actor_company_id", "to_company_id")
)
"""Columns that may name deleted things: what was done stays known for a while. Whom it was done by is not among them;
that entries of vehicles name no deleted person is held by `tests/unit/api/test_history.py`."""


def references(tx: ReadTx, *deleted: str, besides: Collection[str] = ()) -> dict[str, int]:
    """How often each `table.column` holds one of the ids; `besides` names columns that may.

    Not only `*_id` columns are searched, so that a new one cannot be forgotten whatever it is called.
    """
    found = {}
    for names, statement in _counting():
        row = tx.one(statement, {"deleted": deleted})
        assert row is not None
        found |= {name: count for name, count in zip(names, row, strict=True) if count and name not in besides}
    return found


@cache
def _counting() -> list[tuple[list[str], Select[Any]]]:
    """For each table the names of its text columns, and the statement that counts the rows with an id in each."""
    ids: BindParameter[Any] = bindparam("deleted", expanding=True)
    statements = []
    for table in metadata.sorted_tables:
        texts = [each for each in table.columns if isinstance(each.type, String | Text) and str(each) not in OUTLIVES]
        if texts:
            counts = [func.count().filter(each.in_(ids)) for each in texts]
            statements.append(([str(each) for each in texts], select(*counts).select_from(table)))
    return statements


async def left(store: Store, *deleted: str) -> dict[str, int]:
    """As `references`, when the eraser is through with what was deleted; no pipeline runs beside it."""
    eraser = Eraser(store=store, signals=LocalSignals(), let_go=_nobody_writes, stopwatch=lambda: 0.0)
    while await eraser.erase_pending():
        pass
    return await store.read(lambda tx: references(tx, *deleted))


async def _nobody_writes(_: Sequence[str]) -> None:
    """There is nothing to wait for."""
