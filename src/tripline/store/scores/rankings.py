"""Rows of rankings: the vehicles and drivers of each company by their badness in each day, week and month.

They change with the sums, in the same transaction, so a page is a walk along an index (decision 308). The caller
checked that the company is inside the scope. Not here: sums (`sums.py`), percentiles (`standings.py`).
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Float,
    Integer,
    and_,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    tuple_,
)

from tripline.domain.trends import Subject, Sums
from tripline.store.bulk import Bulk
from tripline.store.tables import account, score_rank, vehicle
from tripline.store.transactions import Hot, ReadTx, WriteTx


class Ranked(NamedTuple):
    """A vehicle or driver in a ranking."""

    subject: str
    badness: float


class Ranking(NamedTuple):
    """The vehicles or drivers of a company in one period."""

    kind: str
    period: str
    day: int
    """The first of the period."""
    company_id: str


class Key(NamedTuple):
    """The key of a row."""

    subject: str
    period: str
    day: int
    """The first of the period."""


class Ahead(NamedTuple):
    """Members ahead of a place."""

    every: int
    better: int


def change(tx: WriteTx, kind: Subject, changes: Mapping[Key, Sums], owners: Mapping[str, str]) -> None:
    """Add these sums to the rows of vehicles or drivers.

    `owners`: the company of each; a subject without one was deleted, and its rows are about to go.
    """
    # In one order, so that two processes never wait for each other.
    moved = sorted((key, each) for key, each in changes.items() if each.distance_m or each.burden)
    values: list[Any] = []
    for key, each in moved:
        badness = each.badness if each.distance_m > 0 else 0.0
        values += (*key, kind.value, owners.get(key.subject, ""), each.distance_m, each.burden, badness)
    _ROWS.insert(tx, values)
    if fewer := [key for key, each in moved if each.distance_m < 0]:
        tx.run(_EMPTY, [dict(zip(_KEY, key, strict=True)) for key in fewer])


def place_of(tx: ReadTx, ranking: Ranking, subject: str) -> Ranked | None:
    """The place of a subject; None: it is not in the ranking."""
    return next((Ranked(*row) for row in tx.hot(_PLACE, *ranking, subject)), None)


def page(tx: ReadTx, ranking: Ranking, behind: Ranked | None, limit: int) -> list[Ranked]:
    """The best ones behind a place; of equal ones the smaller id first."""
    after = behind or _FIRST
    return [Ranked(*row) for row in tx.hot(_page(ranking.kind), *ranking, after.badness, after.subject, limit)]


def ahead(tx: ReadTx, ranking: Ranking, place: Ranked) -> Ahead:
    """Count the members ahead of a place."""
    return Ahead(*tx.hot(_AHEAD, *ranking, place.badness, place.subject)[0])


_FIRST: Final = Ranked("", -1.0)
_R: Final = score_rank.c
_KEY: Final = ("of_subject", "of_period", "of_day")
_OF: Final = ("kind", "period", "day", "company")
_AT: Final = ("badness", "subject")
_OWN: Final = and_(
    _R.kind == bindparam("kind"),
    _R.period == bindparam("period"),
    _R.day == bindparam("day", type_=Integer),
    _R.company_id == bindparam("company"),
)
_BADNESS: Final[BindParameter[float]] = bindparam("badness", type_=Float)
_HERE: Final = tuple_(_R.badness, _R.subject)
_THERE: Final = tuple_(_BADNESS, bindparam("subject"))
_PLACE: Final = Hot(
    select(_R.subject, _R.badness).where(_OWN, _R.subject == bindparam("subject")),
    *(*_OF, "subject"),
)
_AHEAD: Final = Hot(
    select(func.count(), func.count().filter(_R.badness < _BADNESS)).where(_OWN, _HERE < _THERE), *_OF, *_AT
)
_DISTANCE, _BURDEN = (f"score_rank.{name} + excluded.{name}" for name in ("distance_m", "burden"))
_ROWS: Final = Bulk(
    score_rank,
    *(*Key._fields, "kind", "company_id", "distance_m", "burden", "badness"),
    # Divided as `Sums.badness` does.
    on_conflict=f"ON CONFLICT (subject, period, day) DO UPDATE SET distance_m = {_DISTANCE}, burden = {_BURDEN},"
    f" badness = CASE WHEN {_DISTANCE} = 0 THEN 0 ELSE CAST({_BURDEN} AS DOUBLE PRECISION) / ({_DISTANCE}) END",
)
_EMPTY: Final[Any] = delete(score_rank).where(
    and_(_R.subject == bindparam("of_subject"), _R.period == bindparam("of_period"), _R.day == bindparam("of_day")),
    _R.distance_m == 0,
)


@cache
def _page(kind: str) -> Hot:
    member = vehicle if kind == Subject.VEHICLE.value else account
    one: ColumnElement[Any] = literal_column("1")
    # Read by key, never joined: the walk along the index goes on until the page is full.
    exists = select(one).where(member.c.id == _R.subject).scalar_subquery().is_not(None)
    rows = select(_R.subject, _R.badness).where(_OWN, _HERE > _THERE, exists)
    return Hot(rows.order_by(_R.badness, _R.subject).limit(bindparam("limit", type_=Integer)), *_OF, *_AT, "limit")
