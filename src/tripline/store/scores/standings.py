"""Rows of percentiles, and of the periods whose percentiles are to be counted.

Writers of sums note the days in the same transaction, each in new rows, so scorers never wait for each other here. A
worker turns the days into periods (`fold`), leases one, reads its members in pages, and replaces its rows.

Percentiles belong to no company, so no function takes a scope.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Float, Integer, and_, bindparam, cast, delete, exists, func, or_, select, update

from tripline.domain import trends
from tripline.domain.trends import Period, Step, Subject
from tripline.store.bulk import Bulk
from tripline.store.tables import account, company, score_change, score_recount, score_standing, score_sum, vehicle
from tripline.store.transactions import AnyRow, Hot, ReadTx, WriteTx


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
    of_subject = score_sum.c.subject == subject, score_sum.c.period == Period.DAY.value
    note(tx, [row.day for row in tx.all(select(score_sum.c.day).distinct().where(*of_subject))])


def any_waiting(tx: ReadTx, *, now_ms: int) -> bool:
    """Return true if days are noted or periods due."""
    waiting = or_(exists().select_from(score_change), exists().where(_RECOUNT.due_ms <= now_ms))
    return bool(tx.all(select(waiting))[0][0])


def fold(tx: WriteTx, *, due_ms: int, limit: int) -> int:
    """Turn some noted days into periods due then; how many were noted."""
    noted = tx.all(select(_CHANGE.no, _CHANGE.day).limit(limit).with_for_update(skip_locked=True))
    if noted:
        tx.run(delete(score_change).where(_CHANGE.no.in_([row.no for row in noted])))
        add(tx, {row.day for row in noted}, due_ms=due_ms)
    return len(noted)


def add(tx: WriteTx, days: Iterable[int], *, due_ms: int) -> None:
    """Have the periods of these days counted then, or when they are due already."""
    # In one order, so that two workers never wait for each other.
    periods = sorted({(period.value, trends.first_day(day, period)) for day in days for period in Period})
    _RECOUNTS.insert(tx, [value for period, day in periods for value in (period, day, due_ms, False)])


def take(tx: WriteTx, *, now_ms: int, until_ms: int) -> Taken | None:
    """Lease the latest period that is due; None: none is."""
    due = select(_RECOUNT.period, _RECOUNT.day).where(_RECOUNT.due_ms <= now_ms)
    latest = due.order_by(_RECOUNT.day.desc(), _RECOUNT.period).limit(1)
    row = tx.one(latest.with_for_update(skip_locked=True))
    if row is None:
        return None
    taken = Taken(Period(row.period), row.day, until_ms)
    tx.run(update(score_recount).where(_of(taken)).values(due_ms=until_ms, again=False))
    return taken


def renew(tx: WriteTx, taken: Taken, *, until_ms: int) -> Taken | None:
    """The period under a longer lease; None: another worker has it."""
    if _held(tx, taken) is None:
        return None
    tx.run(update(score_recount).where(_of(taken)).values(due_ms=until_ms))
    return taken._replace(lease_ms=until_ms)


def finish(tx: WriteTx, taken: Taken, *, due_ms: int) -> None:
    """End a lease; a period whose sums have changed meanwhile is due again then."""
    if held := _held(tx, taken):
        if held.again:
            tx.run(update(score_recount).where(_of(taken)).values(due_ms=due_ms, again=False))
        else:
            tx.run(delete(score_recount).where(_of(taken)))


def members(tx: ReadTx, kind: Subject, period: Period, day: int, *, after: str, limit: int) -> list[Member]:
    """Subjects of a kind with a score and known harsh driving in the period, by id, of all service types."""
    return [Member(*row) for row in tx.hot(_MEMBERS[kind], kind.value, period.value, day, after, limit)]


def types(tx: ReadTx, kind: Subject, period: Period, day: int) -> set[str]:
    """Service types that have percentiles in the period."""
    found = select(_STANDING.service_type).distinct().where(_group(kind, period, day))
    return {row.service_type for row in tx.all(found)}


def steps(tx: ReadTx, kind: Subject, period: Period, day: int, service_type: str) -> list[Step]:
    """The percentiles of a group."""
    of_group = _group(kind, period, day) & (_STANDING.service_type == service_type)
    found = select(*(_STANDING[name] for name in Step._fields)).where(of_group)
    return [Step(*row) for row in tx.all(found.order_by(_STANDING.badness))]


def replace(tx: WriteTx, taken: Taken, kind: Subject, groups: Mapping[str, Sequence[Step]]) -> bool:
    """Write the percentiles of some service types in place of earlier ones; False: another worker has the period."""
    if _held(tx, taken) is None:
        return False
    of_types = _STANDING.service_type.in_(groups)
    tx.run(delete(score_standing).where(_group(kind, taken.period, taken.day), of_types))
    key = kind.value, taken.period.value, taken.day
    rows = [value for name, found in groups.items() for step in found for value in (*key, name, *step)]
    _STANDINGS.insert(tx, rows)
    return True


def _held(tx: WriteTx, taken: Taken) -> AnyRow | None:
    """The row of a leased period, locked; None: another worker has it."""
    leased = select(_RECOUNT.again).where(_of(taken), _RECOUNT.due_ms == taken.lease_ms)
    return tx.one(leased.with_for_update())


def _of(taken: Taken) -> ColumnElement[bool]:
    return and_(_RECOUNT.period == taken.period.value, _RECOUNT.day == taken.day)


def _group(kind: Subject, period: Period, day: int) -> ColumnElement[bool]:
    return and_(_STANDING.kind == kind.value, _STANDING.period == period.value, _STANDING.day == day)


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
