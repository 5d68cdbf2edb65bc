"""Reads sums of scored trips: the periods of one subject, and all subjects of one period.

The caller has asked before whether the subject is inside the scope. Not here: keeping the sums (`sums.py`).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, Float, Integer, Select, bindparam, cast, func, select

from tripline.domain.trends import Period, Subject, Sums
from tripline.store.tables import account, company, score_sum, vehicle
from tripline.store.transactions import Hot, ReadTx


class Told(NamedTuple):
    """The sums of one period, and the policies by which its trips were scored."""

    day: int
    """The first of the period."""
    sums: Sums
    policies: list[int]


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


def of_group(tx: ReadTx, kind: Subject, period: Period, day: int, service_type: str) -> list[float]:
    """The badness of each of a kind and service type in one period (`Sums.badness`), in no order."""
    return [row[0] for row in tx.hot(_EVERYBODY[kind], kind.value, period.value, day, service_type)]


def of_members(tx: ReadTx, kind: Subject, period: Period, day: int, company_id: str) -> dict[str, float]:
    """The badness of a company's vehicles or drivers in one period."""
    found = tx.hot(_MEMBERS[kind], period.value, day, company_id)
    return {subject: sums.badness for subject, sums in _together([row[:-1] for row in found]).items()}


def of_some(
    tx: ReadTx, kind: Subject, period: Period, day: int, company_id: str, subjects: list[str]
) -> dict[str, Sums]:
    """The sums of some in one period: of those who are the company's vehicles or drivers now."""
    size = 1 << (len(subjects) - 1).bit_length()
    filled = subjects + [""] * (size - len(subjects))
    found = tx.hot(_some(kind, size), period.value, day, *filled)
    return _together([values for *values, owner in found if owner == company_id])


def _together(found: Sequence[Any]) -> dict[str, Sums]:
    """The sums of each subject, whichever policies they are by."""
    sums: dict[str, Sums] = {}
    for subject, *values in found:
        before = sums.get(subject)
        sums[subject] = Sums(*values) if before is None else before.plus(Sums(*values))
    return sums


_ADDED: Final = [cast(func.sum(score_sum.c[name]), BigInteger).label(name) for name in Sums._fields]
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


def _everybody(kind: Subject) -> Hot:
    badness = cast(func.sum(score_sum.c.burden), Float) / cast(func.sum(score_sum.c.distance_m), Float)
    rows: Any = score_sum
    if kind is Subject.VEHICLE:
        rows, of = rows.join(vehicle, vehicle.c.id == score_sum.c.subject), vehicle.c.service_type
    elif kind is Subject.DRIVER:
        people = rows.join(account, account.c.id == score_sum.c.subject)
        rows, of = people.join(company, company.c.id == account.c.company_id), company.c.service_type
    else:
        rows, of = rows.join(company, company.c.id == score_sum.c.subject), company.c.service_type
    statement = (
        select(badness)
        .select_from(rows)
        .where(
            score_sum.c.kind == bindparam("kind"),
            score_sum.c.period == bindparam("period"),
            score_sum.c.day == bindparam("day", type_=Integer),
            of == bindparam("service_type"),
        )
        .group_by(score_sum.c.subject)
    )
    return Hot(statement, "kind", "period", "day", "service_type")


def _in_period(kind: Subject) -> Select[Any]:
    """Rows of vehicles or drivers in one period, one for each policy; whose they are comes last.

    No word of the kind, which the join says: with it SQLite would go through everybody's rows of the period.
    """
    member = vehicle if kind is Subject.VEHICLE else account
    return (
        select(score_sum.c.subject, *(score_sum.c[name] for name in Sums._fields), member.c.company_id)
        .select_from(score_sum.join(member, member.c.id == score_sum.c.subject))
        .where(score_sum.c.period == bindparam("period"), score_sum.c.day == bindparam("day", type_=Integer))
    )


def _members(kind: Subject) -> Hot:
    member = vehicle if kind is Subject.VEHICLE else account
    return Hot(_in_period(kind).where(member.c.company_id == bindparam("company")), "period", "day", "company")


@cache
def _some(kind: Subject, size: int) -> Hot:
    """Of so many subjects, a power of two. The company is no condition: SQLite would go through all its members."""
    names = [f"subject_{number}" for number in range(size)]
    return Hot(
        _in_period(kind).where(score_sum.c.subject.in_([bindparam(name) for name in names])), "period", "day", *names
    )


_EVERYBODY: Final = {kind: _everybody(kind) for kind in Subject}
_MEMBERS: Final = {kind: _members(kind) for kind in (Subject.VEHICLE, Subject.DRIVER)}
