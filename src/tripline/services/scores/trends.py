"""Trends of scores by day, week and month, and rankings, for those who may read what was driven.

Not here: what sums say (`domain/trends.py`), their rows (`store/scores/trends.py`, `sums.py`).
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from tripline.domain import access, trends
from tripline.domain.access import Action, Actor
from tripline.domain.ids import CompanyId
from tripline.domain.trends import Period, Subject, Sums
from tripline.services.scores import reads
from tripline.store.fleet import companies
from tripline.store.lists import UnknownOffset
from tripline.store.scores import trends as rows
from tripline.store.transactions import ReadTx


class Point(msgspec.Struct, frozen=True):
    """One period of a trend."""

    day: int
    """The first of the period."""
    sums: Sums
    policies: list[int]
    percentile: float | None
    """Among all of its kind and service type; None: they are too few."""


class Place(msgspec.Struct, frozen=True):
    """One place of a ranking."""

    rank: int
    """From 1; equal scores share one."""
    subject: str
    sums: Sums


def admit_to_company(tx: ReadTx, *, actor: Actor, of: str) -> None:
    """Let pass who may read what the company drove. Raises `NotFound`, `Forbidden`."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    access.admit(companies.inside(tx, scope, CompanyId(of)), access.Thing.COMPANY)


ADMIT: Final[dict[Subject, Callable[..., None]]] = {
    Subject.VEHICLE: reads.admit_to_vehicle,
    Subject.DRIVER: reads.admit_to_driver,
    Subject.COMPANY: admit_to_company,
}


def trend(
    tx: ReadTx, kind: Subject, of: str, period: Period, *, first: int, last: int, ascending: bool, limit: int
) -> list[Point]:
    """The periods of a subject from that which holds the first day to that which holds the last."""
    found = rows.of_subject(
        tx, of, period, first=trends.first_day(first, period), last=last, ascending=ascending, limit=limit
    )
    if not found:
        return []
    service_type = rows.service_type(tx, kind, of)
    points = []
    for day, sums, policies in found:
        stands = rows.standing(tx, kind, period, day, service_type=service_type, badness=sums.badness)
        told = trends.percentile(group=stands.group, worse=stands.worse, equal=stands.equal)
        points.append(Point(day, sums, policies, told))
    return points


def ranking(
    tx: ReadTx, kind: Subject, company_id: str, period: Period, *, day: int, after: str | None, limit: int
) -> Sequence[Place]:
    """The company's vehicles or drivers in the period that holds a day, the best first; of equal ones the smaller id.

    `after`: the last one of the page before. Raises `UnknownOffset`.
    """
    members = rows.of_members(tx, kind, period, trends.first_day(day, period), company_id)
    ordered = sorted(members, key=lambda each: (each[1].badness, each[0]))
    begin = 0
    if after is not None:
        begin = next((number for number, (subject, _) in enumerate(ordered, 1) if subject == after), 0)
        if not begin:
            raise UnknownOffset.of_list()
    ranks: dict[float, int] = {}
    for number, (_, sums) in enumerate(ordered, 1):
        ranks.setdefault(sums.badness, number)
    return [Place(ranks[sums.badness], subject, sums) for subject, sums in ordered[begin : begin + limit]]
