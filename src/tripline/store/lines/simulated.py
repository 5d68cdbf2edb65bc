"""Rows of the simulated carrier: which request lifted the pause of a line last."""

from typing import Final

from sqlalchemy import delete, exists, insert, select

from tripline.domain.lines import NwStatus
from tripline.store.tables import carrier_line, simulated_line
from tripline.store.transactions import ReadTx, WriteTx

_USE_SUSPENDED: Final = NwStatus.USE_SUSPENDED.value


def is_paused(tx: ReadTx, mdn: str) -> bool:
    """True if the line is paused; a simulated carrier knows the stored line states."""
    told = exists().where(carrier_line.c.mdn == mdn, carrier_line.c.nw_status == _USE_SUSPENDED)
    return tx.one(select(told).where(told)) is not None


def was_lifted_by(tx: ReadTx, mdn: str, request_id: str) -> bool:
    """True if this request was the last that lifted the pause of the line."""
    found = select(simulated_line.c.mdn).where(simulated_line.c.mdn == mdn, simulated_line.c.lifted_by == request_id)
    return tx.one(found) is not None


def lift(tx: WriteTx, mdn: str, *, request_id: str, now_ms: int) -> None:
    """Keep that this request lifted the pause."""
    tx.run(delete(simulated_line).where(simulated_line.c.mdn == mdn))
    tx.run(insert(simulated_line), {"mdn": mdn, "lifted_by": request_id, "updated_ms": now_ms})
