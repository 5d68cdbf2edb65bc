"""Rows of rankings: the vehicles and drivers of each company by their badness in each day, week and month.

They change with the sums, in the same transaction, so a page is a walk along an index (decision 308). The caller
checked that the company is inside the scope.
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
    text,
    tuple_,
)

from tripline.domain.trends import NOTHING, RankedBy, Subject, Sums
from tripline.store.bulk import Bulk
from tripline.store.tables import account, score_rank, vehicle
from tripline.store.tables.trends import LACKS_LIMITS
from tripline.store.transactions import Hot, ReadTx, WriteTx


class Ranked(NamedTuple):
    """A vehicle or driver in a ranking."""

    subject: str
    key: float
    """The value that the ranking compares, smallest first."""


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
    moved = sorted((key, each) for key, each in changes.items() if each != NOTHING)
    values: list[Any] = []
    for key, each in moved:
        keys = (each.badness, each.harsh_rate) if each.trips > 0 and each.distance_m > 0 else (0.0, 0.0)
        values += (*key, kind.value, owners.get(key.subject, ""))
        values += (each.trips, each.distance_m, each.added_m, each.burden, each.harsh, each.known_m, *keys)
    _ROWS.insert(tx, values)
    if fewer := [key for key, each in moved if each.distance_m < 0]:
        tx.run(_EMPTY, [dict(zip(_KEY, key, strict=True)) for key in fewer])


def compares(tx: ReadTx, ranking: Ranking) -> RankedBy:
    """The order of a ranking: by harsh driving if a member lacks limits, else by score."""
    return RankedBy.HARSH if tx.hot(_LACKING, *ranking) else RankedBy.SCORE


def place_of(tx: ReadTx, ranking: Ranking, by: RankedBy, subject: str) -> Ranked | None:
    """The place of a subject; None: it is not in the ranking."""
    return next((Ranked(*row) for row in tx.hot(_place(by), *ranking, subject)), None)


def page(tx: ReadTx, ranking: Ranking, by: RankedBy, behind: Ranked | None, limit: int) -> list[Ranked]:
    """The best ones behind a place; of equal ones the smaller id first."""
    after = behind or _FIRST
    return [Ranked(*row) for row in tx.hot(_page(ranking.kind, by), *ranking, after.key, after.subject, limit)]


def ahead(tx: ReadTx, ranking: Ranking, by: RankedBy, place: Ranked) -> Ahead:
    """Count the members ahead of a place."""
    return Ahead(*tx.hot(_ahead(by), *ranking, place.key, place.subject)[0])


def _rate(summed: str, metres: str) -> str:
    """SQL: a sum for each metre."""
    return f"CASE WHEN {_NEW['trips']} = 0 THEN 0 ELSE CAST({_NEW[summed]} AS DOUBLE PRECISION) / ({metres}) END"


_FIRST: Final = Ranked("", -1.0)
_R: Final = score_rank.c
_KEY: Final = ("of_subject", "of_period", "of_day")
_OF: Final = ("kind", "period", "day", "company")
_AT: Final = ("key", "subject")
_KEYS: Final = {RankedBy.SCORE: _R.badness, RankedBy.HARSH: _R.harsh_rate}
_OWN: Final = and_(
    _R.kind == bindparam("kind"),
    _R.period == bindparam("period"),
    _R.day == bindparam("day", type_=Integer),
    _R.company_id == bindparam("company"),
)
_BEHIND: Final[BindParameter[float]] = bindparam("key", type_=Float)
_THERE: Final = tuple_(_BEHIND, bindparam("subject"))
# Ordered, or SQLite might choose another index of the same columns.
_LACKING: Final = Hot(select(_R.subject).where(_OWN, text(LACKS_LIMITS)).order_by(_R.subject).limit(1), *_OF)
_SUMMED: Final = ("trips", "distance_m", "added_m", "burden", "harsh", "known_m")
_NEW: Final = {name: f"(score_rank.{name} + excluded.{name})" for name in _SUMMED}
_DIVIDED: Final = {
    # As `Sums.badness` and `Sums.harsh_rate` do.
    "badness": _rate("burden", f"{_NEW['distance_m']} + CAST({_NEW['added_m']} AS DOUBLE PRECISION) / {_NEW['trips']}"),
    "harsh_rate": _rate("harsh", _NEW["distance_m"]),
}
_ROWS: Final = Bulk(
    score_rank,
    *(*Key._fields, "kind", "company_id", *_SUMMED, *_DIVIDED),
    on_conflict="ON CONFLICT (subject, period, day) DO UPDATE SET "
    + ", ".join(f"{name} = {value}" for name, value in (_NEW | _DIVIDED).items()),
)
_EMPTY: Final[Any] = delete(score_rank).where(
    and_(_R.subject == bindparam("of_subject"), _R.period == bindparam("of_period"), _R.day == bindparam("of_day")),
    _R.distance_m == 0,
)


@cache
def _place(by: RankedBy) -> Hot:
    return Hot(select(_R.subject, _KEYS[by]).where(_OWN, _R.subject == bindparam("subject")), *_OF, "subject")


@cache
def _ahead(by: RankedBy) -> Hot:
    key = _KEYS[by]
    counts = select(func.count(), func.count().filter(key < _BEHIND))
    return Hot(counts.where(_OWN, tuple_(key, _R.subject) < _THERE), *_OF, *_AT)


@cache
def _page(kind: str, by: RankedBy) -> Hot:
    key, member = _KEYS[by], vehicle if kind == Subject.VEHICLE.value else account
    one: ColumnElement[Any] = literal_column("1")
    # Read by key, never joined: the walk along the index goes on until the page is full.
    exists = select(one).where(member.c.id == _R.subject).scalar_subquery().is_not(None)
    rows = select(_R.subject, key).where(_OWN, tuple_(key, _R.subject) > _THERE, exists)
    return Hot(rows.order_by(key, _R.subject).limit(bindparam("limit", type_=Integer)), *_OF, *_AT, "limit")
