"""The rejected-message log: unusable messages of devices and customers, with the reason.

A row holds one message or counts several. Each row has an owner and a size, so that the log can be shared fairly.

Not here: readers (`services/doctor.py`), selection and retention of messages
(`services/ingest/rejected_log.py`).
"""

from functools import cache
from typing import Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, delete, func, select

from tripline.domain import ids
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId
from tripline.store import reach, scopes
from tripline.store.bulk import Bulk
from tripline.store.tables import rejected_message
from tripline.store.transactions import Hot, ReadTx, WriteTx

LOG: Final = Bulk(
    rejected_message,
    *("no", "source", "sensor_id", "company_id", "topic", "reason", "detail", "body", "size", "messages"),
    *("bus_partition", "bus_offset"),
)


_ROW: Final = rejected_message.c
TEXT_LIMIT: Final = 255
"""Longest stored topic and detail, characters."""
BODY_LIMIT: Final = 4_096
"""Most stored bytes of a body: enough to recognise the box's fault."""
ROW_BYTES: Final = 256
"""Size of a row besides its texts and body: ids, numbers, and its place in three indexes."""
PURGED_AT_ONCE: Final = 2_500
"""Some 50 ms of the writer; more than a batch of the pipeline can bring."""
EVICTED_AT_ONCE: Final = 500
"""These take as long: rows of one company are scattered."""


class Refused(msgspec.Struct, frozen=True):
    """One rejected message, or several that are counted."""

    received_ms: int
    source: str
    sensor_id: SensorId | None
    topic: str
    reason: str
    detail: str | None
    body: bytes
    messages: int = 1
    """Number of messages that the row represents."""


class Holding(NamedTuple):
    """The size of one owner's share of the log."""

    rows: int
    size: int
    """Bytes."""

    def and_also(self, rows: int, size: int) -> "Holding":
        """Return it with this much more, or less."""
        return Holding(max(0, self.rows + rows), max(0, self.size + size))

    def fits(self, bound: "Holding") -> bool:
        """True if it is within the bound."""
        return self.rows <= bound.rows and self.size <= bound.size


def newest(tx: ReadTx, scope: Scope, *, limit: int) -> list[Refused]:
    """The newest rows within the scope, newest first."""
    rows = select(rejected_message).where(_inside(scope.reaches)).order_by(_ROW.no.desc()).limit(limit)
    return [
        Refused(
            ids.ms_of_no(row.no), row.source, row.sensor_id, row.topic, row.reason, row.detail, row.body, row.messages
        )
        for row in tx.all(rows, scopes.values(scope))
    ]


def counts(tx: ReadTx, scope: Scope, *, since_ms: int) -> dict[str, int]:
    """How many messages were rejected since the instant, by reason, most frequent first."""
    number = func.sum(_ROW.messages)
    by_reason = select(_ROW.reason, number).where(_inside(scope.reaches), _ROW.no >= ids.first_no(since_ms))
    rows = tx.all(by_reason.group_by(_ROW.reason).order_by(number.desc(), _ROW.reason), scopes.values(scope))
    return {row[0]: int(row[1]) for row in rows}


def holdings(tx: ReadTx, scope: Scope) -> dict[CompanyId | None, Holding]:
    """Each company's share of the log; None: rows without an owner. Scans a whole index."""
    rows = tx.hot(_holdings(scope.reaches), scope.user_id, scope.company_id)
    return {company_id: Holding(int(number), int(size)) for company_id, number, size in rows}


def evict(tx: WriteTx, scope: Scope, company_id: CompanyId | None, *, rows: int, size: int) -> Holding:
    """Delete a company's oldest rows until this many rows and bytes are freed, at most `EVICTED_AT_ONCE` of them;
    return the deleted share."""
    its = select(_ROW.no, _ROW.size).where(_inside(scope.reaches), _ROW.company_id == company_id)
    oldest = its.order_by(_ROW.no).limit(EVICTED_AT_ONCE).with_for_update(skip_locked=True)
    gone: list[int] = []
    freed = 0
    for row in tx.all(oldest, scopes.values(scope)):
        if len(gone) >= rows and freed >= size:
            break
        gone.append(row.no)
        freed += row.size
    if gone:
        tx.run(delete(rejected_message).where(_ROW.no.in_(gone)))
    return Holding(len(gone), freed)


def any_before(tx: ReadTx, scope: Scope, *, before_ms: int) -> bool:
    """True if the log has a message received before the instant."""
    old = select(_ROW.no).where(_inside(scope.reaches), _ROW.no < ids.first_no(before_ms))
    return bool(tx.all(old.limit(1), scopes.values(scope)))


def purge(tx: WriteTx, scope: Scope, *, before_ms: int, limit: int = PURGED_AT_ONCE) -> int:
    """Delete up to `limit` of the oldest messages received before the instant; return their number."""
    old = select(_ROW.no).where(_inside(scope.reaches), _ROW.no < ids.first_no(before_ms)).order_by(_ROW.no)
    oldest = old.limit(limit).with_for_update(skip_locked=True)
    return tx.run(delete(rejected_message).where(_ROW.no.in_(oldest)), scopes.values(scope))


@cache
def _holdings(reaches: scopes.Reaches) -> Hot:
    shares = select(_ROW.company_id, func.count(), func.sum(_ROW.size)).where(_inside(reaches))
    return Hot(shares.group_by(_ROW.company_id), scopes.USER, scopes.COMPANY)


def _inside(reaches: scopes.Reaches) -> ColumnElement[bool]:
    """A rejected message has the reach of its sensor; one without a sensor is only in a scope of everything."""
    return reach.predicate(reaches, _ROW.sensor_id)
