"""Reads sums of scored trips: the periods of one subject with its percentiles, and several subjects in one period.

The caller checked that the subject is inside the scope.
"""

from typing import NamedTuple

from sqlalchemy import BigInteger, Float, ScalarSelect, Subquery, case, cast, func, select

from tripline.domain.trends import KNOWN_LEAST, Period, Subject, Sums
from tripline.store.tables import account, company, score_standing, score_sum, vehicle
from tripline.store.transactions import ReadTx


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
    day = score_sum.c.day
    own = score_sum.c.subject == subject, score_sum.c.period == period.value
    added = [cast(func.sum(score_sum.c[name]), BigInteger).label(name) for name in Sums._fields]
    some = select(day, *added).where(*own, day.between(first, last)).group_by(day)
    sums = some.order_by(day if ascending else day.desc()).limit(limit).subquery("sums")
    percentile = _percentile(kind, subject, period, sums)
    found = select(sums.c.day, percentile, *(sums.c[name] for name in Sums._fields))
    rows = tx.all(found.order_by(sums.c.day if ascending else sums.c.day.desc()))
    if not rows:
        return []
    policies: dict[int, list[int]] = {row[0]: [] for row in rows}
    of_days = select(day, score_sum.c.policy).where(*own, day.between(min(policies), max(policies)))
    for at, policy in tx.all(of_days.order_by(day, score_sum.c.policy)):
        policies[at].append(policy)
    return [Point(row[0], Sums(*row[2:]), row[1], policies[row[0]]) for row in rows]


def _percentile(kind: Subject, subject: str, period: Period, sums: Subquery) -> ScalarSelect[float | None]:
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
            step.period == period.value,
            step.day == sums.c.day,
            step.service_type == _service_type(kind, subject),
            step.badness <= badness,
            cast(sums.c.vague_m, Float) <= distance * (1 - KNOWN_LEAST),
        )
        .order_by(step.badness.desc())
        .limit(1)
        .scalar_subquery()
    )


def _service_type(kind: Subject, subject: str) -> ScalarSelect[str]:
    """The service type of a vehicle, of a person's company, or of a company."""
    if kind is Subject.VEHICLE:
        return select(vehicle.c.service_type).where(vehicle.c.id == subject).scalar_subquery()
    of_company = select(company.c.service_type)
    if kind is Subject.COMPANY:
        return of_company.where(company.c.id == subject).scalar_subquery()
    person = of_company.join(account, account.c.company_id == company.c.id)
    return person.where(account.c.id == subject).scalar_subquery()
