"""Keys made on first start and kept: token signing key, node of the id maker."""

from sqlalchemy import insert, select

from tripline.store.tables import secret
from tripline.store.transactions import ReadTx, WriteTx


def value_of(tx: ReadTx, name: str) -> bytes | None:
    """The kept value, None when it was not made yet."""
    row = tx.one(select(secret.c.value).where(secret.c.name == name))
    return None if row is None else bytes(row.value)


def made_once(tx: WriteTx, name: str, fresh: bytes) -> bytes:
    """The kept value; `fresh` becomes it when there was none."""
    known = value_of(tx, name)
    if known is None:
        tx.run(insert(secret).values(name=name, value=fresh))
        return fresh
    return known
