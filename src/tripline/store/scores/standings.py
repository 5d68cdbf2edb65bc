"""Rows of percentiles, and of the periods whose percentiles are to be counted.

Writers of sums note the days in the same transaction, each in new rows, so scorers never wait for each other here. A
worker turns the days into periods (`fold`), leases one, reads its members in pages, and replaces its rows.

Percentiles belong to no company, so no function takes a scope. Not here: the worker
(`services/scores/standing_keeper.py`), trends with their percentiles (`trends.py`).
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Float, Integer, and_, bindparam, cast, delete, exists, func, or_, select, update

from tripline.domain import trends
from tripline.domain.trends import Period, Step, Subject
from tripline.store.bulk import Bulk
from tripline.store.tables import account, company, score_change, score_recount, score_standing, score_sum, vehicle
from tripline.store.transactions import Hot, ReadTx, WriteTx


class Taken(NamedTuple):
    """A period that is being counted."""

    period: Period
    day: int
    """The first of the period."""
    lease_ms: int
    """When the lease ends."""


class Member(NamedTuple):
    """A subject with a score and known harsh driving in one period."""

    subject: str
    service_type: str
    badness: float


def note(tx: WriteTx, days: Iterable[int]) -> None:
    """Have the periods of these days counted again."""
    _CHANGES.insert(tx, [value for day in sorted(days) for value in (secrets.randbits(63), day)])


def note_subject(tx: WriteTx, subject: str) -> None:
    """Have every period counted again in which a driver or company has a sum."""
    note(tx, [row[0] for row in tx.hot(_DAYS_OF, subject, Period.DAY.value)])


def any_waiting(tx: ReadTx, *, now_ms: int) -> bool:
    """Return true if days are noted or periods due."""
    return bool(tx.hot(_ANY_WAITING, now_ms)[0][0])


def fold(tx: WriteTx, *, due_ms: int, limit: int) -> int:
    """Turn some noted days into periods due then; how many were noted."""
    noted = tx.hot(_NOTED, limit)
    if noted:
        tx.run(_FORGET, {"nos": [no for no, _ in noted]})
        add(tx, {day for _, day in noted}, due_ms=due_ms)
    return len(noted)


def add(tx: WriteTx, days: Iterable[int], *, due_ms: int) -> None:
    """Have the periods of these days counted then, or when they are due already."""
    # In one order, so that two workers never wait for each other.
    periods = sorted({(period.value, trends.first_day(day, period)) for day in days for period in Period})
    _RECOUNTS.insert(tx, [value for period, day in periods for value in (period, day, due_ms, False)])


def take(tx: WriteTx, *, now_ms: int, until_ms: int) -> Taken | None:
    """Lease the latest period that is due; None: none is."""
    found = tx.hot(_DUE, now_ms)
    if not found:
        return None
    ((period, day),) = found
    tx.run(_SET, {"of_period": period, "of_day": day, "to_ms": until_ms, "changed": False})
    return Taken(Period(period), day, until_ms)


def renew(tx: WriteTx, taken: Taken, *, until_ms: int) -> Taken | None:
    """The period under a longer lease; None: another worker has it."""
    if not _held(tx, taken):
        return None
    tx.run(_PUT_OFF, {"of_period": taken.period.value, "of_day": taken.day, "to_ms": until_ms})
    return taken._replace(lease_ms=until_ms)


def finish(tx: WriteTx, taken: Taken, *, due_ms: int) -> None:
    """End a lease; a period whose sums have changed meanwhile is due again then."""
    if held := _held(tx, taken):
        key = {"of_period": taken.period.value, "of_day": taken.day}
        if held[0][0]:
            tx.run(_SET, {**key, "to_ms": due_ms, "changed": False})
        else:
            tx.run(_DONE, key)


def members(tx: ReadTx, kind: Subject, period: Period, day: int, *, after: str, limit: int) -> list[Member]:
    """Subjects of a kind with a score and known harsh driving in the period, by id, of all service types."""
    return [Member(*row) for row in tx.hot(_MEMBERS[kind], kind.value, period.value, day, after, limit)]


def types(tx: ReadTx, kind: Subject, period: Period, day: int) -> set[str]:
    """Service types that have percentiles in the period."""
    return {row[0] for row in tx.hot(_TYPES, kind.value, period.value, day)}


def steps(tx: ReadTx, kind: Subject, period: Period, day: int, service_type: str) -> list[Step]:
    """The percentiles of a group."""
    return [Step(*row) for row in tx.hot(_STEPS, kind.value, period.value, day, service_type)]


def replace(tx: WriteTx, taken: Taken, kind: Subject, groups: Mapping[str, Sequence[Step]]) -> bool:
    """Write the percentiles of some service types in place of earlier ones; False: another worker has the period."""
    if not _held(tx, taken):
        return False
    key = kind.value, taken.period.value, taken.day
    of_group = dict(zip(("of_kind", "of_period", "of_day"), key, strict=True))
    tx.run(_CLEAR, [{**of_group, "of_type": name} for name in groups])
    rows = [value for name, found in groups.items() for step in found for value in (*key, name, *step)]
    _STANDINGS.insert(tx, rows)
    return True


def _held(tx: WriteTx, taken: Taken) -> list[tuple[Any, ...]]:
    """The row of a leased period, locked; empty: another worker has it."""
    return tx.hot(_HELD, *taken)


_BURDEN, _DISTANCE, _ADDED, _TRIPS = (
    cast(func.sum(score_sum.c[name]), Float) for name in ("burden", "distance_m", "added_m", "trips")
)
_BADNESS: Final = _BURDEN / (_DISTANCE + _ADDED / _TRIPS)
"""`Sums.badness` of the policies of a subject together."""
_VAGUE: Final = cast(func.sum(score_sum.c.vague_m), Float)
_CHANGE, _RECOUNT, _STANDING = score_change.c, score_recount.c, score_standing.c
_CHANGES: Final = Bulk(score_change, "no", "day")
_RECOUNTS: Final = Bulk(
    score_recount,
    *("period", "day", "due_ms", "again"),
    on_conflict="ON CONFLICT (period, day) DO UPDATE SET again = TRUE WHERE NOT score_recount.again",
)
_STANDINGS: Final = Bulk(score_standing, "kind", "period", "day", "service_type", *Step._fields)
_DAYS_OF: Final = Hot(
    select(score_sum.c.day)
    .distinct()
    .where(score_sum.c.subject == bindparam("subject"), score_sum.c.period == bindparam("period")),
    "subject",
    "period",
)
_ANY_WAITING: Final = Hot(
    select(or_(exists().select_from(score_change), exists().where(_RECOUNT.due_ms <= bindparam("now_ms")))), "now_ms"
)
_NOTED: Final = Hot(
    select(_CHANGE.no, _CHANGE.day).limit(bindparam("most", type_=Integer)).with_for_update(skip_locked=True), "most"
)
_FORGET: Final = delete(score_change).where(_CHANGE.no.in_(bindparam("nos", expanding=True)))
_DUE: Final = Hot(
    select(_RECOUNT.period, _RECOUNT.day)
    .where(_RECOUNT.due_ms <= bindparam("now_ms"))
    .order_by(_RECOUNT.day.desc(), _RECOUNT.period)
    .limit(1)
    .with_for_update(skip_locked=True),
    "now_ms",
)
_OF_PERIOD: Final = and_(_RECOUNT.period == bindparam("of_period"), _RECOUNT.day == bindparam("of_day"))
_PUT_OFF: Final = update(score_recount).where(_OF_PERIOD).values(due_ms=bindparam("to_ms"))
_SET: Final = update(score_recount).where(_OF_PERIOD).values(due_ms=bindparam("to_ms"), again=bindparam("changed"))
_DONE: Final = delete(score_recount).where(_OF_PERIOD)
_HELD: Final = Hot(
    select(_RECOUNT.again)
    .where(
        _RECOUNT.period == bindparam("period"),
        _RECOUNT.day == bindparam("day", type_=Integer),
        _RECOUNT.due_ms == bindparam("due_ms"),
    )
    .with_for_update(),
    *("period", "day", "due_ms"),
)
_GROUP: Final = and_(
    _STANDING.kind == bindparam("of_kind"),
    _STANDING.period == bindparam("of_period"),
    _STANDING.day == bindparam("of_day", type_=Integer),
)
_OF_GROUP: Final = ("of_kind", "of_period", "of_day")
_TYPES: Final = Hot(select(_STANDING.service_type).distinct().where(_GROUP), *_OF_GROUP)
_STEPS: Final = Hot(
    select(*(_STANDING[name] for name in Step._fields))
    .where(_GROUP, _STANDING.service_type == bindparam("of_type"))
    .order_by(_STANDING.badness),
    *_OF_GROUP,
    "of_type",
)
_CLEAR: Final = delete(score_standing).where(_GROUP, _STANDING.service_type == bindparam("of_type"))


def _members(kind: Subject) -> Hot:
    rows: Any = score_sum
    if kind is Subject.VEHICLE:
        rows, of = rows.join(vehicle, vehicle.c.id == score_sum.c.subject), vehicle.c.service_type
    elif kind is Subject.DRIVER:
        people = rows.join(account, account.c.id == score_sum.c.subject)
        rows, of = people.join(company, company.c.id == account.c.company_id), company.c.service_type
    else:
        rows, of = rows.join(company, company.c.id == score_sum.c.subject), company.c.service_type
    statement = (
        select(score_sum.c.subject, func.max(of), _BADNESS)
        .select_from(rows)
        .where(
            score_sum.c.kind == bindparam("kind"),
            score_sum.c.period == bindparam("period"),
            score_sum.c.day == bindparam("day", type_=Integer),
            score_sum.c.subject > bindparam("after"),
        )
        .group_by(score_sum.c.subject)
        .having(_VAGUE <= _DISTANCE * (1 - trends.KNOWN_LEAST))
        .order_by(score_sum.c.subject)
        .limit(bindparam("most", type_=Integer))
    )
    return Hot(statement, "kind", "period", "day", "after", "most")


_MEMBERS: Final = {kind: _members(kind) for kind in Subject}
