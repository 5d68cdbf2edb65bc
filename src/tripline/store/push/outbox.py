"""Rows of messages waiting for customers' servers, and the subscriptions that create them.

Written in the transaction of the change that they report. Mails wait in a table of their own.
"""

from typing import Any, Final

import msgspec
from sqlalchemy import bindparam, func, select

from tripline.domain.companies import MessageTypes
from tripline.domain.ids import CompanyId, TimeIds
from tripline.domain.pushes import Subscription
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
_MESSAGE: Final = ("no", "id", "due_ms", "company_id", "sensor_id", "selector", "body")
NOTICES: Final = Bulk(push_outbox, *_MESSAGE)
"""Messages to `notifyHost`. `id` is the `webhook-id`: a receiver that knows it drops the repetition."""
RESULTS: Final = Bulk(push_outbox, *_MESSAGE, "channel", "request_id", "method")
"""Results of calls, to either address."""
_NEWEST: Final = Hot(select(func.coalesce(func.max(push_outbox.c.no), 0)))


def subscriptions(tx: ReadTx, company_id: CompanyId) -> tuple[Subscription, Subscription]:
    """Subscriptions of a company's operator and of the company itself; the same for an operator.

    Takes no scope: it only routes messages about the company's sensors and is never displayed.
    """
    found = [_subscription(row) for row in tx.hot(_SUBSCRIPTIONS, company_id)]
    return found[0], found[-1]


def newest_no(tx: ReadTx) -> int:
    """The greatest row number; 0 when nothing waits."""
    return tx.number(_NEWEST)


def behind_all(tx: WriteTx, ids: TimeIds, made: range) -> range:
    """Number new rows: the given numbers, or the next free ones if another program on this database has numbered rows
    ahead of our clock. Every row's number must come from here.

    On a shared store each process numbers in its own slot and cannot see uncommitted rows of others: there the clocks
    give the order.
    """
    return ids.behind(max(made.start - 1, 0 if tx.shared else newest_no(tx)), len(made))


def _subscription(row: tuple[Any, ...]) -> Subscription:
    company_id, host, kept = row
    asked: MessageTypes | None = None if kept is None else msgspec.json.decode(kept)
    return Subscription(CompanyId(company_id), host, asked)
