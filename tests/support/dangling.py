"""Where a deleted thing is still named: every text column of every table is searched for its id."""

from collections.abc import Collection

from sqlalchemy import String, Text, func, select

from tripline.store.tables import metadata
from tripline.store.transactions import ReadTx


def references(tx: ReadTx, *deleted: str, besides: Collection[str] = ()) -> dict[str, int]:
    """How often each `table.column` holds one of the ids; `besides` names columns that may.

    Not only `*_id` columns are searched, so that a new one cannot be forgotten whatever it is called.
    """
    found = {}
    for table in metadata.sorted_tables:
        for column in table.columns:
            name = f"{table.name}.{column.name}"
            if not isinstance(column.type, String | Text) or name in besides:
                continue
            row = tx.one(select(func.count()).select_from(table).where(column.in_(deleted)))
            assert row is not None
            if row[0]:
                found[name] = row[0]
    return found
