"""The push outbox as the pusher uses it: receivers, their messages by number, results of attempts.

A receiver is a company and one of its two addresses. Nothing here takes a scope: it serves every company and displays
nothing.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from sqlalchemy import ARRAY, BigInteger, all_, bindparam, delete, func, select, tuple_, update

from tripline.domain.ids import CompanyId, RequestId, RowNo, SensorId, ms_of_no
from tripline.domain.pushes import Channel
from tripline.store.push import outbox, secrets
from tripline.store.push.secrets import Secret
from tripline.store.tables import company, push_outbox, push_secret
from tripline.store.transactions import Hot, ReadTx, WriteTx

Key = tuple[CompanyId, Channel]
"""A receiver."""
ERROR_MAX: Final = 255
_BEYOND: Final = 2**63 - 1
_ROW: Final = push_outbox.c
_COLUMNS: Final = (_ROW.no, _ROW.id, _ROW.sensor_id, _ROW.attempts, _ROW.due_ms, _ROW.since_ms)
_WAITING: Final = _ROW.parked_ms.is_(None)
_OF_RECEIVER: Final = (_ROW.company_id == bindparam("company_id"), _ROW.channel == bindparam("channel"))


class Row(msgspec.Struct):
    """A waiting message, without its content."""

    no: RowNo
    id: str
    sensor_id: SensorId
    attempts: int
    due_ms: int
    since_ms: int | None = None
    """When its time began anew, for its receiver answered again; None: it began with its number."""

    @property
    def began_ms(self) -> int:
        """When its time began."""
        return ms_of_no(self.no) if self.since_ms is None else self.since_ms


class Content(msgspec.Struct, frozen=True):
    """The content of a message."""

    sensor_id: SensorId
    body: bytes
    request_id: RequestId | None
    method: str | None


class Addresses(msgspec.Struct, frozen=True):
    """A company's push addresses as registered, and the secret that signs messages."""

    notify_host: str | None
    rpc_notify_host: str | None
    rpc_notify_port: int | None
    rpc_notify_base_path: str | None
    secret: Secret | None
    """None: not created yet."""


class Result(msgspec.Struct, frozen=True):
    """The result of an attempt that did not deliver."""

    no: RowNo
    attempts: int
    due_ms: int
    error: str


_RECEIVERS: Final = select(_ROW.company_id, _ROW.channel)
_NEXT_RECEIVER: Final = Hot(
    select(_ROW.company_id, _ROW.channel)
    .where(_WAITING, tuple_(_ROW.company_id, _ROW.channel) > tuple_(bindparam("company_id"), bindparam("channel")))
    .order_by(_ROW.company_id, _ROW.channel)
    .limit(1),
    "company_id",
    "channel",
)
_NEW_RECEIVERS: Final = Hot(
    # Not DISTINCT: SQLite would walk through all waiting messages, in the order of the index.
    _RECEIVERS.where(_WAITING, _ROW.no > bindparam("after")).order_by(_ROW.no),
    "after",
)
_ROWS: Final = Hot(
    select(*_COLUMNS)
    .where(_WAITING, *_OF_RECEIVER, _ROW.no > bindparam("after"))
    .order_by(_ROW.no)
    .limit(bindparam("limit")),
    "company_id",
    "channel",
    "after",
    "limit",
)
_place: Final = tuple_(_ROW.company_id, _ROW.channel, _ROW.no)
# As `_ROWS`: by its equalities PostgreSQL would rather walk through everybody's rows in the order of their numbers.
_ROWS_SHARED: Final = Hot(
    select(*_COLUMNS)
    .where(
        _WAITING,
        _place > tuple_(bindparam("company_id"), bindparam("channel"), bindparam("after")),
        _place < tuple_(bindparam("company_id"), bindparam("channel"), bindparam("end")),
    )
    .order_by(_ROW.company_id, _ROW.channel, _ROW.no)
    .limit(bindparam("limit")),
    *("company_id", "channel", "after", "limit", "end"),
)
_LATE: Final = (
    select(*_COLUMNS)
    .where(_WAITING, *_OF_RECEIVER, _ROW.no > bindparam("behind"), _ROW.no <= bindparam("up_to"))
    .where(_ROW.no != all_(bindparam("known", type_=ARRAY(BigInteger))))
    .order_by(_ROW.no)
    .limit(bindparam("most"))
)
# For PostgreSQL, which does it the other way round.
_NEW_RECEIVERS_ONCE: Final = (
    _RECEIVERS.where(_WAITING, _ROW.no > bindparam("after"))
    .group_by(_ROW.company_id, _ROW.channel)
    .order_by(func.min(_ROW.no))
)
_CONTENT: Final = Hot(
    select(_ROW.sensor_id, _ROW.body, _ROW.request_id, _ROW.method).where(_ROW.no == bindparam("no"), _WAITING), "no"
)
_ADDRESSES: Final = Hot(
    select(
        company.c.notify_host,
        company.c.rpc_notify_host,
        company.c.rpc_notify_port,
        company.c.rpc_notify_base_path,
        *secrets.COLUMNS,
    )
    .select_from(company.outerjoin(push_secret, push_secret.c.company_id == company.c.id))
    .where(company.c.id == bindparam("company_id")),
    "company_id",
)
_DONE: Final = delete(push_outbox).where(_ROW.no == bindparam("at"))
_TRIED: Final = (
    update(push_outbox)
    .where(_ROW.no == bindparam("at"))
    .values(attempts=bindparam("tried"), last_error=bindparam("error"))
)
_POSTPONE: Final = _TRIED.where(_WAITING).values(due_ms=bindparam("due"))
_PARK: Final = _TRIED.values(parked_ms=bindparam("due"))
_UNCONFIRMED: Final = _PARK.values(unconfirmed_ms=bindparam("due"))


def receivers(tx: ReadTx) -> list[Key]:
    """Every receiver with waiting messages: one index step each, regardless of their number."""
    found: list[Key] = []
    last: tuple[str, str] = ("", "")
    while rows := tx.hot(_NEXT_RECEIVER, *last):
        last = rows[0]
        found.append((CompanyId(last[0]), Channel(last[1])))
    return found


def newcomers(tx: ReadTx, after: int) -> tuple[int, list[Key]]:
    """The greatest number now, and the receivers of messages after this number, in the order of their first one."""
    greatest = outbox.newest_no(tx)
    if greatest <= after:
        return after, []
    if tx.shared:
        found = {tuple(row): None for row in tx.all(_NEW_RECEIVERS_ONCE, {"after": after})}
    else:
        found = dict.fromkeys(tx.hot(_NEW_RECEIVERS, after))
    return greatest, [(CompanyId(company_id), Channel(channel)) for company_id, channel in found]


def rows(tx: ReadTx, key: Key, *, after: int, limit: int) -> list[Row]:
    """A receiver's waiting messages after this number, in order."""
    values = (key[0], key[1].value, after, limit)
    found = tx.hot(_ROWS_SHARED, *values, _BEYOND) if tx.shared else tx.hot(_ROWS, *values)
    return [Row(*row) for row in found]


def late(tx: ReadTx, key: Key, *, behind: int, up_to: int, known: Sequence[RowNo], limit: int) -> list[Row]:
    """A receiver's unknown waiting messages between two numbers: committed after greater numbers."""
    values = {"company_id": key[0], "channel": key[1].value, "behind": behind, "up_to": up_to}
    return [Row(*tuple(row)) for row in tx.all(_LATE, {**values, "known": list(known), "most": limit})]


def content(tx: ReadTx, no: RowNo) -> Content | None:
    """The content of a message; None if it no longer waits."""
    found = tx.hot(_CONTENT, no)
    return Content(*found[0]) if found else None


def addresses(tx: ReadTx, company_id: CompanyId) -> Addresses | None:
    """A company's push addresses; None if the company does not exist."""
    found = tx.hot(_ADDRESSES, company_id)
    if not found:
        return None
    host, rpc_host, port, path, *secret = found[0]
    return Addresses(host, rpc_host, port, path, None if secret[0] is None else Secret(*secret))


def settle(
    tx: WriteTx,
    *,
    delivered: Sequence[RowNo],
    postponed: Sequence[Result],
    parked: Sequence[Result],
    unconfirmed: Sequence[Result] = (),
) -> None:
    """Store the results of attempts; `due_ms` of a parked or unconfirmed message is the time of that result."""
    if delivered:
        tx.run(_DONE, [{"at": no} for no in sorted(delivered)])
    for statement, results in ((_POSTPONE, postponed), (_PARK, parked), (_UNCONFIRMED, unconfirmed)):
        if results:
            tx.run(statement, [_values(each) for each in sorted(results, key=lambda each: each.no)])


def park_waiting(tx: WriteTx, key: Key, *, before_no: int, error: str, now_ms: int, limit: int) -> int:
    """Park some of a receiver's waiting messages with smaller numbers; return how many."""
    first = (
        select(_ROW.no)
        .where(_WAITING, _ROW.company_id == key[0], _ROW.channel == key[1].value, _ROW.no < before_no)
        .where(_ROW.since_ms.is_(None) | (_ROW.since_ms < ms_of_no(RowNo(before_no))))
        .order_by(_ROW.no)
        .limit(limit)
        .with_for_update()
    )
    return tx.run(update(push_outbox).where(_ROW.no.in_(first)).values(parked_ms=now_ms, last_error=error[:ERROR_MAX]))


def _values(result: Result) -> dict[str, object]:
    return {"at": result.no, "tried": result.attempts, "due": result.due_ms, "error": result.error[:ERROR_MAX]}
