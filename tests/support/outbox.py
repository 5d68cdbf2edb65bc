"""Rows of the push outbox, as a test writes them."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import insert

from tripline.domain.ids import CompanyId, RequestId, RowNo, SensorId
from tripline.domain.pushes import Channel
from tripline.store.tables import push_outbox
from tripline.store.transactions import WriteTx


class Waiting(msgspec.Struct, frozen=True):
    """A row of the outbox."""

    no: RowNo
    id: str
    company_id: CompanyId
    sensor_id: SensorId
    selector: int
    body: bytes
    due_ms: int
    channel: Channel = Channel.NOTIFY
    request_id: RequestId | None = None
    method: str | None = None


def add(tx: WriteTx, messages: Sequence[Waiting]) -> None:
    """Put rows into the outbox, at least one."""
    tx.run(insert(push_outbox), [msgspec.structs.asdict(each) for each in messages])
