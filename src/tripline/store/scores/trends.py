"""Reads sums of scored trips: the periods of one subject with its percentiles, and several subjects in one period.

The caller checked that the subject is inside the scope. Not here: keeping the sums (`sums.py`), the rows of percentiles
(`standings.py`) and of rankings (`rankings.py`).
"""

from functools import cache
from typing import Final, NamedTuple

from sqlalchemy import BigInteger, BindParameter, Float, Integer, bindparam, case, cast, func, select

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
    rows = tx.hot(_of_subject(kind, ascending), kind.value, subject, period.value, first, last, limit)
    if not rows:
        return []
    policies: dict[int, list[int]] = {row[0]: [] for row in rows}
    for day, policy in tx.hot(_POLICIES, subject, period.value, min(policies), max(policies)):
        policies[day].append(policy)
    return [Point(day, Sums(*sums), percentile, policies[day]) for day, percentile, *sums in rows]


_ADDED: Final = [cast(func.sum(score_sum.c[name]), BigInteger).label(name) for name in Sums._fields]
_OF_PERSON: Final = account.join(company, company.c.id == account.c.company_id)
_OWN: Final[BindParameter[str]] = bindparam("subject")
_SERVICE_TYPE: Final = {
    Subject.VEHICLE: select(vehicle.c.service_type).where(vehicle.c.id == _OWN),
    Subject.DRIVER: select(company.c.service_type).select_from(_OF_PERSON).where(account.c.id == _OWN),
    Subject.COMPANY: select(company.c.service_type).where(company.c.id == _OWN),
}
"""The service type of a vehicle, of a person's company, or of a company."""
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
def _of_subject(kind: Subject, ascending: bool) -> Hot:
    sums = (
        select(score_sum.c.day, *_ADDED)
        .where(
            score_sum.c.subject == bindparam("subject"),
            score_sum.c.period == bindparam("period"),
            score_sum.c.day.between(bindparam("first", type_=Integer), bindparam("last", type_=Integer)),
        )
        .group_by(score_sum.c.day)
        .order_by(score_sum.c.day if ascending else score_sum.c.day.desc())
        .limit(bindparam("limit", type_=Integer))
        .subquery("sums")
    )
    burden, distance, added, trips = (
        cast(sums.c[name], Float) for name in ("burden", "distance_m", "added_m", "trips")
    )
    badness = burden / (distance + added / trips)
    step = score_standing.c
    percentile = (
        select(case((step.badness == badness, step.percentile), else_=step.above))
        .where(
            step.kind == bindparam("kind"),
            step.period == bindparam("period"),
            step.day == sums.c.day,
            step.service_type == _SERVICE_TYPE[kind].scalar_subquery(),
            step.badness <= badness,
            cast(sums.c.vague_m, Float) <= distance * (1 - KNOWN_LEAST),
        )
        .order_by(step.badness.desc())
        .limit(1)
        .scalar_subquery()
    )
    statement = select(sums.c.day, percentile, *(sums.c[name] for name in Sums._fields))
    return Hot(
        statement.order_by(sums.c.day if ascending else sums.c.day.desc()),
        *("kind", "subject", "period", "first", "last", "limit"),
    )
