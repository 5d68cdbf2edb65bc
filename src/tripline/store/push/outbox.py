"""Rows of messages that wait to be sent to customers' servers, and who wants which.

Written in the transaction of the change that they tell of. Mails wait in a table of their own.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import bindparam, func, insert, select

from tripline.domain.companies import MessageTypes
from tripline.domain.ids import CompanyId, RequestId, RowNo, SensorId, TimeIds
from tripline.domain.pushes import Channel, Subscription
from tripline.store.bulk import Bulk
from tripline.store.tables import company, push_outbox
from tripline.store.transactions import Hot, ReadTx, WriteTx

_owner: Final = company.alias("owner")
_SUBSCRIPTIONS: Final = Hot(
    select(company.c.id, company.c.notify_host, company.c.notify_msg_type)
    .select_from(_owner.join(company, company.c.id.in_((_owner.c.id, _owner.c.master_id))))
    .where(_owner.c.id == bindparam("key"))
    .order_by(company.c.master.desc()),
    "key",
)
NOTICES: Final = Bulk(push_outbox, "no", "id", "company_id", "sensor_id", "selector", "body", "due_ms")
"""Messages to `notifyHost`."""
_NEWEST: Final = Hot(select(func.coalesce(func.max(push_outbox.c.no), 0)))


class Waiting(msgspec.Struct, frozen=True):
    """A message to one company. `id` is its `webhook-id`: a receiver that knows it drops the repetition."""

    no: RowNo
    id: str
    company_id: CompanyId
    sensor_id: SensorId
    selector: int
    """Number of `notifyMsgType` that selected it."""
    body: bytes
    due_ms: int
    channel: Channel = Channel.NOTIFY
    request_id: RequestId | None = None
    """Of an RPC result, and so is the method."""
    method: str | None = None


def subscriptions(tx: ReadTx, company_id: CompanyId) -> tuple[Subscription, Subscription]:
    """What the operator above a company wants, and what the company itself does: the same for an operator.

    Takes no scope: it tells where messages about the company's sensors go, and is shown to nobody.
    """
    found = [_subscription(row) for row in tx.hot(_SUBSCRIPTIONS, company_id)]
    return found[0], found[-1]


def newest_no(tx: ReadTx) -> int:
    """The greatest row number; 0 when nothing waits."""
    newest: int = tx.hot(_NEWEST)[0][0]
    return newest


def behind_all(tx: WriteTx, ids: TimeIds, made: range) -> range:
    """The numbers of new rows: those just made or, when another program on this database has numbered rows ahead of
    our clock, as many behind all that are there. No row may have another number than one from here.

    On a shared store many write at a time, each in a slot of its own, and none sees what others are about to commit:
    there the clocks say the order.
    """
    return ids.behind(max(made.start - 1, 0 if tx.shared else newest_no(tx)), len(made))


def add(tx: WriteTx, messages: Sequence[Waiting]) -> None:
    """Keep messages to send, at least one."""
    tx.run(
        insert(push_outbox), [{name: getattr(each, name) for name in Waiting.__struct_fields__} for each in messages]
    )


def _subscription(row: tuple[Any, ...]) -> Subscription:
    company_id, host, kept = row
    asked: MessageTypes | None = None if kept is None else msgspec.json.decode(kept)
    return Subscription(CompanyId(company_id), host, asked)
