"""Reads sums of scored trips: the periods of one subject with its percentiles, and several subjects in one period.

The caller checked that the subject is inside the scope.
"""

from functools import cache
from typing import Final, NamedTuple

from sqlalchemy import BigInteger, Float, ScalarSelect, String, Subquery, bindparam, case, cast, func, select

from tripline.domain.trends import KNOWN_LEAST, Period, Subject, Sums
from tripline.store.tables import account, company, score_standing, score_sum, vehicle
from tripline.store.transactions import Hot, ReadTx


class Point(NamedTuple):
    """One period of a trend."""

    day: int
    """The first of the period."""
    sums: Sums
    percentile: float | None
    """Among all of its kind and service type; None: they are too few or not counted yet, or its harsh driving is
    unknown."""
    policies: list[int]
    """Policies of its trips' scores."""


def of_subject(
    tx: ReadTx, kind: Subject, subject: str, period: Period, *, first: int, last: int, ascending: bool, limit: int
) -> list[Point]:
    """The periods of a subject that begin on these days, with at least one scored trip."""
    rows = tx.hot(_points(kind, ascending), subject, period.value, first, last, limit)
    if not rows:
        return []
    policies: dict[int, list[int]] = {row[0]: [] for row in rows}
    for at, policy in tx.hot(_POLICIES, subject, period.value, min(policies), max(policies)):
        policies[at].append(policy)
    return [Point(row[0], Sums(*row[2:]), row[1], policies[row[0]]) for row in rows]


_DAY: Final = score_sum.c.day
_SUBJECT: Final = bindparam("subject", type_=String)
_PERIOD: Final = bindparam("period", type_=String)
_OWN: Final = (
    score_sum.c.subject == _SUBJECT,
    score_sum.c.period == _PERIOD,
    _DAY.between(bindparam("first"), bindparam("last")),
)
_NAMES: Final = ("subject", "period", "first", "last")
_POLICIES: Final = Hot(select(_DAY, score_sum.c.policy).where(*_OWN).order_by(_DAY, score_sum.c.policy), *_NAMES)


@cache
def _points(kind: Subject, ascending: bool) -> Hot:
    added = [cast(func.sum(score_sum.c[name]), BigInteger).label(name) for name in Sums._fields]
    some = select(_DAY, *added).where(*_OWN).group_by(_DAY)
    sums = some.order_by(_DAY if ascending else _DAY.desc()).limit(bindparam("limit")).subquery("sums")
    found = select(sums.c.day, _percentile(kind, sums), *(sums.c[name] for name in Sums._fields))
    return Hot(found.order_by(sums.c.day if ascending else sums.c.day.desc()), *_NAMES, "limit")


def _percentile(kind: Subject, sums: Subquery) -> ScalarSelect[float | None]:
    """The percentile of the subject in the period of each of these sums."""
    burden, distance, added, trips = (
        cast(sums.c[name], Float) for name in ("burden", "distance_m", "added_m", "trips")
    )
    badness = burden / (distance + added / trips)
    step = score_standing.c
    return (
        select(case((step.badness == badness, step.percentile), else_=step.above))
        .where(
            step.kind == kind.value,
            step.period == _PERIOD,
            step.day == sums.c.day,
            step.service_type == _service_type(kind),
            step.badness <= badness,
            cast(sums.c.vague_m, Float) <= distance * (1 - KNOWN_LEAST),
        )
        .order_by(step.badness.desc())
        .limit(1)
        .scalar_subquery()
    )


def _service_type(kind: Subject) -> ScalarSelect[str]:
    """The service type of a vehicle, of a person's company, or of a company."""
    if kind is Subject.VEHICLE:
        return select(vehicle.c.service_type).where(vehicle.c.id == _SUBJECT).scalar_subquery()
    of_company = select(company.c.service_type)
    if kind is Subject.COMPANY:
        return of_company.where(company.c.id == _SUBJECT).scalar_subquery()
    person = of_company.join(account, account.c.company_id == company.c.id)
    return person.where(account.c.id == _SUBJECT).scalar_subquery()
