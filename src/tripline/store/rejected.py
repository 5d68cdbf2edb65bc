"""The rejected-message log: what devices and customers sent that could not be used, with the reason.

It is bounded three ways, because a box gone wrong fills it by the thousand a second: by age, by number, and by how much
of a body is kept.

Not here: who reads it (`services/doctor.py`), how long it is kept (`services/ingest/closing.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import bindparam, delete, func, select

from tripline.domain import ids
from tripline.domain.access import Scope
from tripline.domain.ids import SensorId
from tripline.store import scopes
from tripline.store.bulk import Bulk
from tripline.store.tables import rejected_message, sensor
from tripline.store.transactions import ReadTx, WriteTx

LOG: Final = Bulk(rejected_message, "no", "source", "sensor_id", "topic", "reason", "detail", "body")
TEXT_LIMIT: Final = 255
"""Longest topic and detail that are kept, characters."""
BODY_LIMIT: Final = 4_096
"""Most bytes of a body that are kept: enough to see what a box does."""
PURGED_AT_ONCE: Final = 2_500
"""Some 50 ms of the writer; more than a batch of the pipeline can bring."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One rejected message."""

    received_ms: int
    source: str
    sensor_id: SensorId | None
    topic: str
    reason: str
    detail: str | None
    body: bytes


def shortened(detail: str, body: bytes) -> tuple[str, bytes]:
    """Detail and body as the log keeps them: of a long body the beginning, with a word about it."""
    size = len(body)
    if size <= BODY_LIMIT:
        return detail, body
    return f"{detail} [the first {BODY_LIMIT} of {size} bytes]", body[:BODY_LIMIT]


def newest(tx: ReadTx, scope: Scope, *, limit: int, sensor_id: SensorId | None = None) -> list[Refused]:
    """The newest rejected messages within the scope, newest first; of one sensor when given."""
    statement = (
        select(rejected_message)
        .where(_inside(scope))
        .order_by(rejected_message.c.no.desc())
        .limit(bindparam("row_limit"))
    )
    parameters: dict[str, Any] = {"row_limit": limit, **scopes.values(scope)}
    if sensor_id is not None:
        statement = statement.where(rejected_message.c.sensor_id == bindparam("sensor_key"))
        parameters["sensor_key"] = sensor_id
    return [
        Refused(ids.ms_of_no(row.no), row.source, row.sensor_id, row.topic, row.reason, row.detail, row.body)
        for row in tx.all(statement, parameters)
    ]


def counts(tx: ReadTx, scope: Scope, *, since_ms: int) -> dict[str, int]:
    """How many messages were rejected since the instant, by reason, most frequent first."""
    number = func.count()
    statement = (
        select(rejected_message.c.reason, number)
        .where(_inside(scope), rejected_message.c.no >= bindparam("since_no"))
        .group_by(rejected_message.c.reason)
        .order_by(number.desc(), rejected_message.c.reason)
    )
    rows: Sequence[Any] = tx.all(statement, {"since_no": ids.first_no(since_ms), **scopes.values(scope)})
    return {row[0]: row[1] for row in rows}


def kept(tx: ReadTx, scope: Scope) -> int:
    """How many messages there are."""
    rows = tx.all(select(func.count()).select_from(rejected_message).where(_inside(scope)), scopes.values(scope))
    return int(rows[0][0])


def any_before(tx: ReadTx, scope: Scope, *, before_ms: int) -> bool:
    """Whether there is a rejected message received before the instant."""
    statement = select(rejected_message.c.no).where(_inside(scope), rejected_message.c.no < bindparam("before_no"))
    return bool(tx.all(statement.limit(1), {"before_no": ids.first_no(before_ms), **scopes.values(scope)}))


def purge(tx: WriteTx, scope: Scope, *, before_ms: int, limit: int = PURGED_AT_ONCE) -> int:
    """Delete up to `limit` of the oldest messages received before the instant; how many were deleted."""
    oldest = (
        select(rejected_message.c.no)
        .where(_inside(scope), rejected_message.c.no < bindparam("before_no"))
        .order_by(rejected_message.c.no)
        .limit(bindparam("row_limit"))
        .with_for_update(skip_locked=True)
    )
    return tx.run(
        delete(rejected_message).where(rejected_message.c.no.in_(oldest)),
        {"before_no": ids.first_no(before_ms), "row_limit": limit, **scopes.values(scope)},
    )


def _inside(scope: Scope) -> Any:
    """A rejected message is as far away as its sensor; one of no sensor is seen only by who sees everything."""
    everything = scopes.sensors(scope.reaches)
    if scope == Scope.everything(scope.why):
        return everything
    return rejected_message.c.sensor_id.in_(select(sensor.c.id).where(everything))
