"""Trends of scores by day, week and month, and rankings, within the reader's reach.

Not here: figures of sums (`domain/trends.py`), their rows (`store/scores/trends.py`, `sums.py`), percentiles
(`standing_keeper.py`).
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from tripline.domain import access, trends
from tripline.domain.access import Action, Actor
from tripline.domain.ids import CompanyId
from tripline.domain.trends import Period, Subject, Sums
from tripline.services.scores import reads
from tripline.services.scores.standings import Key, Ranking, Standings
from tripline.store.fleet import companies
from tripline.store.lists import UnknownOffset
from tripline.store.scores import trends as rows
from tripline.store.scores.trends import Point
from tripline.store.transactions import ReadTx


class Place(msgspec.Struct, frozen=True):
    """One entry of a ranking."""

    rank: int
    """From 1; equal scores share a rank."""
    subject: str
    sums: Sums


def admit_to_company(tx: ReadTx, *, actor: Actor, of: str) -> None:
    """Admit an actor who may read the company's driving data. Raises `NotFound`, `Forbidden`."""
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
    """The periods of a subject from the one that contains the first day to the one that contains the last."""
    return rows.of_subject(
        *(tx, kind, of, period),
        first=trends.first_day(first, period),
        last=last,
        ascending=ascending,
        limit=limit,
    )


def ranking(
    tx: ReadTx,
    standings: Standings,
    kind: Subject,
    company_id: str,
    period: Period,
    *,
    day: int,
    after: str | None,
    limit: int,
    now_ms: int,
) -> Sequence[Place]:
    """The company's vehicles or drivers in the period that contains a day, best first; ties by smaller id.

    Members and scores on the page are current; a rank may be a minute old. `after`: the last subject of the previous
    page. Raises `UnknownOffset`.
    """
    first = trends.first_day(day, period)
    key: Key = kind.value, period.value, first, company_id
    known = standings.of(key, now_ms=now_ms)
    places = None if known is None else _page(tx, known, kind, company_id, period, first, after, limit)
    if places is None:
        known = Ranking(rows.of_members(tx, kind, period, first, company_id))
        standings.keep(key, known, now_ms=now_ms)
        places = _page(tx, known, kind, company_id, period, first, after, limit, read_now=True)
    if places is None:
        raise UnknownOffset.of_list()
    return places


def _page(
    tx: ReadTx,
    known: Ranking,
    kind: Subject,
    company_id: str,
    period: Period,
    first: int,
    after: str | None,
    limit: int,
    *,
    read_now: bool = False,
) -> list[Place] | None:
    """A page of current rows; None: the offset is not in the ranking, or its rows have changed."""
    try:
        begin = 0 if after is None else known.behind(after)
    except ValueError:
        return None
    chosen = known.places(begin, limit)
    sums = rows.of_some(tx, kind, period, first, company_id, [subject for subject, *_ in chosen]) if chosen else {}
    as_known = all(subject in sums and sums[subject].badness == badness for subject, badness, _ in chosen)
    if not as_known and not read_now:
        return None
    return [Place(rank, subject, sums[subject]) for subject, _, rank in chosen if subject in sums]
