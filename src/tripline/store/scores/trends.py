"""Reads sums of scored trips: the periods of one subject, and all subjects of one period.

The caller has asked before whether the subject is inside the scope. Not here: keeping the sums (`sums.py`).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, Float, Integer, Select, bindparam, case, cast, func, select

from tripline.domain.trends import Period, Subject, Sums
from tripline.store.tables import account, company, score_sum, vehicle
from tripline.store.transactions import Hot, ReadTx


class Told(NamedTuple):
    """The sums of one period, and the policies by which its trips were scored."""

    day: int
    """The first of the period."""
    sums: Sums
    policies: list[int]


class Standing(NamedTuple):
    """Where sums stand among those of a group."""

    group: int
    worse: int
    equal: int
    """The one itself among them."""


def of_subject(
    tx: ReadTx, subject: str, period: Period, *, first: int, last: int, ascending: bool, limit: int
) -> list[Told]:
    """The periods of a subject that begin on these days, with at least one scored trip."""
    rows = tx.hot(_of_subject(ascending), subject, period.value, first, last, limit)
    if not rows:
        return []
    policies: dict[int, list[int]] = {row[0]: [] for row in rows}
    for day, policy in tx.hot(_POLICIES, subject, period.value, min(policies), max(policies)):
        policies[day].append(policy)
    return [Told(row[0], Sums(*row[1:]), policies[row[0]]) for row in rows]


def service_type(tx: ReadTx, kind: Subject, subject: str) -> str:
    """The service type of a vehicle, or of the company of a person, or of a company."""
    found: str = tx.hot(_SERVICE_TYPE[kind], subject)[0][0]
    return found


def standing(tx: ReadTx, kind: Subject, period: Period, day: int, *, service_type: str, badness: float) -> Standing:
    """Where sums with this badness stand among all of their kind and service type."""
    return Standing._make(tx.hot(_STANDING[kind], kind.value, period.value, day, service_type, badness)[0])


def of_members(tx: ReadTx, kind: Subject, period: Period, day: int, company_id: str) -> Sequence[tuple[str, Sums]]:
    """The sums of a company's vehicles or drivers in one period, in no order."""
    rows = tx.hot(_MEMBERS[kind], kind.value, period.value, day, company_id)
    return [(row[0], Sums(*row[1:])) for row in rows]


_ADDED: Final = [cast(func.sum(score_sum.c[name]), BigInteger).label(name) for name in Sums._fields]
_IN_PERIOD: Final = (
    score_sum.c.kind == bindparam("kind"),
    score_sum.c.period == bindparam("period"),
    score_sum.c.day == bindparam("day", type_=Integer),
)
_OF_PERSON: Final = account.join(company, company.c.id == account.c.company_id)
_SERVICE_TYPE: Final = {
    Subject.VEHICLE: Hot(select(vehicle.c.service_type).where(vehicle.c.id == bindparam("id")), "id"),
    Subject.DRIVER: Hot(
        select(company.c.service_type).select_from(_OF_PERSON).where(account.c.id == bindparam("id")), "id"
    ),
    Subject.COMPANY: Hot(select(company.c.service_type).where(company.c.id == bindparam("id")), "id"),
}
_POLICIES: Final = Hot(
    select(score_sum.c.day, score_sum.c.policy)
    .where(
        score_sum.c.subject == bindparam("subject"),
        score_sum.c.period == bindparam("period"),
        score_sum.c.day.between(bindparam("first", type_=Integer), bindparam("last", type_=Integer)),
    )
    .order_by(score_sum.c.day, score_sum.c.policy),
    *("subject", "period", "first", "last"),
)


@cache
def _of_subject(ascending: bool) -> Hot:
    statement = (
        select(score_sum.c.day, *_ADDED)
        .where(
            score_sum.c.subject == bindparam("subject"),
            score_sum.c.period == bindparam("period"),
            score_sum.c.day.between(bindparam("first", type_=Integer), bindparam("last", type_=Integer)),
        )
        .group_by(score_sum.c.day)
        .order_by(score_sum.c.day if ascending else score_sum.c.day.desc())
        .limit(bindparam("limit", type_=Integer))
    )
    return Hot(statement, "subject", "period", "first", "last", "limit")


def _everybody(kind: Subject) -> Select[Any]:
    """All subjects of a kind and service type in one period: the badness of each."""
    badness = cast(func.sum(score_sum.c.burden), Float) / cast(func.sum(score_sum.c.distance_m), Float)
    rows: Any = score_sum
    if kind is Subject.VEHICLE:
        rows, of = rows.join(vehicle, vehicle.c.id == score_sum.c.subject), vehicle.c.service_type
    elif kind is Subject.DRIVER:
        people = rows.join(account, account.c.id == score_sum.c.subject)
        rows, of = people.join(company, company.c.id == account.c.company_id), company.c.service_type
    else:
        rows, of = rows.join(company, company.c.id == score_sum.c.subject), company.c.service_type
    chosen = select(badness.label("badness")).select_from(rows).where(*_IN_PERIOD, of == bindparam("service_type"))
    return chosen.group_by(score_sum.c.subject)


def _standing(kind: Subject) -> Hot:
    everybody = _everybody(kind).subquery()
    own = bindparam("badness", type_=Float)
    worse = func.coalesce(func.sum(case((everybody.c.badness > own, 1), else_=0)), 0)
    equal = func.coalesce(func.sum(case((everybody.c.badness == own, 1), else_=0)), 0)
    return Hot(
        select(func.count(), worse, equal).select_from(everybody), "kind", "period", "day", "service_type", "badness"
    )


def _members(kind: Subject) -> Hot:
    member = vehicle if kind is Subject.VEHICLE else account
    statement = (
        select(score_sum.c.subject, *_ADDED)
        .select_from(score_sum.join(member, member.c.id == score_sum.c.subject))
        .where(*_IN_PERIOD, member.c.company_id == bindparam("company"))
        .group_by(score_sum.c.subject)
    )
    return Hot(statement, "kind", "period", "day", "company")


_STANDING: Final = {kind: _standing(kind) for kind in Subject}
_MEMBERS: Final = {kind: _members(kind) for kind in (Subject.VEHICLE, Subject.DRIVER)}
