"""Rows of unfinished resend requests for parked messages.

Callers check the scope. Not here: the messages (`parked.py`).
"""

import msgspec
from sqlalchemy import delete, insert, select

from tripline.domain.ids import CompanyId, RowNo, SensorId
from tripline.store.push.parked import Which
from tripline.store.tables import push_resend
from tripline.store.transactions import ReadTx, WriteTx

_ROW = push_resend.c


class Left(msgspec.Struct, frozen=True):
    """Messages of one company that are still to be sent again."""

    no: RowNo
    which: Which
    """A company's, perhaps about one sensor, up to an instant; neither named one by one nor of one channel."""


def add(tx: WriteTx, left: Left) -> None:
    """Store the rest of a request, replacing the rest of an earlier one for the same messages."""
    which = left.which
    assert which.company_id is not None
    assert which.until_ms is not None
    assert (which.message_ids, which.channel, which.since_ms) == (None, None, None)
    same = (
        _ROW.company_id == which.company_id,
        _ROW.sensor_id.is_not_distinct_from(which.sensor_id),
        _ROW.unconfirmed == which.unconfirmed,
    )
    tx.run(delete(push_resend).where(*same))
    tx.run(
        insert(push_resend).values(
            no=left.no,
            company_id=which.company_id,
            sensor_id=which.sensor_id,
            unconfirmed=which.unconfirmed,
            until_ms=which.until_ms,
        )
    )


def oldest(tx: ReadTx) -> Left | None:
    """The earliest unfinished request."""
    row = tx.one(select(push_resend).order_by(_ROW.no).limit(1))
    if row is None:
        return None
    which = Which(
        company_id=CompanyId(row.company_id),
        sensor_id=None if row.sensor_id is None else SensorId(row.sensor_id),
        until_ms=row.until_ms,
        unconfirmed=row.unconfirmed,
    )
    return Left(RowNo(row.no), which)


def done(tx: WriteTx, no: RowNo) -> None:
    """Nothing of it is left."""
    tx.run(delete(push_resend).where(_ROW.no == no))
